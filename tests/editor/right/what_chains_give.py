"""What an editor knows of a chain: `assert_type` is red where it thinks otherwise."""

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any, assert_type

from pydantic import BaseModel

from plait.chat_models import BaseChatModel, FakeListChatModel, init_chat_model
from plait.chat_models.configurable import ConfigurableModel
from plait.graph import START, MessagesState, StateGraph
from plait.graph.state import CompiledStateGraph
from plait.messages import AIMessage, AIMessageChunk
from plait.output_parsers import PydanticOutputParser, StrOutputParser
from plait.prompt_values import PromptValue
from plait.prompts import ChatPromptTemplate
from plait.runnables import Runnable, RunnableConfig, RunnableLambda, RunnablePassthrough, chain


class Joke(BaseModel):
    setup: str


class Question(MessagesState):
    topic: str


def shout(text: str) -> str:
    return text.upper()


async def measure(text: str, config: RunnableConfig) -> int:
    return len(text)


def letters(text: str) -> Iterator[str]:
    yield from text


@chain
def first(lines: list[str]) -> str:
    return lines[0]


def tell(asked: Question) -> str:
    # A TypedDict is a prompt's input, as a dict is.
    return (prompt | model | StrOutputParser()).invoke(asked)


prompt = ChatPromptTemplate.from_template("A joke about {topic}")
model = FakeListChatModel(responses=["Why not?"])
said = model.invoke("hello")
assert_type(said, AIMessage)
assert_type(said.text.upper(), str)
assert_type(next(model.stream("hello")), AIMessageChunk)
assert_type(prompt.invoke({"topic": "cats"}), PromptValue)
assert_type((prompt | model).invoke({"topic": "cats"}), AIMessage)

text = prompt | model | StrOutputParser()
assert_type(text.invoke({"topic": "cats"}), str)
assert_type(text.batch([{"topic": "cats"}]), list[str])
assert_type((text | shout).invoke({"topic": "cats"}), str)
assert_type((text | RunnableLambda(letters)).invoke({"topic": "cats"}), str)
assert_type((text | len).with_retry().invoke({"topic": "cats"}), int)
assert_type(text | {"loud": shout}, Runnable[Mapping[str, Any], dict[str, Any]])
assert_type([out for _, out in text.batch_as_completed([{"topic": "cats"}])], list[str])
assert_type(tell({"messages": [], "topic": "cats"}), str)

assert_type(RunnableLambda(shout), RunnableLambda[str, str])
assert_type(RunnableLambda(measure), RunnableLambda[str, int])
assert_type(RunnableLambda(lambda number: number + 1).invoke(1), Any)
assert_type(first.invoke(["a", "b"]), str)
assert_type((itemgetter("topic") | RunnableLambda(shout)).invoke({"topic": "cats"}), str)
assert_type(RunnablePassthrough[int]().invoke(1), int)
assert_type(RunnableLambda(int).with_fallbacks([RunnableLambda(len)]).invoke("one"), int)

parser = PydanticOutputParser(pydantic_object=Joke)
jokes = FakeListChatModel(responses=['{"setup": "A bar."}'])
assert_type((prompt | jokes | parser).invoke({"topic": "cats"}), Joke)

graph = (
    StateGraph(MessagesState).add_node("tell", lambda state: {}).add_edge(START, "tell").compile()
)
tagged = graph.with_config(tags=["tagged"])
assert isinstance(tagged, CompiledStateGraph)
assert_type(tagged.builder, StateGraph)

assert_type(init_chat_model("openai:gpt-5"), BaseChatModel)
assert_type(init_chat_model(), ConfigurableModel)
assert_type(init_chat_model("openai:gpt-5", configurable_fields="any"), ConfigurableModel)
