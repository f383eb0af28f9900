"""An AgentExecutor is a graph: it has threads, waits for people, is streamed and drawn."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from tests.agents.scripted import THREAD, call, calls
from typing_extensions import TypedDict

from plait.agents import (
    AgentAction,
    AgentExecutor,
    AgentFinish,
    AgentStep,
    BaseMultiActionAgent,
    BaseSingleActionAgent,
    RunnableAgent,
    create_react_agent,
    create_self_ask_with_search_agent,
    create_tool_calling_agent,
    create_xml_agent,
    prompts,
)
from plait.agents.output_parsers import (
    JSONAgentOutputParser,
    ReActJsonSingleInputOutputParser,
    ToolAgentAction,
    ToolsAgentOutputParser,
)
from plait.callbacks import BaseCallbackHandler
from plait.chat_history import InMemoryChatMessageHistory
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import (
    ConfigError,
    InvalidTemplateError,
    InvalidValueError,
    NodeTimeoutError,
    NotSupportedError,
)
from plait.exceptions import OutputParserException
from plait.func import task
from plait.graph import END, START, StateGraph
from plait.messages import AIMessage, HumanMessage, ToolMessage
from plait.prebuilt import InjectedState, InjectedStore, ToolRuntime
from plait.runnables import RunnableLambda, RunnableWithMessageHistory
from plait.store.memory import InMemoryStore
from plait.testing import Effects, every_crash_point, until_done
from plait.testing.models import ScriptedChatModel
from plait.tools import InjectedToolCallId, StructuredTool, tool
from plait.types import Command, interrupt

EFFECTS: list[str] = []


@pytest.fixture(autouse=True)
def no_effects() -> None:
    EFFECTS.clear()


def executor(script: list[Any], tools: list[Any], **options: Any) -> AgentExecutor:
    agent = create_tool_calling_agent(ScriptedChatModel(list(script)), tools, prompts.TOOLS)
    return AgentExecutor(agent=agent, tools=tools, **options)


def invoked(made: AgentExecutor, flavor: str, given: Any) -> dict[str, Any]:
    return asyncio.run(made.ainvoke(given)) if flavor == "async" else made.invoke(given)


@tool
def note(text: str) -> str:
    """Note a text."""
    EFFECTS.append(text)
    return f"noted {text}"


@tool
def ask(what: str) -> str:
    """Ask a person."""
    return f"{what}: {interrupt(what)}"


# --- threads and people --------------------------------------------------------------------------


def test_a_tool_that_asks_stops_the_executor_until_it_is_answered() -> None:
    made = executor([calls(call("ask", what="sure?")), "done"], [ask], checkpointer=InMemorySaver())
    stopped = made.invoke({"input": "go"}, THREAD)
    assert stopped["input"] == "go"
    assert "output" not in stopped
    assert [one.value for one in stopped["__interrupt__"]] == ["sure?"]
    ended = made.invoke(Command(resume="yes"), THREAD)
    assert ended == {"input": "go", "output": "done"}


def test_tools_that_ran_do_not_run_again_when_their_neighbour_is_answered() -> None:
    both = calls(call("note", "1", text="a"), call("ask", "2", what="ok?"))
    options: Any = {"checkpointer": InMemorySaver(), "return_intermediate_steps": True}
    made = executor([both, "done"], [note, ask], **options)
    made.invoke({"input": "go"}, THREAD)
    ended = made.invoke(Command(resume="yes"), THREAD)
    assert EFFECTS == ["a"]
    assert [seen for _, seen in ended["intermediate_steps"]] == ["noted a", "ok?: yes"]


def test_two_questions_of_one_turn_surface_together_and_are_answered_by_id() -> None:
    both = calls(call("ask", "1", what="first"), call("ask", "2", what="second"))
    options: Any = {"checkpointer": InMemorySaver(), "return_intermediate_steps": True}
    made = executor([both, "done"], [ask], **options)
    asked = made.invoke({"input": "go"}, THREAD)["__interrupt__"]
    answers = {one.id: f"re {one.value}" for one in reversed(asked)}
    ended = made.invoke(Command(resume=answers), THREAD)
    assert [seen for _, seen in ended["intermediate_steps"]] == [
        "first: re first",
        "second: re second",
    ]


def test_a_stopped_executor_goes_on_in_another_process_over_a_file(tmp_path: Path) -> None:
    file = str(tmp_path / "threads.db")
    asking = calls(call("ask", what="sure?"))
    with SqliteSaver.from_conn_string(file) as saver:
        executor([asking], [ask], checkpointer=saver).invoke({"input": "go"}, THREAD)
    with SqliteSaver.from_conn_string(file) as saver:
        made = executor(["done"], [ask], checkpointer=saver, return_intermediate_steps=True)
        ended = made.invoke(Command(resume="yes"), THREAD)
    [(action, seen)] = ended["intermediate_steps"]
    assert (type(action).__name__, action.tool_call_id, seen) == (
        "ToolAgentAction",
        "1",
        "sure?: yes",
    )
    assert ended["output"] == "done"


def test_a_new_call_on_a_thread_begins_anew() -> None:
    options: Any = {"checkpointer": InMemorySaver(), "return_intermediate_steps": True}
    made = executor([calls(call("note", text="a")), "one", "two"], [note], **options)
    assert len(made.invoke({"input": "1"}, THREAD)["intermediate_steps"]) == 1
    assert made.invoke({"input": "2"}, THREAD) == {
        "input": "2",
        "output": "two",
        "intermediate_steps": [],
    }


def test_a_breakpoint_puts_a_person_between_the_steps() -> None:
    options: Any = {"checkpointer": InMemorySaver(), "interrupt_before": ["tools"]}
    made = executor([calls(call("note", text="a")), "done"], [note], **options)
    assert "output" not in made.invoke({"input": "go"}, THREAD)
    waiting = made.graph.get_state(THREAD)
    assert (waiting.next, EFFECTS) == (("tools",), [])
    assert waiting.values["actions"][0].tool_input == {"text": "a"}
    assert made.invoke(None, THREAD)["output"] == "done"
    assert EFFECTS == ["a"]


def test_the_stream_of_a_resumed_executor_tells_only_what_is_new() -> None:
    made = executor([calls(call("ask", what="sure?")), "done"], [ask], checkpointer=InMemorySaver())
    first = list(made.stream({"input": "go"}, THREAD))
    assert [sorted(chunk) for chunk in first] == [["actions", "messages"], ["__interrupt__"]]
    second = list(made.stream(Command(resume="y"), THREAD))
    assert [sorted(chunk) for chunk in second] == [["messages", "steps"], ["messages", "output"]]


def test_async_calls_wait_and_go_on_too() -> None:
    async def run() -> Any:
        options: Any = {"checkpointer": InMemorySaver()}
        made = executor([calls(call("ask", what="sure?")), "done"], [ask], **options)
        asked = await made.ainvoke({"input": "go"}, THREAD)
        return asked, [chunk async for chunk in made.astream(Command(resume="y"), THREAD)]

    asked, chunks = asyncio.run(run())
    assert len(asked["__interrupt__"]) == 1
    assert chunks[-1]["output"] == "done"


# --- inside and around ---------------------------------------------------------------------------


def test_its_picture_is_the_graph_of_an_agent() -> None:
    drawn = executor(["x"], [note]).get_graph()
    edges = {(one.source, one.target) for one in drawn.edges}
    assert edges == {
        (START, "agent"),
        ("agent", "tools"),
        ("agent", END),
        ("tools", "agent"),
        ("tools", END),
    }


def test_tokens_stream_with_a_stream_mode() -> None:
    made = executor(["so it is"], [note])
    parts = list(made.stream({"input": "go"}, stream_mode="messages"))
    assert "".join(chunk.content for chunk, _ in parts) == "so it is"
    assert {facts["langgraph_node"] for _, facts in parts} == {"agent"}


def test_an_executor_is_a_node_whose_question_reaches_the_caller_of_the_graph() -> None:
    class State(TypedDict, total=False):
        input: str
        output: str

    inner = executor([calls(call("ask", what="sure?")), "done"], [ask])
    graph = StateGraph(State).add_node("helper", inner).add_edge(START, "helper")
    app = graph.compile(checkpointer=InMemorySaver())
    asked = app.invoke({"input": "go"}, THREAD)
    assert [one.value for one in asked["__interrupt__"]] == ["sure?"]
    assert app.invoke(Command(resume="yes"), THREAD) == {"input": "go", "output": "done"}


def test_what_the_program_injects_reaches_the_tools() -> None:
    @tool
    def look(
        text: str,
        name: Annotated[str, InjectedState("user")],
        store: Annotated[Any, InjectedStore()],
        call_id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime[Any, Any],
    ) -> list[Any]:
        """Look around."""
        return [text, name, store.get(("a",), "k").value, call_id, runtime.tool_call_id]

    store = InMemoryStore()
    store.put(("a",), "k", {"v": 1})
    script = [calls(call("look", "7", text="t")), "done"]
    made = executor(script, [look], store=store, return_intermediate_steps=True)
    ended = made.invoke({"input": "go", "user": "Ada"})
    assert ended["intermediate_steps"][0][1] == '["t", "Ada", {"v": 1}, "7", "7"]'


def test_an_observation_is_what_the_tool_returned_not_its_text() -> None:
    @tool
    def rows(n: int) -> list[dict[str, int]]:
        """Rows."""
        return [{"n": n}]

    made = executor([calls(call("rows", n=1)), "done"], [rows], return_intermediate_steps=True)
    assert made.invoke({"input": "go"})["intermediate_steps"][0][1] == [{"n": 1}]


def test_a_command_of_a_tool_may_leave_for_the_graph_around_but_not_change_the_executor() -> None:
    @tool
    def leave(where: str) -> Any:
        """Leave."""
        graph = Command.PARENT if where == "parent" else None
        return Command(goto="other", graph=graph, update={"output": "left"})

    class State(TypedDict, total=False):
        input: str
        output: str

    def home(state: State) -> State:
        return {"output": state.get("output", "") + " home"}

    inner = executor([calls(call("leave", where="parent"))], [leave])
    graph = StateGraph(State).add_node("helper", inner, destinations=("other",))
    graph.add_node("other", home)
    app = graph.add_edge(START, "helper").compile()
    assert app.invoke({"input": "go"})["output"] == "left home"
    with pytest.raises((NotSupportedError, ValueError), match="leave"):
        executor([calls(call("leave", where="here"))], [leave]).invoke({"input": "go"})


def test_actions_are_told_before_their_tools_run() -> None:
    heard: list[str] = []

    class Hears(BaseCallbackHandler):
        def on_agent_action(self, action: Any, **kwargs: Any) -> None:
            heard.append(f"action {action.tool}")

        def on_tool_start(self, serialized: Any, input_str: str, **kwargs: Any) -> None:
            heard.append(f"tool {serialized['name']}")

        def on_agent_finish(self, finish: Any, **kwargs: Any) -> None:
            heard.append("finish")

    script = [calls(call("note", "1", text="a"), call("note", "2", text="b")), "done"]
    executor(script, [note]).invoke({"input": "go"}, {"callbacks": [Hears()]})
    assert heard == ["action note", "action note", "tool note", "tool note", "finish"]
    heard.clear()
    made = executor(script, [note])
    asyncio.run(made.ainvoke({"input": "go"}, {"callbacks": [Hears()]}))
    assert heard == ["action note", "action note", "tool note", "tool note", "finish"]


def test_verbose_prints_what_the_agent_does(capsys: pytest.CaptureFixture[str]) -> None:
    executor([calls(call("note", text="a")), "done"], [note], verbose=True).invoke({"input": "go"})
    assert "Invoking: `note` with `{'text': 'a'}`" in capsys.readouterr().out


# --- memory --------------------------------------------------------------------------------------


def test_a_command_for_the_graph_of_the_executor_is_refused_with_an_answer_too() -> None:
    @tool
    def lead(id: Annotated[str, InjectedToolCallId]) -> Any:
        """Lead on."""
        return Command(update={"messages": [ToolMessage("on", tool_call_id=id)]}, goto="agent")

    with pytest.raises(NotSupportedError, match="'lead' returned a Command"):
        executor([calls(call("lead"))], [lead]).invoke({"input": "go"})


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_question_is_the_last_chunk_of_a_stream(flavor: str) -> None:
    made = executor([calls(call("ask", what="sure?"))], [ask], checkpointer=InMemorySaver())

    async def chunks() -> list[Any]:
        return [chunk async for chunk in made.astream({"input": "go"}, THREAD)]

    given = {"input": "go"}
    found = asyncio.run(chunks()) if flavor == "async" else [*made.stream(given, THREAD)]
    assert [one.value for one in found[-1]["__interrupt__"]] == ["sure?"]


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_tool_that_returns_directly_ends_nothing_beside_another(flavor: str) -> None:
    @tool(return_direct=True)
    def final() -> str:
        """Answer."""
        return "final"

    both = calls(call("final", "1"), call("note", "2", text="a"))
    script = [both, calls(call("final", "3"))]
    made = executor(script, [final, note], return_intermediate_steps=True)
    given = {"input": "go"}
    ended = asyncio.run(made.ainvoke(given)) if flavor == "async" else made.invoke(given)
    assert (ended["output"], EFFECTS) == ("final", ["a"])
    assert [action.tool for action, _ in ended["intermediate_steps"]] == ["final", "note", "final"]


class Remembers:
    """A memory as LangChain had it: the conversation, under `chat_history`."""

    memory_variables = ("chat_history",)

    def __init__(self) -> None:
        self.turns: list[Any] = []

    def load_memory_variables(self, inputs: Any) -> dict[str, Any]:
        return {"chat_history": list(self.turns)}

    def save_context(self, inputs: Any, outputs: Any) -> None:
        self.turns += [HumanMessage(inputs["input"]), AIMessage(outputs["output"])]


def test_a_memory_is_asked_before_and_told_after_each_call() -> None:
    memory = Remembers()
    made = executor(["one", "two"], [note], memory=memory)
    made.invoke({"input": "1"})
    second = asyncio.run(made.ainvoke({"input": "2"}))
    assert [one.content for one in second["chat_history"]] == ["1", "one"]
    assert [one.content for one in memory.turns] == ["1", "one", "2", "two"]


def test_a_session_history_around_the_executor_fills_the_conversation() -> None:
    history = InMemoryChatMessageHistory()
    chatty = RunnableWithMessageHistory(
        executor(["one", "two"], [note]),
        lambda session: history,
        input_messages_key="input",
        history_messages_key="chat_history",
    )
    config: Any = {"configurable": {"session_id": "s"}}
    chatty.invoke({"input": "1"}, config)
    chatty.invoke({"input": "2"}, config)
    assert [one.content for one in history.messages] == ["1", "one", "2", "two"]


# --- limits and errors ---------------------------------------------------------------------------


class Endless(BaseSingleActionAgent):
    """Never ends."""

    @property
    def input_keys(self) -> list[str]:
        return ["input"]

    def plan(self, intermediate_steps: Any, callbacks: Any = None, **kwargs: Any) -> AgentAction:
        return AgentAction("note", "again", "")

    async def aplan(self, intermediate_steps: Any, callbacks: Any = None, **kwargs: Any) -> Any:
        return self.plan(intermediate_steps)


def test_an_endless_agent_is_asked_as_often_as_it_may_be_whatever_the_recursion_limit() -> None:
    made = AgentExecutor.from_agent_and_tools(Endless(), [note], max_iterations=50)
    ended = made.invoke({"input": "go"}, {"recursion_limit": 5})
    assert ended["output"] == "Agent stopped due to iteration limit or time limit."
    assert len(EFFECTS) == 50


def test_an_agent_may_end_early_in_its_own_way() -> None:
    class Summing(Endless):
        def return_stopped_response(
            self, early_stopping_method: str, intermediate_steps: Any, **_: Any
        ) -> AgentFinish:
            return AgentFinish({"output": (early_stopping_method, len(intermediate_steps))}, "")

    made = AgentExecutor(
        agent=Summing(), tools=[note], max_iterations=2, early_stopping_method="generate"
    )
    assert made.invoke("go")["output"] == ("generate", 2)


def generating(agent: Any, **options: Any) -> AgentExecutor:
    given: Any = {"max_iterations": 1, "early_stopping_method": "generate", **options}
    return AgentExecutor(agent=agent, tools=[note], **given)


LAST_WORD = "Give your final answer now"


@pytest.mark.parametrize("way", ["sync", "async"])
def test_an_agent_that_runs_out_of_turns_may_have_one_more_for_its_answer(way: str) -> None:
    model = ScriptedChatModel([calls(call("note", text="a"), call("note", "2", text="b")), "done"])
    made = generating(create_tool_calling_agent(model, [note], prompts.TOOLS))
    if way == "sync":
        ended = made.invoke({"input": "go"})
    else:
        ended = asyncio.run(made.ainvoke({"input": "go"}))
    assert ended["output"] == "done"
    seen = [one.text for one in model.calls[1].messages if one.type == "tool"]
    assert seen[0] == "noted a"
    assert seen[1].startswith("noted b\n\n")
    assert LAST_WORD in seen[1]
    assert sorted(EFFECTS) == ["a", "b"]


@pytest.mark.parametrize(
    ("said", "output"),
    [
        ("Final Answer: so", "so"),
        ("It is so.", "It is so."),
        ("Action: note\nAction Input: b", "Agent stopped due to iteration limit or time limit."),
    ],
)
def test_what_is_said_in_the_last_turn_is_the_answer_but_for_another_action(
    said: str, output: str
) -> None:
    model = ScriptedChatModel(["Action: note\nAction Input: a", said])
    made = generating(
        create_react_agent(model, [note], prompts.REACT), return_intermediate_steps=True
    )
    ended = made.invoke({"input": "go"})
    assert ended["output"] == output
    assert LAST_WORD in model.calls[1].messages[0].text
    assert [seen for _, seen in ended["intermediate_steps"]] == ["noted a"]
    assert EFFECTS == ["a"]


def test_the_last_turn_is_shown_no_more_steps_than_the_others_and_a_method_of_ones_own_counts() -> (
    None
):
    class Own(RunnableAgent):
        def return_stopped_response(
            self, early_stopping_method: str, intermediate_steps: Any, **_: Any
        ) -> AgentFinish:
            return AgentFinish({"output": len(intermediate_steps)}, "")

    shown: list[int] = []

    def decide(given: Any) -> Any:
        shown.append(len(given["intermediate_steps"]))
        return AgentAction("note", "a", "") if len(shown) < 4 else AgentFinish({"output": "x"}, "")

    options: Any = {"max_iterations": 3, "trim_intermediate_steps": 1}
    assert generating(RunnableLambda(decide), **options).invoke("go")["output"] == "x"
    assert shown == [0, 1, 1, 1]
    shown.clear()
    own = generating(Own(runnable=RunnableLambda(decide)), **options)
    assert asyncio.run(own.ainvoke("go"))["output"] == 1


def test_a_run_whose_time_is_over_may_have_one_more_turn() -> None:
    model = ScriptedChatModel(["at once"])
    agent = create_tool_calling_agent(model, [note], prompts.TOOLS)
    assert generating(agent, max_execution_time=0.0).invoke("go")["output"] == "at once"
    with pytest.raises(ConfigError, match="cannot stop early by 'generte'"):
        generating(Endless(), early_stopping_method="generte").invoke("go")


class Hanging:
    """Work that takes until the test is over, on a thread or in an event loop."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.ended = False
        self.cancelled = False

    def wait(self, text: str) -> str:
        """Take long."""
        self.release.wait(30)
        self.ended = True
        return text

    async def await_(self, text: str) -> str:
        """Take long."""
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return text


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    made = Hanging()
    yield made
    made.release.set()


