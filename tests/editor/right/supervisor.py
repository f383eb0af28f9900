from typing import Literal

from typing_extensions import TypedDict

from plait.graph import END, START, MessagesState, StateGraph
from plait.messages import AIMessage, HumanMessage
from plait.output_parsers import StrOutputParser
from plait.prompts import ChatPromptTemplate, MessagesPlaceholder
from plait.runnables import RunnableConfig
from plait.testing import ScriptedChatModel
from plait.types import Command

members = ["researcher", "coder"]


class Router(TypedDict):
    """Worker to route to next. If no workers needed, route to FINISH."""

    next: Literal["researcher", "coder", "FINISH"]


class State(MessagesState):
    next: str


llm = ScriptedChatModel(["researcher", "a", "b"])


def supervisor_node(state: State) -> Command[Literal["researcher", "coder", "__end__"]]:
    messages = [{"role": "system", "content": "sys"}] + state["messages"]
    if len(state["messages"]) > 2:
        return Command(goto=END)
    return Command(goto="researcher", update={"next": "researcher"})


def research_node(state: State) -> Command[Literal["supervisor"]]:
    return Command(
        update={"messages": [HumanMessage(content="found", name="researcher")]},
        goto="supervisor",
    )


def code_node(state: State, config: RunnableConfig) -> Command[Literal["supervisor"]]:
    print(config.get("configurable", {}).get("thread_id"))
    return Command(update={"messages": [AIMessage("x")]}, goto="supervisor")


builder = StateGraph(State)
builder.add_edge(START, "supervisor")
builder.add_node("supervisor", supervisor_node)
builder.add_node("researcher", research_node)
builder.add_node("coder", code_node)
graph = builder.compile()
for s in graph.stream(
    {"messages": [("user", "What's the square root of 42?")]},
    {"recursion_limit": 10},
    subgraphs=True,
):
    print(s)

prompt = ChatPromptTemplate.from_messages(
    [("system", "You are {who}"), MessagesPlaceholder("messages")]
)
chain = prompt | llm | StrOutputParser()
text = chain.invoke({"who": "x", "messages": [HumanMessage("hi")]})
print(text.upper())
