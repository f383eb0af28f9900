"""Answers of chat models by projections: `stream_events(version="v3")`, sync and async."""

import asyncio
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_model_stream import AsyncChatModelStream, ChatModelStream
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableLambda


class Model(BaseChatModel):
    """Says its pieces; fails at one that is an error."""

    pieces: list[Any]

    @property
    def _llm_type(self):
        return "pieces"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=AIMessage("at once"))])

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        for piece in [*self.pieces, *({"content": word} for word in stop or ())]:
            if isinstance(piece, Exception):
                raise piece
            yield ChatGenerationChunk(message=AIMessageChunk(**piece))


def call_piece(name, args, id, index):
    chunk = {"name": name, "args": args, "id": id, "index": index}
    return {"content": "", "tool_call_chunks": [chunk]}


PIECES = {
    "words": [{"content": "Hel"}, {"content": "lo"}],
    "last words": [{"content": "Hel"}, {"content": "lo", "chunk_position": "last"}],
    "calls": [
        {"content": "I call"},
        call_piece("f", '{"a"', "c1", 0),
        call_piece(None, ": 1}", None, 0),
        call_piece("g", "{}", "c2", 1),
        {
            "content": "",
            "usage_metadata": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
            "response_metadata": {"finish_reason": "stop"},
        },
    ],
    "thoughts": [
        {"content": [{"type": "reasoning", "reasoning": "think", "index": 0}]},
        {"content": [{"type": "text", "text": "answer", "index": 1}]},
    ],
    "a call that is cut": [call_piece("f", '{"a"', "c1", 0)],
}


def start(model, **kwargs):
    return model.stream_events("hi", version="v3", **kwargs)


def case_answers(env):
    found = {}
    for name, pieces in PIECES.items():
        stream = start(Model(pieces=pieces))
        found[name] = [
            (list(stream.text), list(stream.reasoning), list(stream.tool_calls)),
            (stream.tool_calls.get(), stream.output, stream.done, list(stream)),
        ]
    return found


async def case_answers_async(env):
    found = {}
    for name, pieces in PIECES.items():
        stream = await Model(pieces=pieces).astream_events("hi", version="v3")
        found[name] = [
            [piece async for piece in stream.text],
            [piece async for piece in stream.reasoning],
            (await stream.text, await stream.tool_calls, await stream.output, await stream),
            [event async for event in stream],
        ]
    return found


def case_output_first(env):
    stream = start(Model(pieces=PIECES["words"]))
    return stream.output, str(stream.text), list(stream.text)


def case_nothing_is_asked_before_it_is_read(env):
    asked = []

    class Notes(Model):
        def _stream(self, messages, stop=None, run_manager=None, **kwargs):
            asked.append(1)
            yield from super()._stream(messages, stop, run_manager, **kwargs)

    stream = start(Notes(pieces=PIECES["words"]))
    before = list(asked)
    first = next(iter(stream.text))
    return before, first, stream.done, stream.output_message, stream.output, asked


def case_models_that_fail(env):
    stream = start(Model(pieces=[{"content": "par"}, ValueError("gone")]))
    pieces = iter(stream.text)
    return (
        next(pieces),
        env.error(lambda: next(pieces)),
        env.error(lambda: stream.output),
        env.error(lambda: stream.tool_calls.get()),
        stream.done,
    )


async def case_models_that_fail_async(env):
    stream = await Model(pieces=[ValueError("gone")]).astream_events("hi", version="v3")

    async def whole():
        return await stream.output

    return await env.aerror(whole())


def case_bound_models(env):
    model = Model(pieces=PIECES["words"])
    bound = model.bind(stop=["!"]).with_config(tags=["t"])
    return list(start(bound).text), list(start(model, stop=["?"]).text)


async def case_bound_models_async(env):
    bound = Model(pieces=PIECES["words"]).bind(stop=["!"])
    return await (await bound.astream_events("hi", version="v3")).text


async def case_a_stream_that_is_left(env):
    async with await Model(pieces=PIECES["words"]).astream_events("hi", version="v3") as stream:
        async for piece in stream.text:
            return piece


def case_what_handlers_hear(env):
    heard = []

    class Log(BaseCallbackHandler):
        def on_chat_model_start(self, serialized, messages, **kwargs):
            heard.append(("start", messages))

        def on_llm_end(self, response, **kwargs):
            heard.append(("end", response.generations[0][0].message.text))

        def on_llm_error(self, error, **kwargs):
            heard.append(("error", repr(error)))

    config = {"callbacks": [Log()]}
    _ = start(Model(pieces=PIECES["words"]), config=config).output
    failing = start(Model(pieces=[ValueError("gone")]), config=config)
    return env.error(lambda: failing.output), heard


async def case_other_runnables(env):
    chain = RunnableLambda(lambda x: x) | Model(pieces=[])

    async def asked():
        return await chain.astream_events("hi", version="v3")

    return env.error(lambda: start(chain)), await env.aerror(asked())


async def case_other_versions(env):
    model = Model(pieces=PIECES["words"])
    return (
        env.error(lambda: model.stream_events("hi")),
        [event["event"] async for event in model.astream_events("hi")][:2],
    )


async def case_classes_of_streams(env: Any) -> Any:
    model = Model(pieces=PIECES["words"])
    stream = model.stream_events("hi", version="v3")
    astream = await model.astream_events("hi", version="v3")
    return (
        isinstance(stream, ChatModelStream),
        isinstance(astream, AsyncChatModelStream),
        (stream.output.content, (await astream.output).content),
    )


class Hears(BaseCallbackHandler):
    """Notes what it is told of a model's run, and how it is called."""

    def __init__(self):
        self.told, self.runs = [], set()

    def note(self, what, run_id, parent_run_id, tags):
        self.told.append(what)
        self.runs.add((run_id, parent_run_id, tuple(tags or ())))

    def on_chat_model_start(self, serialized, messages, *, run_id, tags=None, **kwargs):
        self.note("starts", run_id, kwargs.get("parent_run_id"), tags)

    def on_stream_event(self, event, *, run_id, parent_run_id=None, tags=None, **kwargs):
        self.note(event, run_id, parent_run_id, tags)

    def on_llm_end(self, response, *, run_id, parent_run_id=None, tags=None, **kwargs):
        self.note("ends", run_id, parent_run_id, tags)


def case_handlers_hear_the_events(env):
    found = []
    for pieces in PIECES.values():
        hears = Hears()
        stream = Model(pieces=pieces, tags=["t"]).stream_events(
            "hi", {"callbacks": [hears]}, version="v3"
        )
        events = [*stream]
        heard = [event for event in hears.told if isinstance(event, dict)]
        found.append((heard == events, hears.told, len(hears.runs)))
    quiet = Hears()
    _ = [*Model(pieces=PIECES["words"]).stream("hi", {"callbacks": [quiet]})]
    return found, quiet.told


async def case_handlers_hear_the_events_async(env):
    hears = Hears()

    async def ask(given, config):
        stream = await Model(pieces=PIECES["words"]).astream_events("hi", config, version="v3")
        return await stream.text

    async def ended():
        while "ends" not in hears.told:  # the text may be there before the run is told to end
            await asyncio.sleep(0)

    text = await RunnableLambda(ask).ainvoke("x", {"callbacks": [hears], "tags": ["outer"]})
    await asyncio.wait_for(ended(), 60)
    return text, hears.told, len(hears.runs)