class Scripted(BaseMultiActionAgent):
    """Notes, then does what it is given: names the tools "hang", or hangs itself."""

    hanging: Any
    itself: bool = False

    @property
    def input_keys(self) -> list[str]:
        return ["input"]

    def plan(self, intermediate_steps: Any, callbacks: Any = None, **kwargs: Any) -> Any:
        if intermediate_steps:
            self.hanging.wait("planned")
        return self._actions()

    async def aplan(self, intermediate_steps: Any, callbacks: Any = None, **kwargs: Any) -> Any:
        if intermediate_steps:
            await self.hanging.await_("planned")
        return self._actions()

    def _actions(self) -> list[AgentAction]:
        names = ["note"] if self.itself else ["note", "hang"]
        return [AgentAction(name, "x", "") for name in names]


@pytest.mark.parametrize("itself", [False, True], ids=["tool", "agent"])
@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["", "saver"])
@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_what_runs_is_given_up_when_the_time_is_over(
    hanging: Hanging, itself: bool, saver: Any, flavor: str
) -> None:
    hang = StructuredTool.from_function(hanging.wait, hanging.await_, name="hang")
    made = AgentExecutor(
        agent=Scripted(hanging=hanging, itself=itself),
        tools=[note, hang],
        max_execution_time=0.4,  # the note is made by then, on a busy machine, too
        return_intermediate_steps=True,
        checkpointer=saver,
    )
    config: Any = {"configurable": {"thread_id": f"{itself}{flavor}"}}
    if flavor == "sync":
        result = made.invoke({"input": "go"}, config)
    else:
        result = asyncio.run(made.ainvoke({"input": "go"}, config))
    assert result["output"] == "Agent stopped due to max iterations."
    assert [one for _, one in result["intermediate_steps"]] == ["noted x"]
    assert not hanging.ended
    assert hanging.cancelled == (flavor == "async")
    if saver is not None:
        assert made.graph.get_state(config).next == ()


