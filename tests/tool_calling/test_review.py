"""Tools that ask before they run: what runs, how often, and what the question leaves out."""

import asyncio
from functools import partial
from typing import Annotated, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool as LangChainTool
from langchain_core.tools import InjectedToolCallId as TheirInjectedToolCallId
from langchain_core.tools import Tool as LangChainOneText
from langchain_core.tools import tool as langchain_tool
from langgraph.prebuilt import InjectedState as TheirInjectedState

from plait.checkpoint.memory import InMemorySaver
from plait.errors import ConfigError, InvalidDecisionError, ToolDefinitionError
from plait.func import entrypoint, task
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage
from plait.prebuilt import InjectedState, ToolNode, ToolRuntime
from plait.tool_calling import human_in_the_loop, human_in_the_loop_async
from plait.tools import BaseTool, InjectedToolCallId, Tool, tool
from plait.types import Command, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
YES = {"type": "accept"}


def call_of(name, id="c1", **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def message(*calls):
    return {"messages": [AIMessage("", id="ai", tool_calls=list(calls))]}


def graph(*tools, **options):
    node = ToolNode(tools, **options)
    return (
        StateGraph(MessagesState)
        .add_node("tools", node)
        .add_edge(START, "tools")
        .compile(checkpointer=InMemorySaver())
    )


def told(result):
    return {m.tool_call_id: m.content for m in result["messages"] if m.type == "tool"}


def shown(question):
    return question.value["action_request"]["args"]


def test_an_approved_tool_runs_once_while_the_calls_beside_it_still_wait():
    ran = []

    @human_in_the_loop
    def pay(euro: int) -> str:
        """Pay."""
        ran.append(euro)
        return f"paid {euro}"

    app = graph(pay)
    calls = [call_of("pay", f"c{euro}", euro=euro) for euro in range(4)]
    for question in reversed(app.invoke(message(*calls), CONFIG)["__interrupt__"]):
        result = app.invoke(Command(resume={question.id: YES}), CONFIG)
    assert sorted(ran) == [0, 1, 2, 3]
    assert told(result) == {f"c{euro}": f"paid {euro}" for euro in range(4)}


async def test_a_handler_that_awaits_the_tool_runs_it_once_while_others_wait():
    ran = []

    async def handler(params):
        return await params["tool"].ainvoke(params["tool_call_args"]) if interrupt("ok?") else "no"

    @human_in_the_loop_async(handler=handler)
    async def pay(euro: int) -> str:
        """Pay."""
        ran.append(euro)
        return f"paid {euro}"

    app = graph(pay)
    calls = [call_of("pay", f"c{euro}", euro=euro) for euro in range(3)]
    for question in (await app.ainvoke(message(*calls), CONFIG))["__interrupt__"]:
        result = await app.ainvoke(Command(resume={question.id: True}), CONFIG)
    assert sorted(ran) == [0, 1, 2]
    assert told(result) == {f"c{euro}": f"paid {euro}" for euro in range(3)}


def test_equal_calls_are_asked_about_and_answered_apart():
    ran = []

    @human_in_the_loop
    def pay(euro: int) -> str:
        """Pay."""
        ran.append(euro)
        return "paid"

    app = graph(pay)
    calls = [call_of("pay", "c1", euro=5), call_of("pay", "c2", euro=5)]
    one, two = app.invoke(message(*calls), CONFIG)["__interrupt__"]
    assert one.id != two.id
    no = {"type": "response", "args": "no"}
    result = app.invoke(Command(resume={one.id: YES, two.id: no}), CONFIG)
    assert sorted(told(result).values()) == ["no", "paid"]
    assert ran == [5]


def test_what_the_program_fills_is_not_shown_and_reaches_the_tool():
    @human_in_the_loop
    def pay(
        euro: int,
        call: Annotated[str, InjectedToolCallId],
        state: Annotated[Any, InjectedState],
        runtime: ToolRuntime,
    ) -> str:
        """Pay."""
        return f"{euro} {call} {len(state['messages'])} {runtime.tool_call_id}"

    for answer, euro in ((YES, 5), ({"type": "edit", "args": {"euro": "7"}}, 7)):
        app = graph(pay)
        (question,) = app.invoke(message(call_of("pay", euro=5)), CONFIG)["__interrupt__"]
        assert shown(question) == {"euro": 5}
        assert told(app.invoke(Command(resume=answer), CONFIG)) == {"c1": f"{euro} c1 1 c1"}


def test_a_handlers_tool_is_given_what_the_program_fills():
    def handler(params):
        assert params["tool_call_args"] == {"euro": 5}
        return params["tool"].invoke({"euro": interrupt("how much?")})

    @human_in_the_loop(handler=handler)
    def pay(euro: int, call: Annotated[str, InjectedToolCallId]) -> str:
        """Pay."""
        return f"{euro} {call}"

    app = graph(pay)
    app.invoke(message(call_of("pay", euro=5)), CONFIG)
    assert told(app.invoke(Command(resume=6), CONFIG)) == {"c1": "6 c1"}


def test_a_tool_keeps_what_it_declares():
    @human_in_the_loop
    @tool("report", return_direct=True, response_format="content_and_artifact", extras={"a": 1})
    def report(rows: int):
        """Report."""
        return f"{rows} rows", {"rows": rows}

    assert (report.return_direct, report.extras) == (True, {"a": 1})
    app = graph(report)
    app.invoke(message(call_of("report", rows=2)), CONFIG)
    last = app.invoke(Command(resume=YES), CONFIG)["messages"][-1]
    assert (last.content, last.artifact) == ("2 rows", {"rows": 2})
    app = graph(report)
    app.invoke(message(call_of("report", rows=2)), CONFIG)
    last = app.invoke(Command(resume={"type": "response", "args": "no"}), CONFIG)["messages"][-1]
    assert (last.content, last.artifact) == ("no", None)


def test_tools_written_as_classes_and_tools_of_langchain_can_ask():
    class Query(BaseTool):
        name: str = "query"
        description: str = "Query."

        def _run(self, q: int) -> str:
            return f"rows {q}"

    @langchain_tool
    def theirs(q: int) -> str:
        """Theirs."""
        return f"theirs {q}"

    for one in (Query(), theirs):
        reviewed = human_in_the_loop(one)
        assert reviewed.tool_call_schema.model_json_schema()["required"] == ["q"]
        app = graph(reviewed)
        (question,) = app.invoke(message(call_of(one.name, q=1)), CONFIG)["__interrupt__"]
        assert shown(question) == {"q": 1}
        result = app.invoke(Command(resume={"type": "edit", "args": {"q": 2}}), CONFIG)
        assert told(result)["c1"].endswith(" 2")


class Theirs(LangChainTool):
    """A tool class of LangChain's, without a schema."""

    name: str = "theirs"
    description: str = "Theirs."

    def _run(self, q: str, config: RunnableConfig, run_manager: Any = None) -> str:
        return f"{q} on {config['configurable']['thread_id']}"


@langchain_tool
def on_thread(q: str, config: RunnableConfig) -> str:
    """Sees the config."""
    return f"{q} on {config['configurable']['thread_id']}"


@langchain_tool
def in_state(q: str, state: Annotated[dict, TheirInjectedState]) -> str:
    """Sees the state."""
    return f"{q} of {len(state['messages'])}"


@langchain_tool
def for_call(q: str, call: Annotated[str, TheirInjectedToolCallId]) -> str:
    """Sees the id of the call."""
    return f"{q} for {call}"


@langchain_tool
async def on_thread_later(q: str, config: RunnableConfig) -> str:
    """Sees the config."""
    return f"{q} on {config['configurable']['thread_id']}"


def with_question(params):
    interrupt(params["tool_call_args"])
    return params["tool"].invoke(params["tool_call_args"])


@pytest.mark.parametrize("handler", [None, with_question])
@pytest.mark.parametrize(
    ("theirs", "result"),
    [(on_thread, "x on 1"), (in_state, "x of 1"), (for_call, "x for c1"), (Theirs(), "x on 1")],
    ids=["config", "state", "call", "class"],
)
def test_what_the_program_fills_reaches_a_tool_of_langchain(theirs, result, handler):
    app = graph(human_in_the_loop(theirs, handler=handler))
    (question,) = app.invoke(message(call_of(theirs.name, q="x")), CONFIG)["__interrupt__"]
    assert (question.value if handler else shown(question)) == {"q": "x"}
    assert told(app.invoke(Command(resume=YES), CONFIG)) == {"c1": result}


async def test_what_the_program_fills_reaches_an_async_tool_of_langchain():
    app = graph(human_in_the_loop_async(on_thread_later))
    await app.ainvoke(message(call_of("on_thread_later", q="x")), CONFIG)
    assert told(await app.ainvoke(Command(resume=YES), CONFIG)) == {"c1": "x on 1"}


def test_a_tool_of_langchain_keeps_its_artifact():
    @langchain_tool(response_format="content_and_artifact")
    def report(rows: int):
        """Report."""
        return f"{rows} rows", {"rows": rows}

    app = graph(human_in_the_loop(report))
    app.invoke(message(call_of("report", rows=2)), CONFIG)
    last = app.invoke(Command(resume=YES), CONFIG)["messages"][-1]
    assert (last.content, last.artifact) == ("2 rows", {"rows": 2})


@pytest.mark.parametrize("kind", [BaseTool, LangChainTool])
def test_a_tool_class_keeps_what_it_declares(kind):
    class Query(kind):
        name: str = "query"
        description: str = "Query."

        def _run(self, q: int) -> str:
            return f"rows {q}"

    declared: dict[str, Any] = {
        "return_direct": True,
        "tags": ["a"],
        "metadata": {"b": 1},
        "handle_tool_error": "no luck",
        "handle_validation_error": "not so",
        "response_format": "content_and_artifact",
        "extras": {"c": 2},
        "callbacks": [],
        "verbose": True,
    }
    reviewed = human_in_the_loop(Query(**declared))
    assert {name: getattr(reviewed, name) for name in declared} == declared


def test_what_has_no_code_is_no_tool_to_ask_about():
    class Shown:
        name = description = "shown"
        args_schema = tool_call_schema = None

    with pytest.raises(ToolDefinitionError, match="no code"):
        human_in_the_loop(Shown())


async def test_a_sync_handler_may_run_a_sync_tool_inside_of_an_event_loop():
    @human_in_the_loop_async(handler=with_question)
    def pay(euro: int) -> str:
        """Pay."""
        return f"paid {euro}"

    app = graph(pay)
    await app.ainvoke(message(call_of("pay", euro=5)), CONFIG)
    assert told(await app.ainvoke(Command(resume=YES), CONFIG)) == {"c1": "paid 5"}


@pytest.mark.parametrize("kind", [Tool, LangChainOneText])
def test_a_tool_of_one_argument_shows_it_and_is_given_it(kind):
    loud = human_in_the_loop(kind(name="loud", description="Shout.", func=str.upper))
    assert list(loud.args) == ["__arg1"]
    app = graph(loud)
    (question,) = app.invoke(message(call_of("loud", __arg1="hi")), CONFIG)["__interrupt__"]
    assert shown(question) == {"__arg1": "hi"}
    edit = {"type": "edit", "args": {"__arg1": "ho"}}
    assert told(app.invoke(Command(resume=edit), CONFIG)) == {"c1": "HO"}


def test_an_edit_may_be_the_whole_action():
    @human_in_the_loop
    def pay(euro: int) -> str:
        """Pay."""
        return f"paid {euro}"

    app = graph(pay)
    app.invoke(message(call_of("pay", euro=5)), CONFIG)
    whole = {"type": "edit", "args": {"action": "pay", "args": {"euro": 4}}}
    assert told(app.invoke(Command(resume=whole), CONFIG)) == {"c1": "paid 4"}


@pytest.mark.parametrize("handle_tool_errors", [True, False])
def test_a_wrong_answer_is_told_to_whoever_gave_it_and_the_question_stays(handle_tool_errors):
    ran = []

    @human_in_the_loop
    def pay(euro: int) -> str:
        """Pay."""
        ran.append(euro)
        return "paid"

    app = graph(pay, handle_tool_errors=handle_tool_errors)
    calls = [call_of("pay", "c1", euro=1), call_of("pay", "c2", euro=2)]
    questions = app.invoke(message(*calls), CONFIG)["__interrupt__"]
    ids = {shown(each)["euro"]: each.id for each in questions}
    with pytest.raises(InvalidDecisionError, match="maybe"):
        app.invoke(Command(resume={ids[1]: YES, ids[2]: {"type": "maybe"}}), CONFIG)
    assert [each.id for each in app.get_state(CONFIG).interrupts] == [ids[2]]
    result = app.invoke(Command(resume={ids[2]: YES}), CONFIG)
    assert told(result) == {"c1": "paid", "c2": "paid"}
    assert sorted(ran) == [1, 2], "what was approved beside a wrong answer ran once"


def in_one_node(pay: Any) -> Any:
    return graph(pay), message(*(call_of("pay", f"c{n}", euro=n) for n in range(3)))


def in_a_workflow(pay: Any) -> Any:
    call = task(pay.invoke, name="call")

    @entrypoint(checkpointer=InMemorySaver())
    def main(amounts: list[int]) -> Any:
        return [each.result() for each in [call({"euro": euro}) for euro in amounts]]

    return main, [0, 1, 2]


class InALoop:
    """A graph whose calls are made in an event loop."""

    def __init__(self, app: Any) -> None:
        self.get_state = app.get_state
        self.app = app

    def invoke(self, given: Any, config: Any) -> Any:
        return asyncio.run(self.app.ainvoke(given, config))


def in_an_async_workflow(pay: Any) -> Any:
    @task
    async def call(euro: int) -> Any:
        return await pay.ainvoke({"euro": euro})

    @entrypoint(checkpointer=InMemorySaver())
    async def main(amounts: list[int]) -> Any:
        return await asyncio.gather(*[call(euro) for euro in amounts])

    return InALoop(main), [0, 1, 2]


@pytest.mark.parametrize("make", [in_one_node, in_a_workflow, in_an_async_workflow])
@pytest.mark.parametrize("beside", [[], [0], [2], [0, 2]], ids=str)
def test_a_wrong_answer_among_others_is_told_and_what_still_waits_is_seen(make, beside):
    ran = []

    @human_in_the_loop
    def pay(euro: int) -> str:
        """Pay."""
        ran.append(euro)
        return f"paid {euro}"

    app, given = make(pay)
    ids = {shown(each)["euro"]: each.id for each in app.invoke(given, CONFIG)["__interrupt__"]}
    answers = {ids[euro]: YES for euro in beside} | {ids[1]: {"type": "maybe"}}
    with pytest.raises(InvalidDecisionError, match="maybe"):
        app.invoke(Command(resume=answers), CONFIG)
    left = [euro for euro in range(3) if euro not in beside]
    assert [shown(each)["euro"] for each in app.get_state(CONFIG).interrupts] == left
    app.invoke(Command(resume={ids[euro]: YES for euro in left}), CONFIG)
    assert not app.get_state(CONFIG).next
    assert sorted(ran) == [0, 1, 2]


def test_a_tool_that_asks_needs_somebody_to_wait():
    @human_in_the_loop
    def pay(euro: int) -> str:
        """Pay."""
        return "paid"

    with pytest.raises(ConfigError, match="outside of a running graph"):
        pay.invoke({"euro": 1})


def test_an_async_handler_of_a_sync_tool_is_refused_where_it_is_declared():
    async def handler(params):
        return interrupt("ok?")

    class Handler:
        async def __call__(self, params):
            return interrupt("ok?")

    for one in (handler, partial(handler), Handler()):
        with pytest.raises(ToolDefinitionError, match="human_in_the_loop_async"):
            human_in_the_loop(handler=one)


@pytest.mark.parametrize("decorate", [human_in_the_loop, human_in_the_loop_async])
def test_a_handler_that_is_no_function_is_refused_where_it_is_declared(decorate):
    with pytest.raises(ToolDefinitionError, match="InterruptParams"):
        decorate(handler="ask")


def test_an_edit_of_arguments_that_look_like_an_action_is_one_of_arguments():
    ran = []

    @human_in_the_loop
    def play(action: str, args: str) -> str:
        """Play."""
        ran.append((action, args))
        return "played"

    app = graph(play)
    app.invoke(message(call_of("play", action="go", args="west")), CONFIG)
    app.invoke(Command(resume={"type": "edit", "args": {"action": "stop", "args": "now"}}), CONFIG)
    assert ran == [("stop", "now")]


@pytest.mark.filterwarnings("ignore::plait.errors.UnusedAnswerWarning")  # that is what is tested
@pytest.mark.parametrize("flavor", ["sync", "async"])
async def test_what_a_handler_has_asked_about_a_call_holds_for_no_other(flavor):
    ran = []

    def pay(euro: int) -> str:
        """Pay."""
        ran.append(euro)
        return f"paid {euro}"

    def ask_first(params):
        return params["tool"].invoke(params["tool_call_args"]) if interrupt("sure?") else "no"

    async def aask_first(params):
        return await params["tool"].ainvoke(params["tool_call_args"]) if interrupt("sure?") else ""

    if flavor == "async":
        app = graph(human_in_the_loop_async(pay, handler=aask_first))
    else:
        app = graph(human_in_the_loop(pay, handler=ask_first))

    async def run(given):
        return await app.ainvoke(given, CONFIG) if flavor == "async" else app.invoke(given, CONFIG)

    await run(message(call_of("pay", euro=5)))
    app.update_state(CONFIG, message(call_of("pay", euro=5000)), as_node=START)
    assert "__interrupt__" in await run(Command(resume=True))
    assert ran == []
    await run(Command(resume=True))
    assert ran == [5000]
