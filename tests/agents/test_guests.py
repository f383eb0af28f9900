"""LangChain's middleware in plait's agents: what the differential programs cannot show."""

import subprocess
import sys
from importlib import import_module

import pytest

from plait.agents import create_agent
from plait.errors import ConfigError
from plait.testing.models import ScriptedChatModel

theirs = import_module("langchain.agents.middleware")
fakes = import_module("langchain_core.language_models.fake_chat_models")


def test_what_asks_by_langgraphs_interrupt_is_refused_with_the_way_out() -> None:
    asking = theirs.HumanInTheLoopMiddleware(interrupt_on={"pay": True})
    with pytest.raises(ConfigError, match=r"plait\.agents\.middleware\.HumanInTheLoopMiddleware"):
        create_agent(ScriptedChatModel(["x"]), middleware=[asking])


def test_their_transformers_are_no_part_of_plaits_streams_and_say_so() -> None:
    summing = theirs.SummarizationMiddleware(
        model=fakes.FakeListChatModel(responses=["short"]), trigger=("messages", 9)
    )
    agent = create_agent(ScriptedChatModel(["x"]), middleware=[summing])
    run = agent.stream_events({"messages": "hi"}, version="v3")
    assert run.output["messages"][-1].text == "x"

    class Streaming(theirs.AgentMiddleware):
        transformers = (lambda scope: object(),)

    agent = create_agent(ScriptedChatModel(["x"]), middleware=[Streaming()])
    assert agent.invoke({"messages": "hi"})["messages"][-1].text == "x"
    with pytest.raises(TypeError, match="no StreamTransformer"):
        agent.stream_events({"messages": "hi"}, version="v3")


def test_what_is_no_middleware_at_all_is_refused() -> None:
    with pytest.raises(ConfigError, match="no middleware"):
        create_agent(ScriptedChatModel(["x"]), middleware=[object()])


def test_an_agent_without_theirs_loads_nothing_of_langchain() -> None:
    program = (
        "import sys\n"
        "from plait.agents import create_agent\n"
        "from plait.testing.models import ScriptedChatModel\n"
        "from plait.agents.middleware import TodoListMiddleware\n"
        "agent = create_agent(ScriptedChatModel(['x']), middleware=[TodoListMiddleware()])\n"
        "agent.invoke({'messages': 'hi'})\n"
        "print([name for name in sys.modules if name.startswith(('langchain', 'langgraph'))])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert ran.stdout.strip() == "[]", ran.stderr
