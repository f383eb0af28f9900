"""What random programs are made of: names of the peer, functions, models, parsers, handlers.

Written against langchain_core; loaded as it is, and with its import roots replaced.
"""
# ruff: noqa: F401 - the programs use the names

import copy
import json
import operator
from typing import Annotated, Any, Literal, Optional, Union

from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, FakeListLLM, GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
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


async def aunordered(found):
    """The async twin of `unordered`."""
    return unordered(await found)


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
    """Dicts by their keys: parallel steps fill them as they end. Text of messages without ids."""
    if isinstance(x, BaseMessage):
        return x.model_copy(update={"id": None})
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


async def given_once(value):
    """A stream of one item."""
    yield value


def picture(runnable):
    """The nodes and edges of a runnable's graph."""
    made = runnable.get_graph().to_json()
    nodes = [(n["id"], n["type"], n["data"].get("name", "")) for n in made["nodes"]]
    return nodes, made["edges"]