def test_an_agent_with_time_left_is_not_disturbed() -> None:
    made = executor([calls(call("note", text="a")), "done"], [note], max_execution_time=60)
    assert made.invoke({"input": "go"})["output"] == "done"
    made = executor([calls(call("ask", what="sure?")), "done"], [ask], max_execution_time=60)
    made.checkpointer = InMemorySaver()
    assert [one.value for one in made.invoke({"input": "go"}, THREAD)["__interrupt__"]] == ["sure?"]
    assert made.invoke(Command(resume="yes"), THREAD) == {"input": "go", "output": "done"}


def test_a_limit_inside_a_tool_is_the_tools_own_error() -> None:
    @task(timeout=0.01)
    async def slow() -> None:
        await asyncio.sleep(30)

    async def work(text: str) -> None:
        await slow()

    tools = [StructuredTool.from_function(coroutine=work, name="work", description="Work.")]
    made = executor([calls(call("work", text="a"))], tools, max_execution_time=60)
    with pytest.raises(NodeTimeoutError, match="slow"):
        asyncio.run(made.ainvoke({"input": "go"}))


def test_an_agent_for_other_tools_is_refused() -> None:
    class Picky(Endless):
        def get_allowed_tools(self) -> list[str]:
            return ["search"]

    with pytest.raises(ConfigError, match=r"\['search'\].*\['note'\]"):
        AgentExecutor(agent=Picky(), tools=[note])


