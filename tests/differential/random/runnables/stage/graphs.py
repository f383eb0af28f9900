"""Graphs and histories that random programs put inside chains."""

from typing import Annotated, Any

from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import ConfigurableFieldSpec
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict


def joined(old, new):
    return [*old, *new]


class Counted(TypedDict, total=False):
    n: int
    log: Annotated[list, joined]


def counting(*nodes, name="counting", saver=None):
    """A graph that runs its nodes one after the other."""
    builder = StateGraph(Counted)
    before = START
    for position, node in enumerate(nodes):
        builder.add_node(f"node{position}", node)
        builder.add_edge(before, f"node{position}")
        before = f"node{position}"
    return builder.compile(name=name, checkpointer=saver)


def beside(*nodes):
    """A graph that runs its nodes at once."""
    builder = StateGraph(Counted)
    for position, node in enumerate(nodes):
        builder.add_node(f"node{position}", node)
        builder.add_edge(START, f"node{position}")
    return builder.compile()


def more(state):
    return {"n": state.get("n", 0) + 1, "log": ["more"]}


async def a_more(state):
    return {"n": state.get("n", 0) + 1, "log": ["a_more"]}


def told(state):
    return {"log": [f"n is {state.get('n')}"]}


def broken(state):
    raise ValueError("broken")


def odd_only(state):
    if state.get("n", 0) % 2 == 0:
        raise ValueError("even")
    return {"log": ["odd"]}


def asks(state):
    return {"log": [interrupt({"n": state.get("n")})]}


def chatting(model):
    """A graph that answers messages."""
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "say")
    return builder.compile()


class Histories:
    """The histories of sessions, by what names them."""

    def __init__(self):
        self.held: dict[Any, Any] = {}

    def of(self, session_id):
        return self.held.setdefault(session_id, InMemoryChatMessageHistory())

    def of_two(self, user, talk):
        return self.held.setdefault((user, talk), InMemoryChatMessageHistory())

    def shown(self):
        return {
            str(key): [(m.type, m.content) for m in held.messages]
            for key, held in self.held.items()
        }


FIELDS = [
    ConfigurableFieldSpec(id="user", annotation=str, default="ann", is_shared=True),
    ConfigurableFieldSpec(id="talk", annotation=str, default=None),
]


def counted(given):
    """How many messages came, as a message."""
    return AIMessage(f"{len(listed(given))} came")


def counted_text(given):
    return f"{len(listed(given))} came"


def counted_list(given):
    return [AIMessage("one"), AIMessage(f"{len(listed(given))} came")]


def counted_dict(given):
    return {"answer": AIMessage(f"{len(listed(given))} came"), "other": 1}


def counted_text_dict(given):
    return {"answer": f"{len(listed(given))} came"}


async def a_counted(given):
    return AIMessage(f"{len(listed(given))} came")


def listed(given):
    """The messages of any form of input."""
    if isinstance(given, dict):
        return [*listed(given.get("past", [])), *listed(given.get("question", []))]
    return given if isinstance(given, list) else [given]


def failing(given):
    raise ValueError("no answer")


def in_pieces(pieces):
    for piece in pieces:
        yield AIMessage(f"{len(listed(piece))}")


def hello(text):
    return HumanMessage(text)
