"""Contexts in each of their forms, savers by their general types, and messages from data."""

from dataclasses import dataclass
from typing import Any, TypedDict

from pydantic import BaseModel

from plait.checkpoint.base import BaseCheckpointSaver
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.func import entrypoint
from plait.graph import START, StateGraph
from plait.graph.state import CompiledStateGraph
from plait.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from plait.runtime import Runtime
from plait.types import Checkpointer


class State(TypedDict):
    text: str


class Context(TypedDict, total=False):
    user: str


@dataclass
class User:
    user: str = "ada"


class Person(BaseModel):
    user: str = "ada"


def greet(state: State, runtime: Runtime[Any]) -> dict[str, str]:
    return {"text": f"hello {runtime.context!r}"}


def greeting(schema: type[Any] | None, checkpointer: Checkpointer = None) -> Any:
    builder = StateGraph(State, context_schema=schema)
    builder.add_node("greet", greet)
    builder.add_edge(START, "greet")
    return builder.compile(checkpointer=checkpointer)


def general() -> BaseCheckpointSaver[Any]:
    return InMemorySaver()


for checkpointer in (None, False, general(), InMemorySaver()):
    greeting(User, checkpointer).invoke(
        {"text": ""}, {"configurable": {"thread_id": "1"}}, context=User()
    )
with SqliteSaver.from_conn_string(":memory:") as saver:
    greeting(None, saver).get_state({"configurable": {"thread_id": "1"}})

by_class: StateGraph[State, User] = StateGraph(State, context_schema=User)
by_class.add_node("greet", greet).add_edge(START, "greet")
by_class.compile().invoke({"text": ""}, context=User("bob"))
by_class.compile().invoke({"text": ""}, context={"user": "bob"})
by_class.compile().invoke({"text": ""})
untold: StateGraph[State] = StateGraph(State, context_schema=Person)
untold.add_node("greet", greet).add_edge(START, "greet")
compiled: CompiledStateGraph[State] = untold.compile()
compiled.invoke({"text": ""}, context=Person())
by_dict = StateGraph(State, Context).add_node("greet", greet).add_edge(START, "greet").compile()
by_dict.invoke({"text": ""}, context={"user": "bob"})
by_dict.invoke({"text": ""}, context=Context(user="bob"))
by_dict.invoke({"text": ""}, context={})
by_type = StateGraph(State, context_schema=str).add_node("greet", greet).add_edge(START, "greet")
by_type.compile().invoke({"text": ""}, context="bob")


@entrypoint(checkpointer=InMemorySaver())
def workflow(x: int) -> int:
    return x


workflow.invoke(1, {"configurable": {"thread_id": "1"}}, context={"user": "bob"})

data: dict[str, Any] = {"content": "hi"}
kinds: dict[str, type[BaseMessage]] = {"human": HumanMessage, "ai": AIMessage}
messages = [HumanMessage(**data), *(kind(content="hi") for kind in kinds.values())]
messages += [type(message)(content=message.content) for message in messages]
messages += [HumanMessage(content_blocks=[{"type": "text", "text": "hi"}]), AIMessage("", id="1")]
messages += [SystemMessage(["a", {"type": "text", "text": "b"}]), ToolMessage("x", tool_call_id="")]