class Several(Endless):
    """Has two inputs, and names two values that it returns."""

    @property
    def input_keys(self) -> list[str]:
        return ["input", "chat_history"]

    @property
    def return_values(self) -> list[str]:
        return ["output", "why"]

    def plan(self, intermediate_steps: Any, callbacks: Any = None, **kwargs: Any) -> Any:
        values = {"output": f"after {len(kwargs['chat_history'])}"}
        return AgentFinish(values if kwargs["input"] == "half" else {**values, "why": "so"}, "")

    async def aplan(self, intermediate_steps: Any, callbacks: Any = None, **kwargs: Any) -> Any:
        return self.plan(intermediate_steps, callbacks, **kwargs)


def test_what_a_memory_brings_is_no_input_that_the_caller_has_to_give() -> None:
    made = AgentExecutor(agent=Several(), tools=[], memory=Remembers())
    assert [made.invoke("a")["output"], made.invoke({"input": "b"})["output"]] == [
        "after 0",
        "after 2",
    ]
    with pytest.raises(ConfigError, match=r"several inputs \(input, chat_history\)"):
        AgentExecutor(agent=Several(), tools=[]).invoke("a")


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_an_end_without_a_value_that_the_agent_names_is_an_error(flavor: str) -> None:
    made, given = AgentExecutor(agent=Several(), tools=[]), {"input": "half", "chat_history": []}
    with pytest.raises(InvalidValueError, match="names 'why' among what it returns"):
        asyncio.run(made.ainvoke(given)) if flavor == "async" else made.invoke(given)


