"""Streams of version "v3" of agents whose middleware hides data, or asks models for itself."""

import asyncio

from langchain.agents import create_agent
from langchain.agents.middleware import (
    LLMToolEmulator,
    LLMToolSelectorMiddleware,
    PIIDetectionError,
    PIIMiddleware,
    SummarizationMiddleware,
)
from langchain.agents.middleware.internal_call_transformer import (
    INTERNAL_CALL_METADATA_KEY,
    InternalCallTransformer,
    internal_call_metadata,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool


class Whole(BaseChatModel):
    """Says messages that come whole."""

    says: list

    @property
    def _llm_type(self):
        return "whole"

    def bind_tools(self, tools, **kwargs):
        return self

    def with_structured_output(self, schema, **kwargs):
        return self | RunnableLambda(lambda message: {"tools": ["look"]})

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=self.says.pop(0))])


class InPieces(Whole):
    """Says messages in pieces: lists of texts, or of pieces of a tool call."""

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        said = self.says.pop(0)
        for piece in said:
            if isinstance(piece, str):
                yield ChatGenerationChunk(message=AIMessageChunk(piece))
            else:
                about = {"name": None, "id": None, "index": 0, **piece}
                yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[about]))


@tool
def look(who: str) -> str:
    """Looks somebody up."""
    return f"{who} is with bob@x.org"


@tool
def other(who: str) -> str:
    """Does something else."""
    return who


LONG = "and more words " * 12
CALL = [
    {"name": "look", "id": "c1", "args": ""},
    {"args": '{"who": "ann@'},
    {"args": 'x.org"}'},
]


def _told(event):
    """What matters of an event."""
    data = event["params"]["data"]
    if event["method"] == "values":
        return [
            (
                message.type,
                message.text,
                [call["args"] for call in getattr(message, "tool_calls", ())],
            )
            for message in data["messages"]
        ]
    if event["method"] == "tools":
        output = data.get("output")
        return data["event"], data.get("input"), getattr(output, "content", output)
    said = data[0]
    if not isinstance(said, dict):
        return "whole", said.text
    return said["event"], said.get("delta"), {**said.get("content", {}), "index": None}


def _events(model, **options):
    hide = PIIMiddleware(options.pop("pii_type", "email"), **options)
    agent = create_agent(model, [look], middleware=[hide])
    run = agent.stream_events({"messages": "I am z@z.org"}, version="v3")
    events = [(event["method"], _told(event)) for event in run]
    last = run.output["messages"][-1]
    return events, last.text


def case_mail_addresses_in_pieces(env):
    return [
        _events(InPieces(says=[["Ask ann", "@x.org, ", LONG, "bye"]]), apply_to_output=True),
        _events(
            InPieces(says=[["Ask ann@", "x.org, ", LONG, "bye"]]),
            apply_to_output=True,
            strategy="mask",
        ),
        _events(InPieces(says=[["Ask ann", "@x.org"]])),
    ]


def case_hashes_of_what_comes_in_pieces(env):
    hide = PIIMiddleware("email", apply_to_output=True, strategy="hash")
    says = ["ann@x.org ", LONG, LONG, "a", "nn@x.org ", LONG]
    agent = create_agent(InPieces(says=[says]), middleware=[hide])
    run = agent.stream_events({"messages": "hi"}, version="v3")
    return ["".join(message.text) for message in run.messages]


def case_long_data_is_not_cut_in_two(env):
    name = "a" * 150
    return _events(InPieces(says=[["Ask ", name, "@x.org ", LONG, LONG]]), apply_to_output=True)[1]


def case_tool_calls_and_their_results(env):
    return [
        _events(InPieces(says=[CALL, ["It is ann@x.org"]]), **options)
        for options in ({"apply_to_output": True}, {"apply_to_tool_results": True})
    ]


def case_messages_that_come_whole(env):
    call = AIMessage("", tool_calls=[{"name": "look", "args": {"who": "a@b.org"}, "id": "c1"}])
    return _events(Whole(says=[call, AIMessage("a@b.org it is")]), apply_to_output=True)


def case_projections(env):
    def run():
        hide = PIIMiddleware("email", apply_to_output=True)
        model = InPieces(says=[CALL, ["Ask ann", "@x.org, ", LONG, "bye"]])
        agent = create_agent(model, [look], middleware=[hide])
        return agent.stream_events({"messages": "hi"}, version="v3")

    texts = ["".join(message.text) for message in run().messages]
    calls = []
    for call in (read := run()).tool_calls:
        calls.append(call)
    _ = read.output
    return texts, [(call.tool_name, call.input, call.output) for call in calls]


