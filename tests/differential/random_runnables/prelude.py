"""What random programs are made of: names of the peer, functions, models, parsers, handlers.

Written against langchain_core; `running.py` loads it as it is, and with its import roots replaced.
"""
# ruff: noqa: F401 - the programs use the names

import copy
import json
import operator
from typing import Annotated, Any, Literal, Optional, Union

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, FakeListLLM, GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
    filter_messages,
    get_buffer_string,
    merge_message_runs,
    message_chunk_to_message,
    messages_from_dict,
    messages_to_dict,
    trim_messages,
)
from langchain_core.messages.ai import add_usage, subtract_usage
from langchain_core.output_parsers import (
    CommaSeparatedListOutputParser,
    JsonOutputKeyToolsParser,
    JsonOutputParser,
    JsonOutputToolsParser,
    MarkdownListOutputParser,
    NumberedListOutputParser,
    PydanticOutputParser,
    PydanticToolsParser,
    StrOutputParser,
    XMLOutputParser,
)
from langchain_core.outputs import ChatGeneration, Generation
from langchain_core.prompts import (
    AIMessagePromptTemplate,
    ChatMessagePromptTemplate,
    ChatPromptTemplate,
    FewShotChatMessagePromptTemplate,
    FewShotPromptTemplate,
    HumanMessagePromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
    SystemMessagePromptTemplate,
)
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    ConfigurableField,
    RouterRunnable,
    RunnableBranch,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnablePick,
    RunnableSequence,
    RunnableWithMessageHistory,
)
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, StructuredTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph.message import add_messages
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

copied = copy.deepcopy


def words(messages):
    """A token counter: how many words the messages hold."""
    return sum(len(str(m.content).split()) + 1 for m in messages)


def total(parts):
    """The sum of chunks; None of none."""
    whole = None
    for part in parts:
        whole = part if whole is None else whole + part
    return whole


def blocks_of(message):
    """Blocks of content without "Calls without an id"."""
    return [b for b in message.content_blocks if b["type"] != "tool_call" or b["id"]]


def dumped(message):
    """All fields of a message, as its model tells them."""
    return message.model_dump()


def plain(found):
    """What a store found, without times and scores."""
    if isinstance(found, list):
        return [plain(item) for item in found]
    if hasattr(found, "namespace"):
        return (found.namespace, found.key, found.value)
    return found


def unordered(found):
    """Items of a store that leaves their order open."""
    return sorted((plain(item) for item in found), key=repr)


async def aplain(found):
    """What awaiting gives, plain."""
    return plain(await found)


def values_of(found):
    """Prompt values as what they hold; the sides have different classes for them."""
    if isinstance(found, list):
        return [values_of(item) for item in found]
    if hasattr(found, "to_messages"):
        text = "Text" if type(found).__name__ == "StringPromptValue" else "Chat"
        return (text, found.to_string(), found.to_messages())
    return found


def keys_of(schema):
    """The properties of a schema, and which are required; messages are described by each side."""
    return schema["title"], sorted(schema.get("properties", {})), schema.get("required")


# Functions that chains are made of, each of one argument and for one kind of value.


def add_one(x: int) -> int:
    return x + 1


def double(x):
    return x * 2


async def a_double(x):
    return x * 2


def no_odd(x):
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x


def never(x):
    raise KeyError("never")


def in_order(x):
    """Dicts by their keys: parallel steps fill them as they end."""
    return {k: in_order(x[k]) for k in sorted(x, key=str)} if isinstance(x, dict) else x


def shown(x) -> str:
    return f"<{in_order(x)}>"


async def a_shown(x):
    return f"<{in_order(x)}>"


def up(x: str) -> str:
    return x.upper()


def letters(x):
    yield from x


async def a_letters(x):
    for letter in x:
        yield letter


def each_up(pieces):
    for piece in pieces:
        yield piece.upper()


async def a_each_up(pieces):
    async for piece in pieces:
        yield piece.upper()


def count_to(x):
    return list(range(abs(x) % 4))


def as_dict(x):
    return {"a": x, "b": 2, "name": "joe"}


def size(x):
    return len(x)


def scaled(x, by=2, **more):
    return x * by + len(more)


