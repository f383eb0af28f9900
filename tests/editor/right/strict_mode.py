# pyright: strict
"""A program under the strictest checks: classes, states, streams and tools of its own."""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from pydantic import BaseModel, Field

from plait.agents import AgentState, create_agent
from plait.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, before_model
from plait.callbacks import CallbackManagerForLLMRun, CallbackManagerForRetrieverRun
from plait.checkpoint.memory import InMemorySaver
from plait.documents import Document
from plait.func import entrypoint, task
from plait.graph import END, START, StateGraph
from plait.graph.message import add_messages
from plait.language_models import BaseChatModel
from plait.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage, SystemMessage
from plait.output_parsers import BaseOutputParser, StrOutputParser
from plait.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from plait.prebuilt import ToolRuntime
from plait.prompts import ChatPromptTemplate
from plait.retrievers import BaseRetriever
from plait.runnables import RunnableConfig, RunnablePassthrough
from plait.runtime import Runtime
from plait.tools import BaseTool, tool
from plait.types import Command, RetryPolicy, interrupt


class Echo(BaseChatModel):
    size: int = Field(default=20, gt=0)
    model_name: str = Field(default="echo", alias="model")

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answer = AIMessage(messages[-1].text[: self.size])
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for letter in messages[-1].text[: self.size]:
            yield ChatGenerationChunk(message=AIMessageChunk(letter))

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


class Shelf(BaseRetriever):
    documents: list[Document]
    k: int = Field(default=1, ge=1)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [one for one in self.documents if query in one.page_content][: self.k]


class Lines(BaseOutputParser[list[str]]):
    sep: str

    def __init__(self, sep: str, **kwargs: Any) -> None:
        super().__init__(sep=sep, **kwargs)

    def parse(self, text: str) -> list[str]:
        return text.split(self.sep)


class Question(BaseModel):
    question: str


class Ask(BaseTool):
    name: str = "ask"
    description: str = "Asks."
    args_schema: type[BaseModel] = Question
    llm: BaseChatModel

    def _run(self, question: str) -> str:
        return self.llm.invoke(question).text


model = Echo(size=12, model="small")
assert Ask(llm=model).invoke({"question": "why?"}) == "why?"


def joined(documents: list[Document]) -> str:
    return ", ".join(one.page_content for one in documents)


prompt = ChatPromptTemplate.from_template("{question} {context}")
shelf = Shelf(documents=[Document("cats purr")])
rag = {"context": shelf | joined, "question": RunnablePassthrough()} | prompt | model
said: str = (rag | StrOutputParser()).invoke("cats")
assert said == "cats cats pu"
words: list[str] = (rag | Lines(" ", name="words")).invoke("cats")
assert words == ["cats", "cats", "pu"]


# --- a graph --------------------------------------------------------------------------------------


@dataclass
class Context:
    user: str


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[str], operator.add]


def greet(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    runtime.stream_writer({"greets": runtime.context.user})
    return {"messages": [model.invoke(state["messages"])]}


def review(state: State, runtime: Runtime) -> Command[Literal["greet", "__end__"]]:
    answer: str = interrupt({"text": state["messages"][-1].content})
    runtime.stream_writer(answer)
    return Command(update={"log": [answer]}, goto="greet" if answer == "again" else END)


builder = StateGraph(State, context_schema=Context)
builder.add_node(greet, retry_policy=RetryPolicy(max_attempts=2))
builder.add_node(review)
builder.add_edge(START, "greet")
builder.add_edge("greet", "review")
graph = builder.compile(checkpointer=InMemorySaver())
config: RunnableConfig = {"configurable": {"thread_id": "1"}, "recursion_limit": 20}
first: State = {"messages": [SystemMessage("hi")], "log": []}
for mode, part in graph.stream(
    first, config, stream_mode=["updates", "custom"], context=Context("ann")
):
    assert mode in ("updates", "custom")
    assert part
questions = graph.get_state(config).interrupts
for message, metadata in graph.stream(
    Command(resume={questions[0].id: "again"}),
    config,
    stream_mode="messages",
    context=Context("ann"),
):
    assert isinstance(message, AIMessage)
    assert metadata["langgraph_node"] == "greet"
assert graph.invoke(Command(resume="fine"), config)["log"] == ["again", "fine"]


# --- a workflow -----------------------------------------------------------------------------------


@task(retry_policy=RetryPolicy(max_attempts=2))
def write(topic: str, times: int = 1) -> str:
    return topic * times


@entrypoint(checkpointer=InMemorySaver())
def flow(topic: str, *, previous: int | None = None) -> entrypoint.final[str, int]:
    texts = [write(topic, times=number) for number in range(1, 3)]
    value = ",".join(text.result() for text in texts)
    return entrypoint.final(value=value, save=(previous or 0) + 1)


told: str = flow.invoke("a", config)
assert told == "a,aa"


# --- an agent -------------------------------------------------------------------------------------


class Counting(AgentState):
    count: int


@tool
def who(runtime: ToolRuntime[Context, Counting]) -> str:
    """Tell who asks."""
    return f"{runtime.context.user} {runtime.state['count']}"


class Polite(AgentMiddleware[Counting, Context]):
    state_schema = Counting

    def wrap_model_call(
        self,
        request: ModelRequest[Context],
        handler: Callable[[ModelRequest[Context]], ModelResponse],
    ) -> ModelResponse:
        asked = SystemMessage(f"Be polite to {request.runtime.context.user}")
        return handler(request.override(system_message=asked))


@before_model(can_jump_to=["end"])
def limit(state: AgentState, runtime: Runtime) -> dict[str, Any] | None:
    return {"jump_to": "end"} if len(state["messages"]) > 3 else None


agent = create_agent(
    model, [who], middleware=[Polite(), limit], state_schema=Counting, context_schema=Context
)
result = agent.invoke({"messages": "hello", "count": 1}, context=Context("ann"))
assert result["messages"][-1].text == "hello"