async def case_blocked_in_async_runs(env):
    told = []
    hide = PIIMiddleware("email", strategy="block", apply_to_output=True)
    agent = create_agent(InPieces(says=[["Ask ann", "@x.org now"]]), [look], middleware=[hide])
    run = await agent.astream_events({"messages": "hi"}, version="v3")
    try:
        async for message in run.messages:
            async for piece in message.text:
                told.append(piece)
    except PIIDetectionError:
        return "".join(told), "blocked"
    return told


def case_blocked_tool_results(env):
    hide = PIIMiddleware("email", strategy="block", apply_to_tool_results=True)
    model = InPieces(says=[[{"name": "look", "id": "c1", "args": '{"who": "x"}'}], ["bye"]])
    agent = create_agent(model, [look], middleware=[hide])
    run = agent.stream_events({"messages": "hi"}, version="v3")
    seen = []

    def read():
        seen.extend(str(event["params"]["data"]) for event in run)

    return env.error(read), ["bob@x.org" in one for one in seen]


def case_what_is_clean_is_not_blocked(env):
    hide = PIIMiddleware("email", strategy="block", apply_to_output=True)
    model = InPieces(says=[["Hello ", "there, ", LONG]])
    agent = create_agent(model, middleware=[hide])
    run = agent.stream_events({"messages": "hi"}, version="v3")
    return ["".join(message.text) for message in run.messages]


def case_blocking_what_the_user_may_say(env):
    def agent():
        hide = PIIMiddleware("email", strategy="block", apply_to_input=False, apply_to_output=True)
        return create_agent(Whole(says=[AIMessage("Hello.")]), middleware=[hide])

    given = {"messages": "I am z@z.org"}
    run = agent().stream_events(given, version="v3")
    return agent().invoke(given)["messages"][-1].text, env.error(
        lambda: run.output["messages"][-1].text
    )


def case_updates_of_hidden_data(env):
    from langgraph.stream.transformers import UpdatesTransformer

    hide = PIIMiddleware("email", apply_to_output=True)
    agent = create_agent(
        Whole(says=[AIMessage("Ask ann@x.org")]),
        middleware=[hide],
        transformers=[UpdatesTransformer],
    )
    run = agent.stream_events({"messages": "hi"}, version="v3")
    return [update["model"]["messages"][-1].text for update in run.updates if "model" in update]


# --- calls of middleware's own ------------------------------------------------------------------


def _spied(kind, streams):
    own = (InPieces if streams else Whole)(
        says=[["for ", "itself"]] * 2
        if streams
        else [AIMessage("for itself", id=f"o{n}") for n in (1, 2)]
    )
    middleware = {
        "summary": lambda: SummarizationMiddleware(
            own, trigger=("messages", 3), keep=("messages", 1), token_counter=len
        ),
        "emulator": lambda: LLMToolEmulator(model=own),
        "selector": lambda: LLMToolSelectorMiddleware(model=own, max_tools=1),
    }[kind]()
    call = AIMessage("", tool_calls=[{"name": "look", "args": {"who": "x"}, "id": "c1"}], id="a")
    return create_agent(
        Whole(says=[call, AIMessage("done", id="b")]), [look, other], middleware=[middleware]
    )


def case_calls_of_middleware_are_not_told(env):
    told = []
    for kind in ("emulator", "selector"):
        for streams in (False, True):
            given = {"messages": ["one", "two"]}
            run = _spied(kind, streams).stream_events(given, version="v3")
            told.append([message.output.text for message in run.messages])
            run = _spied(kind, streams).stream_events(given, version="v3")
            told.append(
                [
                    "for itself" in str(event["params"]["data"])
                    for event in run
                    if event["method"] == "messages"
                ]
            )
    return told


def case_callers_cannot_hide_an_answer(env):
    agent = create_agent(Whole(says=[AIMessage("here")]), middleware=[])
    forged = {"metadata": {INTERNAL_CALL_METADATA_KEY: True}}
    run = agent.stream_events({"messages": "hi"}, forged, version="v3")
    return (
        [message.output.text for message in run.messages],
        INTERNAL_CALL_METADATA_KEY,
        internal_call_metadata()[INTERNAL_CALL_METADATA_KEY] in (True, "", None),
        InternalCallTransformer in SummarizationMiddleware(Whole(says=[])).transformers,
        InternalCallTransformer in LLMToolEmulator(model=Whole(says=[])).transformers,
    )


async def case_mail_addresses_in_async_runs(env):
    async def read(run):
        return ["".join([piece async for piece in message.text]) async for message in run.messages]

    hide = PIIMiddleware("email", apply_to_output=True)
    agent = create_agent(InPieces(says=[["Ask ann", "@x.org"]]), middleware=[hide])
    run = await agent.astream_events({"messages": "hi"}, version="v3")
    return await asyncio.wait_for(read(run), 10)