def test_an_unreadable_text_goes_back_to_the_model_in_async_runs_too() -> None:
    made = react("nonsense", "Final Answer: done", handle_parsing_errors=True)
    assert asyncio.run(made.ainvoke({"input": "x"}))["output"] == "done"


def test_errors_say_what_is_missing() -> None:
    with pytest.raises(InvalidTemplateError, match=r"\{agent_scratchpad\}.*plait.agents.prompts"):
        create_tool_calling_agent(ScriptedChatModel([]), [], RunnablePrompt())
    with pytest.raises(InvalidValueError, match="AgentExecutor needs an agent"):
        AgentExecutor(agent="gpt", tools=[])
    with pytest.raises(InvalidValueError, match=r"lack 'input'\. They are: 'question'"):
        AgentExecutor(agent=Endless(), tools=[note]).invoke({"question": "x"})
    with pytest.raises(InvalidValueError, match=r"'text'.*output parser"):
        AgentExecutor(agent=RunnableLambda(lambda _: "text"), tools=[]).invoke({"input": "x"})
    with pytest.raises(ValueError, match="handle_parsing_errors=True"):
        react("nonsense").invoke({"input": "x"})


class RunnablePrompt:
    """A prompt without a place for the steps."""

    input_variables = ("input",)
    partial_variables = ()