def configured(x, config):
    told = {k: config.get(k) for k in ("tags", "metadata", "configurable", "recursion_limit")}
    return f"{in_order(x)}:{json.dumps(told, sort_keys=True)}"


def is_even(x):
    return x % 2 == 0


def is_long(x):
    return len(x) > 3


def which(x):
    return {"key": "even" if x % 2 == 0 else "odd", "input": x}


def to_a_chain(x):
    return RunnableLambda(add_one) | double


def question(x):
    return [HumanMessage(str(in_order(x)))]


class Notes(BaseCallbackHandler):
    """Every event that a handler is told, by run."""

    def __init__(self):
        self.runs = {}
        self.order = []

    def note(self, event, run_id, parent_run_id, **more):
        if run_id not in self.runs:
            self.runs[run_id] = (parent_run_id, [])
            self.order.append(run_id)
        self.runs[run_id][1].append((event, {k: v for k, v in more.items() if v is not None}))

    def on_chain_start(
        self,
        serialized,
        inputs,
        *,
        run_id,
        parent_run_id=None,
        tags=None,
        metadata=None,
        name=None,
        **kwargs,
    ):
        self.note(
            "start",
            run_id,
            parent_run_id,
            inputs=inputs,
            tags=sorted(tags or []),
            metadata=own(metadata),
            name=name,
            kind=kwargs.get("run_type"),
        )

    def on_chain_end(self, outputs, *, run_id, parent_run_id=None, **kwargs):
        self.note("end", run_id, parent_run_id, outputs=outputs)

    def on_chain_error(self, error, *, run_id, parent_run_id=None, **kwargs):
        self.note("error", run_id, parent_run_id, error=error)

    def on_chat_model_start(
        self,
        serialized,
        messages,
        *,
        run_id,
        parent_run_id=None,
        tags=None,
        metadata=None,
        name=None,
        **kwargs,
    ):
        self.note(
            "model",
            run_id,
            parent_run_id,
            messages=messages,
            tags=sorted(tags or []),
            metadata=own(metadata),
            name=name,
        )

    def on_llm_start(self, serialized, prompts, *, run_id, parent_run_id=None, tags=None, **kwargs):
        self.note("llm", run_id, parent_run_id, prompts=prompts, tags=sorted(tags or []))

    def on_llm_new_token(self, token, *, chunk=None, run_id, parent_run_id=None, **kwargs):
        self.note("token", run_id, parent_run_id, token=token)

    def on_llm_end(self, response, *, run_id, parent_run_id=None, **kwargs):
        texts = [[g.text for g in row] for row in response.generations]
        self.note("answered", run_id, parent_run_id, texts=texts)

    def on_llm_error(self, error, *, run_id, parent_run_id=None, **kwargs):
        self.note("model error", run_id, parent_run_id, error=error)

    def on_retry(self, state, *, run_id, parent_run_id=None, **kwargs):
        self.note("retry", run_id, parent_run_id)

    def on_tool_start(self, serialized, text, *, run_id, parent_run_id=None, inputs=None, **kwargs):
        self.note("tool", run_id, parent_run_id, text=text, inputs=inputs)

    def on_tool_end(self, output, *, run_id, parent_run_id=None, **kwargs):
        self.note("tool end", run_id, parent_run_id, output=output)

    def on_tool_error(self, error, *, run_id, parent_run_id=None, **kwargs):
        self.note("tool error", run_id, parent_run_id, error=error)

    def on_retriever_start(self, serialized, query, *, run_id, parent_run_id=None, **kwargs):
        self.note("retriever", run_id, parent_run_id, query=query)

    def on_retriever_end(self, documents, *, run_id, parent_run_id=None, **kwargs):
        self.note("found", run_id, parent_run_id, documents=documents)

    def __repr__(self):
        return "Notes()"

    def settled(self, loose):
        """The tree, unless a step failed beside others: which of them ran is left to chance."""
        return None if loose and "error" in repr(self.runs.values()) else self.tree()

    def tree(self, parent=None):
        """What was noted, as a tree; runs beside each other are sorted: they may be parallel."""
        runs = [(r, e) for r in self.order for p, e in [self.runs[r]] if p == parent]
        return sorted(
            ([e, self.tree(r)] for r, e in runs), key=lambda run: repr(values_of_all(run))
        )


