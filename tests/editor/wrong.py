"""Mistakes that an editor marks: each line that ends with `# red`, and no other."""

import operator
from typing import Annotated, Literal, TypedDict

from pydantic import BaseModel

from plait.agents import create_agent
from plait.agents.middleware import (
    AgentMiddleware,
    AgentState,
    HumanInTheLoopMiddleware,
    ModelRequest,
    before_model,
    wrap_model_call,
)
from plait.chat_models import init_chat_model
from plait.func import entrypoint, task
from plait.graph import START, StateGraph
from plait.messages import HumanMessage
from plait.output_parsers import BaseOutputParser
from plait.prompts import ChatPromptTemplate
from plait.runnables import RunnableLambda
from plait.runtime import Runtime
from plait.store.memory import InMemoryStore
from plait.testing import ScriptedChatModel
from plait.tools import BaseTool, tool
from plait.types import Command, RetryPolicy, Send


class State(TypedDict):
    text: str
    items: Annotated[list[str], operator.add]


class Context(TypedDict):
    user: str


class Model(BaseModel):
    text: str


@task
def double(x: int) -> int:
    return 2 * x


@task(name="text")
async def text_of(x: int) -> str:
    return str(x)


@entrypoint()
def workflow(x: int) -> int:
    return double(x) + 1  # red


@entrypoint()
async def async_workflow(x: int) -> int:
    return await text_of(x)  # red


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def misspelled_route(state: State) -> Command[Literal["approve"]]:
    return Command(goto="aprove")  # red


def misspelled_key_read(state: State):
    return {"text": state["txet"]}  # red


def misspelled_key_written(state: State) -> State:
    return {"txet": "x", "items": []}  # red


def attribute_of_a_dict(state: State):
    return {"text": state.text}  # red


def key_of_a_model(state: Model):
    return {"text": state["text"]}  # red


def misspelled_context(state: State, runtime: Runtime[Context]):
    return {"text": runtime.context["usr"]}  # red


async def forgotten_await():
    return graph.ainvoke({"text": ""})["text"]  # red


def sync_loop_over_an_async_stream():
    for part in graph.astream({"text": ""}):  # red
        print(part)


class Hook(AgentMiddleware):
    def before_model(self, state: AgentState):  # red
        return None


@wrap_model_call  # red
def without_handler(request: ModelRequest):
    return None


@before_model(can_jump_to=["ends"])  # red
def misspelled_jump(state: AgentState, runtime: Runtime):
    return None


@before_model(can_jump_to=["end"])
def stops(state: AgentState, runtime: Runtime):
    return None


@before_model  # red
def without_runtime(state: AgentState):
    return None


class Lines(BaseOutputParser[list[str]]):
    sep: str = ","

    def parse(self, text: str) -> list[str]:
        return text.split(self.sep)


class Search(BaseTool):
    name: str = "search"
    description: str = "Searches."
    index: str

    def _run(self, query: str) -> str:
        return f"{query} in {self.index}"


text_of_topic = ChatPromptTemplate.from_template("{topic}") | ScriptedChatModel(["x"]) | Lines()
text_of_topic | 5  # red
text_of_topic.invoke({"topic": "x"}).upper()  # red
text_of_topic.invoke("x")  # red
RunnableLambda(len).invoke(5)  # red
RunnableLambda(len).invok("x")  # red
ScriptedChatModel(["x"]).invoke("hi").tool_cals  # red
init_chat_model("openai:gpt-5").invoke("hi").contents  # red
Lines(seb=";")  # red
Lines(sep=3)  # red
Search()  # red
Search(index="news", nam="find")  # red

builder = StateGraph(State).add_node("n", misspelled_key_read)
builder.add_edge(START, ["n"])  # red
builder.invoke({"text": ""})  # red
builder.add_node("m", misspelled_key_read, retry_policy=RetryPolicy(attempts=3))  # red
graph = builder.compile()
graph.stream({"text": ""}, stream_mode="value")  # red
graph.stream({"text": ""}, stream_mode=["values", "update"])  # red
graph.invoke({"text": ""}, durability="synch")  # red
graph.get_state({}).value  # red
Send("n")  # red
add(1, 2)  # red
workflow(1)  # red
create_agent(ScriptedChatModel(["x"]), prompt="Be brief.")  # red
create_agent(ScriptedChatModel(["x"]), middleware=[Hook])  # red
stops.tool  # red
HumanInTheLoopMiddleware({"add": {"allow_accept": True}})  # red
InMemoryStore().put("users", "k", {"a": 1})  # red
InMemoryStore().put(("users",), "k", "v")  # red
HumanMessage()  # red
StateGraph(State).compile(checkpointer="memory.db")  # red
StateGraph(State, context_schema=Context).compile().invoke({"text": ""}, context="ada")  # red


@entrypoint(checkpointer="memory.db")  # red
def kept_nowhere(x: int) -> int:
    return x
