"""LangChain's middleware in plait's agents: what the differential programs cannot show."""

import asyncio
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from plait.agents import create_agent
from plait.agents.middleware import (
    AgentMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
)
from plait.checkpoint.memory import InMemorySaver
from plait.errors import ConfigError
from plait.messages import AIMessage
from plait.testing.models import ScriptedChatModel
from plait.tools import tool
from plait.types import Command, interrupt

theirs = import_module("langchain.agents.middleware")
fakes = import_module("langchain_core.language_models.fake_chat_models")


ASKING = """
import json, sys
from importlib import import_module
from plait.agents import create_agent
from plait.agents.middleware import (
    AgentMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
)
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.messages import AIMessage
from plait.testing.models import ScriptedChatModel
from plait.types import Command

theirs = import_module("langchain.agents.middleware")
path, script, given = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
ran = []


def pay(euro: int) -> str:
    \"\"\"Pay.\"\"\"
    ran.append(euro)
    return f"paid {euro}"


def tell(text: str) -> str:
    \"\"\"Tell.\"\"\"
    ran.append(text)
    return "told"


said = [AIMessage("", tool_calls=one) if isinstance(one, list) else one for one in script]
with SqliteSaver.from_conn_string(path) as saver:
    agent = create_agent(
        ScriptedChatModel(said),
        [pay, tell],
        middleware=[theirs.HumanInTheLoopMiddleware(interrupt_on={"pay": True, "tell": True})],
        checkpointer=saver,
    )
    message = Command(resume=given) if isinstance(given, dict) else {"messages": given}
    result = agent.invoke(message, {"configurable": {"thread_id": "1"}})
    asked = [one.value for one in result.get("__interrupt__", ())]
    texts = [(one.type, one.text) for one in result["messages"]]
print(json.dumps([asked, texts, ran]))
"""