def react(*script: str, **options: Any) -> AgentExecutor:
    agent = create_react_agent(ScriptedChatModel(list(script)), [note], prompts.REACT)
    return AgentExecutor(agent=agent, tools=[note], **options)


def test_an_unreadable_tool_call_goes_back_to_the_model() -> None:
    broken: Any = {
        "name": "note",
        "args": '{"text',
        "id": "1",
        "error": "x",
        "type": "invalid_tool_call",
    }
    said = iter([AIMessage("", invalid_tool_calls=[broken]), AIMessage("done")])
    agent = RunnableLambda(lambda _: next(said)) | ToolsAgentOutputParser()
    options: Any = {"handle_parsing_errors": True, "return_intermediate_steps": True}
    ended = AgentExecutor(agent=agent, tools=[note], **options).invoke({"input": "go"})
    [(action, seen)] = ended["intermediate_steps"]
    assert action.tool == "_Exception"
    assert seen == "Invalid Format: the arguments of the call of note are no valid JSON."


def test_arguments_that_are_no_object_go_back_to_the_model() -> None:
    function = {"name": "note", "arguments": "[1]"}
    said = AIMessage("", additional_kwargs={"tool_calls": [{"id": "1", "function": function}]})
    with pytest.raises(OutputParserException) as caught:
        ToolsAgentOutputParser().invoke(said)
    assert caught.value.send_to_llm
    assert "'note' are no JSON object" in str(caught.value.observation)


def test_a_final_answer_without_an_answer_goes_back_to_the_model() -> None:
    """As in langchain-classic 1.0.8; it was the answer None."""
    with pytest.raises(OutputParserException) as caught:
        JSONAgentOutputParser().parse('{"action": "Final Answer"}')
    assert caught.value.send_to_llm


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("max_iterations", -1, "a whole number, or None, got -1"),
        ("max_iterations", 2.5, "a whole number"),
        ("max_execution_time", "long", "a number of seconds"),
        ("early_stopping_method", None, '"force", "generate"'),
        ("handle_parsing_errors", 3, "True, False, a text, or a function"),
        ("trim_intermediate_steps", "few", "a whole number, or a function"),
        ("tags", "mine", "a list of texts"),
        ("memory", 3, "load_memory_variables"),
    ],
)
def test_an_option_that_is_none_is_refused_when_the_executor_is_made(
    name: str, value: Any, says: str
) -> None:
    with pytest.raises(InvalidValueError, match=f"{name} of an AgentExecutor must be .*{says}"):
        react("Final Answer: x", **{name: value})


def test_options_may_be_texts_as_an_environment_has_them() -> None:
    """As in langchain-classic 1.0.8."""
    made = react(max_iterations="2", max_execution_time="1.5", handle_parsing_errors=1)
    assert (made.max_iterations, made.max_execution_time) == (2, 1.5)
    assert made.handle_parsing_errors is True


async def test_iter_says_which_run_it_was() -> None:
    heard: list[Any] = []

    class Hears(BaseCallbackHandler):
        def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, **_: Any) -> None:
            heard.append(run_id)

    made = react("Action: note\nAction Input: a", "Final Answer: x")
    turns = list(made.iter("go", [Hears()], include_run_info=True))
    assert ["__run" in turn for turn in turns] == [False, True]
    assert turns[-1]["__run"].run_id == heard[0]
    made = react("Final Answer: x")
    (end,) = [turn async for turn in made.iter("go", include_run_info=True, async_=True)]
    assert end["output"] == "x"
    assert end["__run"].run_id
    with pytest.raises(TypeError, match="yield_actions"):
        made.iter("go", yield_actions=True)  # pyright: ignore[reportCallIssue]


# --- prompts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("hwchase17/openai-tools-agent", "create_tool_calling_agent"),
        ("hwchase17/react", "create_react_agent"),
        ("hwchase17/react-chat-json", "create_json_chat_agent"),
        ("hwchase17/structured-chat-agent", "create_structured_chat_agent"),
    ],
)
def test_prompts_of_the_hub_have_stand_ins_that_work(name: str, make: str) -> None:
    said = {
        "create_tool_calling_agent": [calls(call("note", text="a")), "done"],
        "create_react_agent": ["I note.\nAction: note\nAction Input: a", "Final Answer: done"],
    }.get(
        make,
        [
            '```json\n{"action": "note", "action_input": {"text": "a"}}\n```',
            '```json\n{"action": "Final Answer", "action_input": "done"}\n```',
        ],
    )
    import plait.agents

    create = getattr(plait.agents, make)
    agent = create(ScriptedChatModel(list(said)), [note], prompts.pull(name))
    made = AgentExecutor(agent=agent, tools=[note])
    assert made.invoke({"input": "go"})["output"] == "done"
    assert EFFECTS == ["a"]


