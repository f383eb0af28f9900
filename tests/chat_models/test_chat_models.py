"""Chat models answer, stream and tell as langchain_core's do; scripts play as written."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import langchain_core.callbacks
import langchain_core.language_models
import langchain_core.language_models.fake_chat_models as their_fakes
import langchain_core.messages as their_messages
import langchain_core.outputs as their_outputs
import pytest
from pydantic import Field, PrivateAttr, ValidationError

import plait.chat_models.fake as our_fakes
import plait.messages as our_messages
from plait.caches import InMemoryCache
from plait.callbacks import BaseCallbackHandler
from plait.chat_models import BaseChatModel, ChatGeneration, ChatGenerationChunk, ChatResult
from plait.chat_models import results as our_outputs
from plait.chat_models.fake import ScriptedChatModel, ScriptExhaustedError
from plait.messages import AIMessage, AIMessageChunk, HumanMessage

OURS = SimpleNamespace(fakes=our_fakes, messages=our_messages, outputs=our_outputs,
                       Base=BaseChatModel, Handler=BaseCallbackHandler)  # fmt: skip
THEIRS = SimpleNamespace(fakes=their_fakes, messages=their_messages, outputs=their_outputs,
                         Base=langchain_core.language_models.BaseChatModel,
                         Handler=langchain_core.callbacks.BaseCallbackHandler)  # fmt: skip


def plain(message, ids):
    """A message as a comparable value; generated ids by the order of their appearance."""
    shown = message.id
    if shown and shown.startswith("lc_run-"):
        run, tail = shown[: len("lc_run--") + 36], shown[len("lc_run--") + 36 :]
        shown = f"run {ids.setdefault(run, len(ids))}{tail}"
    return (type(message).__name__, message.content, shown, message.additional_kwargs,
            message.response_metadata, getattr(message, "chunk_position", None))  # fmt: skip


def listener(lib, events, ids):
    class Listener(lib.Handler):
        raise_error = True
        run_inline = True

        def on_chat_model_start(self, serialized, messages, **kwargs):
            asked = [[m.content for m in batch] for batch in messages]
            kept = ("tags", "invocation_params", "options", "name", "batch_size")
            metadata = {k: v for k, v in kwargs["metadata"].items()
                        if k not in ("ls_integration", "lc_versions")}  # fmt: skip
            events.append(("start", serialized["name"], asked, {k: kwargs[k] for k in kept}))
            events.append(("metadata", metadata))

        def on_llm_new_token(self, token, *, chunk=None, **kwargs):
            events.append(("token", token, plain(chunk.message, ids)))

        def on_llm_end(self, response, **kwargs):
            message = response.generations[0][0].message
            events.append(("end", type(message).__name__, message.content))

        def on_llm_error(self, error, *, response, **kwargs):
            events.append(("error", type(error).__name__, sum(map(len, response.generations))))

    return Listener()


def on_both(program):
    seen = []
    for lib in (OURS, THEIRS):
        events, ids = [], {}
        config = {"callbacks": [listener(lib, events, ids)], "tags": ["t"], "metadata": {"m": 1},
                  "run_name": "RN"}  # fmt: skip

        def run(call, ids=ids):
            try:
                result = call()
            except Exception as error:
                return type(error).__name__
            results = result if isinstance(result, list) else [result]
            return [plain(message, ids) for message in results]

        seen.append((program(lib, config, run), events))
    assert seen[0] == seen[1]
    return seen[0]


ANSWERS = [
    lambda m: "hello  world\nfoo bar",
    lambda m: " a ",
    lambda m: "",
    lambda m: m.AIMessage("hello world", id="7"),
    lambda m: m.AIMessage("hello", id="7", additional_kwargs={"a": 1}),
    lambda m: m.AIMessage(
        "hi yo", additional_kwargs={"function_call": {"name": "f", "arguments": '{"a", 1,2}'}}
    ),
    lambda m: m.AIMessage("x", response_metadata={"r": 1}),
    lambda m: m.AIMessage("hi yo", tool_calls=[{"name": "a", "args": {"x": 1}, "id": "1"}]),
    lambda m: m.AIMessage([{"type": "text", "text": "a b"}]),
]


@pytest.mark.parametrize("index", range(len(ANSWERS)))
def test_the_generic_fake_answers_and_streams_as_the_peers_does(index):
    async def collect(stream):
        return [chunk async for chunk in stream]

    def program(lib, config, run):
        def model():
            return lib.fakes.GenericFakeChatModel(messages=iter([ANSWERS[index](lib.messages)]))

        return [
            run(lambda: model().invoke("hi", config)),
            run(lambda: list(model().stream("hi", config))),
            run(lambda: list(model().stream([("system", "s"), ("human", "h")]))),
            run(lambda: asyncio.run(model().ainvoke("hi", config))),
            run(lambda: asyncio.run(collect(model().astream("hi", config)))),
            run(lambda: asyncio.run(collect(model().astream("hi")))),
        ]

    on_both(program)


def test_the_list_fake_answers_and_streams_as_the_peers_does():
    def program(lib, config, run):
        model = lib.fakes.FakeListChatModel(responses=["abc", "de"])
        failing = lib.fakes.FakeListChatModel(responses=["abc", "de"], error_on_chunk_number=1)
        return [
            run(lambda: [model.invoke("x") for _ in range(3)]),
            run(lambda: list(model.stream("x", config))),
            run(lambda: model.batch(["x", "y", "z"])),
            run(lambda: list(failing.stream("x", config))),
            run(lambda: failing.invoke("x", config)),
            run(lambda: asyncio.run(model.ainvoke("x", config))),
            run(lambda: lib.fakes.FakeListChatModel(responses=[]).invoke("x")),
        ]

    on_both(program)


def test_an_exhausted_generic_fake_and_a_wrong_input_fail_as_in_the_peer():
    def program(lib, config, run):
        def model(*answers):
            return lib.fakes.GenericFakeChatModel(messages=iter(answers))

        return [
            run(lambda: model().invoke("x", config)),
            run(lambda: asyncio.run(model().ainvoke("x"))),
            run(lambda: model("a").invoke(3)),
            run(lambda: model("a").invoke(lib.messages.HumanMessage("x"))),
            run(lambda: model().bind_tools([])),
        ]

    on_both(program)


def test_a_model_written_for_the_peer_works_and_tells_the_same():
    def program(lib, config, run):
        outputs, messages = lib.outputs, lib.messages

        class ChatParrot(lib.Base):
            model_name: str = Field(alias="model")
            temperature: float = 0.5
            stops: list[str] = Field(default_factory=list)
            _seen: int = PrivateAttr(default=0)

            @property
            def _llm_type(self) -> str:
                return "parrot"

            @property
            def _identifying_params(self) -> dict[str, Any]:
                return {"model_name": self.model_name}

            def _generate(self, messages_, stop=None, run_manager=None, **kwargs):
                self._seen += 1
                message = messages.AIMessage(
                    f"{messages_[-1].content} {stop} {kwargs} {self._seen}",
                    response_metadata={"z": 1},
                )
                generation = outputs.ChatGeneration(message=message, generation_info={"g": 1})
                return outputs.ChatResult(generations=[generation], llm_output={"model": "m"})

        class Streaming(ChatParrot):
            def _stream(self, messages_, stop=None, run_manager=None, **kwargs):
                for character in messages_[-1].content:
                    yield outputs.ChatGenerationChunk(
                        message=messages.AIMessageChunk(content=character),
                        generation_info={"c": character},
                    )

        model, streaming = ChatParrot(model="p"), Streaming(model="s", temperature=1)
        return [
            run(lambda: model.invoke("x", config, stop=["q"], foo=1)),
            run(lambda: list(model.stream("x", config))),
            run(lambda: model.bind(stop=["q"]).invoke("x", config)),
            run(lambda: list(streaming.stream("xy", config))),
            run(lambda: streaming.with_config(tags=["w"]).invoke("x", config)),
            run(lambda: asyncio.run(streaming.ainvoke("x", config))),
            run(lambda: (model | (lambda m: m)).invoke("x")),
        ]

    on_both(program)


def test_result_types_add_and_compare_as_the_peers_do():
    def program(lib):
        def chunk(text, **info):
            message = lib.messages.AIMessageChunk(content=text)
            return lib.outputs.ChatGenerationChunk(message=message, generation_info=info)

        total = chunk("a", x=1, s="p") + chunk("b", y=1, s="q")
        many = chunk("a") + [chunk("b"), chunk("c")]  # noqa: RUF005
        texts = [
            lib.outputs.ChatGeneration(message=lib.messages.AIMessage(content)).text
            for content in ("abc", ["a", {"type": "text", "text": "b"}], [{"type": "image"}])
        ]
        same = chunk("a", x=1) == chunk("a", x=1), chunk("a") == chunk("b")
        return total.text, total.generation_info, total.message.content, many.text, texts, same

    assert program(OURS) == program(THEIRS)
    with pytest.raises(TypeError):
        ChatGenerationChunk(AIMessageChunk(content="a")) + 3


# --- the script ---


def test_a_script_plays_strings_messages_chunks_errors_and_callables_in_order():
    call = {"name": "f", "args": {"x": 1}, "id": "1", "type": "tool_call"}
    model = ScriptedChatModel([
        "one",
        AIMessage("two", tool_calls=[call]),
        [AIMessageChunk(content="th"), "ree"],
        ValueError("four"),
        lambda messages: messages[-1].content + "?",
    ])  # fmt: skip
    assert model.invoke("x").content == "one"
    assert model.invoke("x").tool_calls == [call]
    third = model.invoke("x")
    assert type(third) is AIMessage
    assert third.content == "three"
    with pytest.raises(ValueError, match="four"):
        model.invoke("x")
    assert model.invoke("five").content == "five?"
    with pytest.raises(ScriptExhaustedError, match=r"Call 6 .* 5 replies"):
        model.invoke("x")
    assert len(model.calls) == 6


async def test_streamed_and_invoked_replies_say_the_same_sync_and_async():
    replies = [
        "two  words ",
        "",
        AIMessage(
            "a b",
            id="7",
            tool_calls=[{"name": "f", "args": {"x": [1]}, "id": "1"}],
            usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
            response_metadata={"r": 1},
        ),
        AIMessage("", tool_calls=[{"name": n, "args": {}, "id": n} for n in "fg"]),
        ["x", AIMessageChunk(content="y")],
    ]

    def said(message):
        return (message.content, message.tool_calls, message.usage_metadata,
                message.response_metadata)  # fmt: skip

    for reply in replies:
        whole = said(ScriptedChatModel([reply]).invoke("x"))
        assert said(await ScriptedChatModel([reply]).ainvoke("x")) == whole
        chunks = list(ScriptedChatModel([reply]).stream("x"))
        achunks = [chunk async for chunk in ScriptedChatModel([reply]).astream("x")]
        for stream in (chunks, achunks):
            total = stream[0]
            for chunk in stream[1:]:
                total = total + chunk
            assert said(total) == whole
            assert len({chunk.id for chunk in stream}) == 1
            assert [c.chunk_position for c in stream][-1] == "last"


def test_chunks_of_a_script_are_streamed_as_given_and_fail_in_the_middle():
    stream = ScriptedChatModel([["a", "b", KeyError("mid")]]).stream("x")
    assert [next(stream).content, next(stream).content] == ["a", "b"]
    with pytest.raises(KeyError):
        next(stream)
    with pytest.raises(KeyError):
        ScriptedChatModel([["a", KeyError("mid")]]).invoke("x")


def test_a_reply_of_the_script_is_never_changed_by_playing_it():
    reply = AIMessage("a")
    model = ScriptedChatModel([reply, reply])
    first, second = model.invoke("x"), model.invoke("x")
    assert reply.id is None
    assert first.id != second.id


def test_bound_tools_are_recorded_and_share_the_script():
    model = ScriptedChatModel(["a", "b", "c"])
    bound = model.bind_tools(["tool"])
    forced = model.bind_tools(["tool"], tool_choice="any")
    assert [m.invoke("x").content for m in (bound, model, forced)] == ["a", "b", "c"]
    assert [call.tools for call in model.calls] == [["tool"], [], ["tool"]]
    assert model.calls[2].kwargs == {"tool_choice": "any"}


async def test_a_script_may_answer_with_coroutines_in_async_runs_only():
    async def answer(messages):
        return "later"

    model = ScriptedChatModel(answer)
    assert (await model.ainvoke("x")).content == "later"
    with pytest.raises(TypeError, match="async reply"):
        model.invoke("x")


def test_threads_that_share_a_script_get_each_reply_once():
    count = 400
    model = ScriptedChatModel(str(i) for i in range(count))
    got, go = [], threading.Barrier(8)

    def ask():
        go.wait()
        got.extend(model.invoke("x").content for _ in range(count // 8))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got, key=int) == [str(i) for i in range(count)]
    assert len(model.calls) == count


class Tokens(BaseCallbackHandler):
    wants_tokens = True
    raise_error = True

    def __init__(self):
        self.tokens, self.ids = [], set()

    def on_chat_model_start(self, serialized, messages, **kwargs):
        pass

    def on_llm_new_token(self, token, *, chunk, **kwargs):
        self.tokens.append(token)
        self.ids.add(chunk.message.id)


async def test_an_invoked_model_streams_inside_for_a_handler_that_wants_tokens():
    for ask in (ScriptedChatModel.invoke, ScriptedChatModel.ainvoke):
        handler = Tokens()
        answer = ask(ScriptedChatModel(["a b"]), "x", {"callbacks": [handler]})
        answer = await answer if asyncio.iscoroutine(answer) else answer
        assert type(answer) is AIMessage
        assert answer.content == "a b"
        assert handler.tokens == ["a ", "b"]
        assert handler.ids == {answer.id}


def test_a_model_that_must_not_stream_does_not():
    handler = Tokens()
    ScriptedChatModel(["a b"], disable_streaming=True).invoke("x", {"callbacks": [handler]})
    assert handler.tokens == []


# --- construction ---


def test_annotated_fields_are_keyword_arguments_with_errors_that_name_them():
    class Model(BaseChatModel):
        model: str
        stops: list[str] = []  # noqa: RUF012

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            return ChatResult([ChatGeneration(AIMessage(self.model))])

    one, two = Model(model="m"), Model(model="m")
    one.stops.append("x")
    assert two.stops == []
    assert repr(two) == "Model(model='m')"
    with pytest.raises(ValidationError, match=r"model\n  Field required"):
        Model()
    with pytest.raises(TypeError, match=r"no field 'modle'\. Did you mean 'model'"):
        Model(model="m", modle="x")
    assert one.invoke([HumanMessage("x")]).content == "m"


def test_a_model_without_hooks_says_what_to_define():
    with pytest.raises(TypeError, match=r"abstract method '?_generate"):
        BaseChatModel()
    with pytest.raises(NotImplementedError, match="does not take tools"):
        our_fakes.FakeListChatModel(responses=["x"]).bind_tools([])


class Counting(BaseChatModel):
    """Says how often it was asked."""

    asked: int = 0

    @property
    def _llm_type(self) -> str:
        return "counting"

    def _next(self) -> str:
        self.asked += 1
        return f"answer {self.asked}"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
        return ChatResult([ChatGeneration(AIMessage([{"type": "text", "text": self._next()}]))])


class Streaming(Counting):
    async def _astream(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any):
        yield ChatGenerationChunk(AIMessageChunk(self._next()))


class Waits:
    """A rate limiter that counts who has asked it."""

    def __init__(self) -> None:
        self.asked = 0

    async def aacquire(self, *, blocking: bool = True) -> bool:
        self.asked += 1
        return True


async def test_async_requests_ask_the_rate_limiter_once_each():
    limiter = Waits()
    await Counting(rate_limiter=limiter).ainvoke("hi")
    assert limiter.asked == 1
    said = [one.text async for one in Streaming(rate_limiter=limiter).astream("hi")]
    assert "".join(said) == "answer 1"
    assert limiter.asked == 2


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_answers_of_a_cache_are_those_of_the_same_request_and_nobodys_to_change(flavor):
    model = Counting(cache=InMemoryCache())

    def ask(**given: Any) -> AIMessage:
        if flavor == "async":
            return asyncio.run(model.ainvoke("hi", **given))
        return model.invoke("hi", **given)

    for _ in range(2):
        said = ask()
        assert said.text == "answer 1"
        said.content = "changed"
    assert ask().text == "answer 1"
    assert ask(stop=["."]).text == "answer 2"
    assert ask(temperature=1).text == "answer 3"
    assert model.asked == 3


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_an_answer_has_the_id_of_the_run_that_its_caller_names(flavor):
    run_id = UUID(int=7)
    config: Any = {"run_id": run_id}
    said = asyncio.run(Counting().ainvoke("hi", config))
    if flavor == "sync":
        said = Counting().invoke("hi", config)
    assert str(run_id) in (said.id or "")


async def test_all_conversations_of_agenerate_end_before_the_error_of_one_is_raised_and_told():
    ended: list[str] = []
    told: list[str] = []

    class Slow(Counting):
        async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            if messages[0].content == "fail":
                raise ConnectionError("down")
            while not told:
                await asyncio.sleep(0)
            for _ in range(50):  # longer than it takes to raise
                await asyncio.sleep(0)
            ended.append(messages[0].content)
            return self._generate(messages)

    class Hears(BaseCallbackHandler):
        def on_llm_error(self, error: Any, **kwargs: Any) -> None:
            told.append(str(error))

    conversations = [[HumanMessage("fail")], [HumanMessage("go")]]
    with pytest.raises(ConnectionError, match="down"):
        await Slow().agenerate(conversations, callbacks=[Hears()])
    assert (ended, told) == (["go"], ["down"])
