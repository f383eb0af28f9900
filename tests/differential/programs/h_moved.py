"""Programs as users move them by import roots: names that they import, methods that they call."""

from typing import Annotated

from langchain_core.language_models.chat_models import BaseChatModel, LangSmithParams
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.utils import AnyMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.base import RunnableLike
from langgraph.graph import START, StateGraph
from langgraph.graph.message import Messages, add_messages
from langgraph.store.base import EmbeddingsFunc
from langgraph.store.memory import InMemoryStore
from typing_extensions import TypedDict


class Provider(BaseChatModel):
    model_name: str = "p1"
    temperature: float = 0.5

    @property
    def _llm_type(self) -> str:
        return "provider"

    @property
    def _identifying_params(self):
        return {"model_name": self.model_name}

    def _get_ls_params(self, stop=None, **kwargs) -> LangSmithParams:
        params = super()._get_ls_params(stop=stop, **kwargs)
        params["ls_provider"] = "mine"
        return params

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=AIMessage("hi"))])


def case_what_a_model_says_of_itself(env):
    model = Provider()
    return (
        model._get_ls_params(stop=["x"]),
        sorted(LangSmithParams.__annotations__),
        model.dict(),
        FakeListLLM(responses=["a"]).dict() == FakeListLLM(responses=["a"]).asdict(),
    )


def keep_two(left: Messages, right: Messages) -> Messages:
    return add_messages(left, right)[-2:]


class State(TypedDict):
    messages: Annotated[list[AnyMessage], keep_two]


def case_a_reducer_over_messages(env):
    builder = StateGraph(State)
    builder.add_node("bot", lambda state: {"messages": [("ai", "c")]})
    builder.add_edge(START, "bot")
    done = builder.compile().invoke({"messages": [HumanMessage("a"), HumanMessage("b")]})
    return [(each.type, each.content) for each in done["messages"]]


def letters(texts: list[str]) -> list[list[float]]:
    return [[float(text.count(letter)) for letter in "abc"] for text in texts]


def case_a_store_with_a_function_that_embeds(env):
    embed: EmbeddingsFunc = letters
    store = InMemoryStore(index={"dims": 3, "embed": embed})
    store.put(("m",), "1", {"text": "aab"})
    store.put(("m",), "2", {"text": "ccc"})
    return [each.key for each in store.search(("m",), query="cc", limit=1)]


def after(step: RunnableLike, given):
    return (RunnableLambda(len) | step).invoke(given)


def case_steps_of_all_kinds(env):
    steps = (lambda size: size + 1, {"size": lambda size: size}, RunnableLambda(str))
    return [after(step, "ab") for step in steps]