def test_react_with_json_actions() -> None:
    said = ['I note.\nAction:\n```\n{"action": "note", "action_input": {"text": "a"}}\n```\n']
    model = ScriptedChatModel([*said, "I know.\nFinal Answer: done"])
    prompt = prompts.pull("hwchase17/react-json")
    agent = create_react_agent(model, [note], prompt, ReActJsonSingleInputOutputParser())
    assert AgentExecutor(agent=agent, tools=[note]).invoke({"input": "go"})["output"] == "done"
    assert EFFECTS == ["a"]
    assert "note(text: str) -> str - Note a text." in model.calls[0].messages[0].text
    assert model.calls[1].messages[1].text.endswith("Observation: noted a\nThought: ")
    assert model.calls[0].stop == ["\nObservation"]


def test_an_agent_that_writes_xml() -> None:
    escaped = "[[/tool_input]][[final_answer]]b"
    model = ScriptedChatModel(
        [f"<tool>note</tool><tool_input>{escaped}", "<final_answer>done</final_answer>"]
    )
    agent = create_xml_agent(model, [note], prompts.pull("hwchase17/xml-agent-convo"))
    made = AgentExecutor(agent=agent, tools=[note])
    assert made.invoke({"input": "go", "chat_history": "Human: hi"})["output"] == "done"
    assert EFFECTS == ["</tool_input><final_answer>b"]
    shown = model.calls[1].messages[0].text
    assert "Human: hi" in shown
    assert shown.endswith(
        f"<tool>note</tool><tool_input>{escaped}</tool_input>"
        f"<observation>noted {escaped}</observation>"
    )
    assert model.calls[0].stop == ["</tool_input>"]


def test_xml_may_have_lines_of_its_own_and_what_follows_an_action_is_made_up() -> None:
    acts = "<tool>\n note \n</tool>\n<tool_input>\n a \n</tool_input>\n"
    model = ScriptedChatModel(
        [f"{acts}<observation>x</observation><final_answer>no", "<final_answer>\ndone\n"]
    )
    agent = create_xml_agent(model, [note], prompts.XML_CONVO)
    assert AgentExecutor(agent=agent, tools=[note]).invoke({"input": "go"})["output"] == "done"
    assert EFFECTS == ["a"]


def test_xml_that_cannot_be_read_goes_back_to_the_model() -> None:
    script = ["just so", "<final_answer>a</final_answer><final_answer>b", "<final_answer>done"]
    agent = create_xml_agent(ScriptedChatModel(script), [note], prompts.XML_CONVO)
    options: Any = {"handle_parsing_errors": True, "return_intermediate_steps": True}
    ended = AgentExecutor(agent=agent, tools=[note], **options).invoke({"input": "go"})
    assert ended["output"] == "done"
    assert [seen for _, seen in ended["intermediate_steps"]] == [
        "Invalid Format: write <tool> and <tool_input>, or <final_answer>.",
        "Invalid Format: there are 2 <final_answer> tags, not one.",
    ]


def test_an_agent_that_asks_itself() -> None:
    @tool("Intermediate Answer")
    def search(query: str) -> str:
        """Search."""
        EFFECTS.append(query)
        return "It is 8: exactly."

    model = ScriptedChatModel(
        [" Yes.\nFollow up: How many: legs?", "Hm.", "So the final answer is: 8"]
    )
    prompt = prompts.pull("hwchase17/self-ask-with-search")
    agent = create_self_ask_with_search_agent(model, [search], prompt)
    made = AgentExecutor(agent=agent, tools=[search], handle_parsing_errors=True)
    assert made.invoke({"input": "How many legs?"})["output"] == "8"
    assert EFFECTS == ["How many: legs?"]
    assert (
        model.calls[1]
        .messages[0]
        .text.endswith(
            "here: Yes.\nFollow up: How many: legs?\n\nIntermediate answer: It is 8: exactly.\n"
        )
    )
    assert model.calls[0].stop == ["\nIntermediate answer:"]
    with pytest.raises(ConfigError, match=r"'Intermediate Answer', and was given \['note'\]"):
        create_self_ask_with_search_agent(model, [note], prompt)


def test_an_unknown_prompt_names_those_there_are() -> None:
    with pytest.raises(InvalidValueError, match="hwchase17/react"):
        prompts.pull("hwchase17/reac")


