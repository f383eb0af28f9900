"""An agent's own nodes find their config by themselves; what else is called in them is given it."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from plait.agents import create_agent
from plait.agents.middleware import AgentMiddleware
from plait.callbacks import BaseCallbackHandler
from plait.chat_models.fake import GenericFakeChatModel
from plait.config import get_config
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage
from plait.prebuilt import ToolNode, create_react_agent
from plait.runnables import RunnableLambda
from plait.tools import tool

CONFIG: Any = {"metadata": {"who": "Ada"}, "configurable": {"thread_id": "1"}}
ASKED = {"messages": [("user", "Hi")]}


def test_a_node_derived_from_a_tool_node_is_handed_its_config() -> None:
    seen: list[Any] = []

    class Watched(ToolNode):
        def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            seen.append(config)
            return super().invoke(input, config, **kwargs)

    @tool
    def who() -> str:
        """Who asks."""
        return get_config()["metadata"]["who"]

    call = {"name": "who", "args": {}, "id": "1"}
    builder = StateGraph(MessagesState).add_node("tools", Watched([who])).add_edge(START, "tools")
    given: Any = {"messages": [AIMessage("", tool_calls=[call])]}
    result = builder.compile().invoke(given, CONFIG)
    assert result["messages"][-1].content == "Ada"
    assert seen[0]["metadata"]["langgraph_node"] == "tools"


def test_a_model_that_is_a_chain_is_handed_the_config_of_its_task() -> None:
    seen: list[Any] = []

    def answer(messages: Any, config: Any) -> Any:
        seen.append(config["metadata"])
        return AIMessage("Hello")

    model: Any = GenericFakeChatModel(messages=iter(["Hello"])) | RunnableLambda(answer)
    create_react_agent(model, []).invoke(ASKED, CONFIG)
    assert (seen[0]["who"], seen[0]["langgraph_node"]) == ("Ada", "agent")


def test_middleware_that_asks_in_a_thread_of_its_own_is_heard() -> None:
    told: list[str] = []

    class Told(BaseCallbackHandler):
        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            told.append("start")

    class Elsewhere(AgentMiddleware[Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(handler, request).result()

    model = GenericFakeChatModel(messages=iter(["Hello", "Hello"]))
    agent = create_agent(model, middleware=[Elsewhere()])
    agent.invoke(ASKED, {"callbacks": [Told()]})
    assert told == ["start"]
    parts = agent.stream(ASKED, stream_mode="messages")
    assert "".join(part[0].content for part in parts) == "Hello"