def values_of_all(found):
    """The result of any call, of which only what the sides share is kept."""
    if isinstance(found, dict):
        return {k: values_of_all(v) for k, v in found.items()}
    if isinstance(found, list) or type(found) is tuple:
        return type(found)(values_of_all(v) for v in found)
    if hasattr(found, "invoke"):
        return type(found).__name__
    return values_of(found)


def own(metadata):
    """Metadata without what the peer keeps for its vendor's tracer ("Metadata for LangSmith")."""
    return {k: v for k, v in (metadata or {}).items() if not k.startswith(("ls_", "lc_"))}


def noted(call, loose=True):
    """What a call gives or raises, and what a handler was told meanwhile."""
    notes = Notes()
    try:
        result = call([notes])
    except Exception as error:
        result = error
    return values_of_all([result, notes.settled(loose)])


async def anoted(call, loose=True):
    """The async twin of `noted`."""
    notes = Notes()
    try:
        result = await call([notes])
    except Exception as error:
        result = error
    return values_of_all([result, notes.settled(loose)])


async def gathered(stream):
    """The items of an async stream, and its error."""
    found = []
    try:
        async for item in stream:
            found.append(item)
    except Exception as error:
        found.append(error)
    return values_of_all(found)


def drained(stream):
    """The items of a stream, and its error."""
    found = []
    try:
        for item in stream:
            found.append(item)
    except Exception as error:
        found.append(error)
    return values_of_all(found)


SILENT = ("RunnableBranch", "RunnableWithFallbacks")  # "Events of branches and fallbacks"


async def happened(events, loose=True, inputs=False):
    """Events of `astream_events`: in order, or starts and ends by run where runs are parallel."""
    found, runs = [], {}
    try:
        async for event in events:
            kind, name, data = event["event"], event["name"], dict(event["data"])
            if kind == "on_chain_stream" and (loose or name in SILENT):
                continue
            data.pop("error", None)
            if not inputs or not data.get("input"):  # "Empty inputs in events"
                data.pop("input", None)
            row = (kind, name, sorted(event["tags"]), own(event["metadata"]), data)
            found.append(values_of_all(row))
            runs.setdefault(event["run_id"], []).append(values_of_all(row))
    except Exception as error:
        found.append(error)
    if loose and found and isinstance(found[-1], Exception):
        return found[-1]  # which steps beside the failed one had ended is left to chance
    return sorted(runs.values(), key=repr) if loose else found


async def logged(patches):
    """The state that patches of `astream_log` lead to."""
    state = None
    async for patch in patches:
        state = patch if state is None else state + patch
    logs = state.state["logs"]
    left = ("id", "start_time", "end_time", "metadata")
    plain_logs = {n: {k: v for k, v in log.items() if k not in left} for n, log in logs.items()}
    for name in plain_logs.keys() & set(SILENT):
        plain_logs[name]["streamed_output"] = None
    whole = {k: state.state[k] for k in ("streamed_output", "final_output", "name", "type")}
    return values_of_all([whole, plain_logs])


def run_histories():
    """A function that keeps one history per session."""
    kept = {}
    return lambda session_id: kept.setdefault(session_id, InMemoryChatMessageHistory())


class Found(BaseRetriever):
    """A retriever of two documents."""

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(page_content=query), Document(page_content="two", metadata={"n": 1})]


class Flaky:
    """Fails so many times before it answers."""

    def __init__(self, failures):
        self.failures = failures

    def __call__(self, x):
        self.failures -= 1
        if self.failures >= 0:
            raise ValueError("flaky")
        return x


@tool
def look_up(a: int, b: str = "b") -> str:
    """Looks something up."""
    return f"{a}{b}"


def as_completed(found):
    """What `batch_as_completed` gives, by the place of the input."""
    return values_of_all(sorted(found, key=lambda row: row[0]))


async def awaited(found):
    """What awaiting gives, with prompt values as what they hold."""
    return values_of_all(await found)


async def given_once(value):
    """A stream of one item."""
    yield value


def picture(runnable):
    """The nodes and edges of a runnable's graph."""
    made = runnable.get_graph().to_json()
    nodes = [(n["id"], n["type"], n["data"].get("name", "")) for n in made["nodes"]]
    return nodes, made["edges"]