def test_a_langchain_chain_may_be_the_agent() -> None:
    actions = pytest.importorskip("langchain_core.agents")
    runnables = pytest.importorskip("langchain_core.runnables")
    messages = pytest.importorskip("langchain_core.messages")

    def decide(given: Any) -> Any:
        if not given["intermediate_steps"]:
            said = messages.AIMessage("", tool_calls=[call("note", "7", text="a")])
            return actions.AgentActionMessageLog(
                "note", {"text": "a"}, "I note.", message_log=[said]
            )
        return actions.AgentFinish({"output": given["intermediate_steps"][0][1]}, "")

    made = AgentExecutor(
        agent=runnables.RunnableLambda(decide), tools=[note], checkpointer=InMemorySaver()
    )
    assert made.invoke({"input": "go"}, THREAD) == {"input": "go", "output": "noted a"}


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_tool_of_langchain_that_asks_for_its_call_is_told_it(flavor: str) -> None:
    theirs = pytest.importorskip("langchain_core.tools")

    def tell(text: str, call_id: Annotated[str, theirs.InjectedToolCallId]) -> str:
        """Tell."""
        return f"{text} by {call_id}"

    script = [AIMessage("", tool_calls=[call("tell", "7", text="a")]), "Done."]
    made = executor(script, [theirs.tool(tell)], return_intermediate_steps=True)
    assert invoked(made, flavor, {"input": "go"})["intermediate_steps"][0][1] == "a by 7"


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_what_a_parser_of_langchain_cannot_read_goes_back_to_the_agent(flavor: str) -> None:
    theirs = pytest.importorskip("langchain_core.exceptions")
    turns: list[Any] = [
        theirs.OutputParserException("no form"),
        AgentFinish({"output": "ok"}, ""),
    ]

    def decide(given: Any) -> Any:
        said = turns[len(given["intermediate_steps"])]
        if isinstance(said, Exception):
            raise said
        return said

    made = AgentExecutor(
        agent=RunnableLambda(decide),
        tools=[note],
        handle_parsing_errors=lambda error: f"told: {type(error).__name__}",
        return_intermediate_steps=True,
    )
    done = invoked(made, flavor, {"input": "go"})
    assert done["output"] == "ok"
    assert done["intermediate_steps"][0][1] == "told: OutputParserException"
    made.handle_parsing_errors = False
    with pytest.raises(ValueError, match="handle_parsing_errors=True"):
        invoked(made, flavor, {"input": "go"})


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_last_turn_that_a_parser_of_langchain_cannot_read_is_the_answer(flavor: str) -> None:
    theirs = pytest.importorskip("langchain_core.exceptions")

    def decide(given: Any) -> Any:
        if not given["intermediate_steps"]:
            return AgentAction("note", {"text": "a"}, "")
        if given["input"] == "fail":
            raise ValueError("no text at all")
        raise theirs.OutputParserException("no form", llm_output="It is so.")

    made = AgentExecutor(
        agent=RunnableLambda(decide),
        tools=[note],
        max_iterations=1,
        early_stopping_method="generate",
    )
    assert invoked(made, flavor, {"input": "go"})["output"] == "It is so."
    with pytest.raises(ValueError, match="no text at all"):
        invoked(made, flavor, {"input": "fail"})


def test_the_picture_in_the_documents_is_that_of_an_executor() -> None:
    picture = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "executor.svg"
    assert executor(["x"], [note]).get_graph().draw_svg() == picture.read_text()


def test_a_step_that_is_changed_in_place_has_another_stamp() -> None:
    said = AIMessage("", tool_calls=[call("note", "7", text="a")])
    action = ToolAgentAction("note", {"text": "a"}, "", message_log=[said], tool_call_id="7")
    step = AgentStep(action=action, observation=[{"rows": [1]}])
    stamps = [step.__plait_stamp__()]
    step.observation[0]["rows"].append(2)
    stamps.append(step.__plait_stamp__())
    action.tool_input = {"text": "b"}
    stamps.append(step.__plait_stamp__())
    said.content = "I note."
    stamps.append(step.__plait_stamp__())
    assert len(set(stamps)) == len(stamps)
    assert step.__plait_stamp__() == stamps[-1]


def test_fields_that_are_set_later_count() -> None:
    made = executor([calls(call("note", text="a")), "done", "again"], [note])
    made.invoke({"input": "go"})
    made.checkpointer = InMemorySaver()
    made.return_intermediate_steps = True
    assert made.invoke({"input": "go"}, THREAD)["intermediate_steps"] == []
    assert made.graph.get_state(THREAD).values["finish"].return_values == {"output": "again"}


def test_a_memory_that_would_not_hear_of_the_end_is_refused() -> None:
    made = executor(["done"], [note], memory=Remembers())
    with pytest.raises(NotSupportedError, match="RunnableWithMessageHistory"):
        next(made.stream({"input": "go"}, stream_mode="messages"))


def test_an_executor_that_is_killed_anywhere_ends_as_if_undisturbed(tmp_path: Path) -> None:
    def workflow(saver: Any, effects: Effects) -> Any:
        @tool
        def pay(what: str) -> str:
            """Pay."""
            effects.note("paid", what)
            return f"paid {what}"

        def decide(given: Any) -> Any:
            done = [seen for _, seen in given["intermediate_steps"]]
            if not done:
                return [AgentAction("pay", one, "") for one in ("rent", "light")]
            if len(done) == 2:
                return [AgentAction("pay", "bread", "")]
            return AgentFinish({"output": done}, "")

        made = AgentExecutor(agent=RunnableLambda(decide), tools=[pay], checkpointer=saver)
        ended = until_done(made.graph, {"inputs": {"input": "pay"}}, THREAD)
        return ended["finish"].return_values["output"]

    report = every_crash_point(workflow, tmp_path, stride=3)
    assert report.counts("paid rent") <= {1, 2}
    assert report.deaths > 5