def in_a_process_of_its_own(*arguments: Any) -> Any:
    given = [arguments[0], *map(json.dumps, arguments[1:])]
    ran = subprocess.run(
        [sys.executable, "-c", ASKING, *given], capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_their_question_is_answered_in_another_process(tmp_path: Path) -> None:
    path = str(tmp_path / "agent.sqlite")
    calls = [
        {"name": "pay", "args": {"euro": 5}, "id": "1"},
        {"name": "pay", "args": {"euro": 900}, "id": "2"},
        {"name": "tell", "args": {"text": "all"}, "id": "3"},
        {"name": "tell", "args": {"text": "Ann"}, "id": "4"},
    ]
    (asked,), _, ran = in_a_process_of_its_own(path, [calls], "go")
    assert [one["args"] for one in asked["action_requests"]] == [one["args"] for one in calls]
    assert ran == []
    decisions = [
        {"type": "approve"},
        {"type": "edit", "edited_action": {"name": "pay", "args": {"euro": 70}}},
        {"type": "reject", "message": "Not all."},
        {"type": "respond", "message": "She knows."},
    ]
    asked, texts, ran = in_a_process_of_its_own(path, ["done"], {"decisions": decisions})
    assert asked == []
    assert sorted(ran) == [5, 70]
    told = [text for kind, text in texts if kind == "tool"]
    assert len(told) == 4
    for words in ("paid 5", "paid 70", "Not all.", "She knows."):
        assert any(words in text for text in told), told
    assert texts[-1] == ["ai", "done"]


def test_one_that_asks_otherwise_is_refused_with_the_way_out() -> None:
    class Odd(theirs.HumanInTheLoopMiddleware):
        def after_model(self, state: Any, runtime: Any) -> Any:
            return None

    words = r"'Odd' .* defines after_model.* plait\.agents\.middleware\.HumanInTheLoopMiddleware"
    with pytest.raises(ConfigError, match=words):
        create_agent(ScriptedChatModel(["x"]), middleware=[Odd(interrupt_on={"pay": True})])


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


ask = import_module("langgraph.types").interrupt
write = import_module("langgraph.config").get_stream_writer


def test_functions_of_langgraphs_runs_say_what_to_call_instead() -> None:
    class Asking(theirs.AgentMiddleware):
        def before_model(self, state: Any, runtime: Any) -> Any:
            ask("Really?")

    class Failing(theirs.AgentMiddleware):
        def before_model(self, state: Any, runtime: Any) -> Any:
            raise RuntimeError("its own")

    agent = create_agent(ScriptedChatModel(["x"]), middleware=[Asking()])
    words = r"interrupt\(\) of langgraph's .* in .*Asking\.before_model.* plait\.types"
    with pytest.raises(ConfigError, match=words):
        agent.invoke({"messages": "hi"})
    agent = create_agent(ScriptedChatModel(["x"]), middleware=[Failing()])
    with pytest.raises(RuntimeError, match="its own"):
        agent.invoke({"messages": "hi"})


def test_their_stream_writer_says_what_to_call_instead() -> None:
    @theirs.wrap_model_call
    async def writing(request: Any, handler: Any) -> Any:
        write()

    agent = create_agent(ScriptedChatModel(["x"]), middleware=[writing])
    with pytest.raises(ConfigError, match=r"get_stream_writer\(\) .* plait\.config"):
        asyncio.run(agent.ainvoke({"messages": "hi"}))


def test_a_search_by_the_provider_says_which_tools_it_knows() -> None:
    def add(a: int) -> int:
        """Add."""
        return a

    search = theirs.ProviderToolSearchMiddleware(searchable_tools=["add"])
    agent = create_agent(ScriptedChatModel(["x"]), [add], middleware=[search])
    with pytest.raises(ConfigError, match=r"add It knows only .*langchain_core\.tools\.tool"):
        agent.invoke({"messages": "hi"})


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


def test_tools_of_plaits_reach_a_model_of_theirs_as_tools_of_its_own():
    """Some models make more of a tool than of a dict: ChatOpenAI a strict one, beside a schema."""
    described = import_module("langchain_core.utils.function_calling").convert_to_openai_tool
    shown: list[Any] = []

    class Guest(fakes.GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            shown.extend(tools)
            return self

    def add(a: int, b: int = 0) -> str:
        """Add."""
        return str(a + b)

    model = Guest(messages=iter(["done"]))
    given = tool(add, extras={"cache_control": {"type": "ephemeral"}})
    create_agent(model, [given, {"type": "web_search"}]).invoke({"messages": "hi"})
    one, own = shown
    assert own == {"type": "web_search"}
    assert isinstance(one, import_module("langchain_core.tools").BaseTool)
    assert one.extras == {"cache_control": {"type": "ephemeral"}}
    assert described(one, strict=True)["function"] == {
        "name": "add",
        "description": "Add.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 0}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    }


def test_errors_of_their_models_say_whether_to_try_again():
    errors = import_module("langchain_core.exceptions")

    failing: list[Exception] = []

    class Failing(fakes.GenericFakeChatModel):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            if failing:
                raise failing.pop()
            return super()._generate(*args, **kwargs)

    def answer(error: Exception) -> str:
        failing.append(error)
        model = Failing(messages=iter(["yes"]))
        agent = create_agent(model, middleware=[ModelRetryMiddleware(initial_delay=0)])
        return agent.invoke({"messages": "hi"})["messages"][-1].content

    assert answer(errors.ModelRateLimitError("slow")) == "yes"
    with pytest.raises(errors.ModelAuthenticationError):
        answer(errors.ModelAuthenticationError("no key"))


def test_a_history_too_long_for_a_writer_of_theirs_is_cut_in_the_middle():
    errors = import_module("langchain_core.exceptions")
    read: list[int] = []

    class Narrow(fakes.GenericFakeChatModel):
        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            read.append(len(messages[0].text))
            if len(read) == 1:
                raise errors.ContextOverflowError("too long")
            return super()._generate(messages, *args, **kwargs)

    writer = Narrow(messages=iter(["notes"]))
    notes = SummarizationMiddleware(writer, trigger=("messages", 9), keep=("messages", 1))
    talk = [("user", f"turn {number}") for number in range(10)]
    result = create_agent(ScriptedChatModel(["ok"]), middleware=[notes]).invoke({"messages": talk})
    assert result["messages"][0].text.endswith("notes")
    assert len(read) == 2
    assert read[1] < read[0]


def questions_in_their_hooks() -> list[Any]:
    """Middleware of theirs that handles errors, around what asks a question."""
    spare = fakes.FakeListChatModel(responses=["no"])
    return [
        [theirs.ToolRetryMiddleware(initial_delay=0)],
        [theirs.ToolErrorMiddleware(lambda error, request: "told to the model")],
        [theirs.ModelRetryMiddleware(initial_delay=0), Asks()],
        [theirs.ModelFallbackMiddleware(spare), Asks()],
    ]


class Asks(AgentMiddleware):
    """Asks before the model is asked for the first time."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        if len(request.messages) == 1:
            interrupt("may I?", response_schema=bool)
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        if len(request.messages) == 1:
            interrupt("may I?", response_schema=bool)
        return await handler(request)


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("is_async", [False, True])
def test_a_question_passes_their_middleware_that_handles_errors(number: int, is_async: bool):
    middleware = questions_in_their_hooks()[number]

    def ask(name: str) -> str:
        """Ask."""
        return f"{name}: {len(middleware) > 1 or interrupt(name, response_schema=bool)}"

    said = AIMessage("", tool_calls=[{"name": "ask", "args": {"name": "Ann"}, "id": "1"}])
    model = ScriptedChatModel([said, "Done."])
    agent = create_agent(model, [ask], middleware=middleware, checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}

    def run(given: Any) -> Any:
        return (
            asyncio.run(agent.ainvoke(given, thread)) if is_async else agent.invoke(given, thread)
        )

    assert len(run({"messages": "hi"})["__interrupt__"]) == 1
    with pytest.raises(ValueError, match="validation error"):
        run(Command(resume="nonsense"))
    texts = [one.text for one in run(Command(resume=True))["messages"]]
    assert texts == ["hi", "", "Ann: True", "Done."]
