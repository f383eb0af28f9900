"""human_in_the_loop on functions and tools, sync and async: what is asked, answers, handlers; tool
calls read from messages."""

from typing import Annotated, Any

from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, Tool, tool
from langchain_dev_utils.tool_calling import (
    InterruptParams,
    has_tool_calling,
    human_in_the_loop,
    human_in_the_loop_async,
    parse_tool_calling,
)
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel

CONFIG = {"configurable": {"thread_id": "1"}}


@human_in_the_loop
def add(a: int, b: int = 2) -> int:
    """Add numbers.

    Args:
        a: first.
        b: second.
    """
    return a + b


@human_in_the_loop
@tool("total", description="Sums up.")
def total(items: list[int], scale: float = 1.0) -> str:
    """Sum."""
    return f"total {sum(items) * scale}"


@human_in_the_loop
def configured(a: int, config: RunnableConfig) -> str:
    """Sees the config."""
    return f"{a} on {config['configurable']['thread_id']}"


@human_in_the_loop
def failing(a: int) -> str:
    """Fails."""
    raise ValueError(f"no {a}")


@human_in_the_loop_async
async def later(a: int, b: int = 2) -> int:
    """Add, later."""
    return a + b


@human_in_the_loop_async
def soon(a: int, b: int = 2) -> int:
    """Add, in a thread."""
    return a + b


def in_person(params: InterruptParams) -> Any:
    said = interrupt(f"{params['tool_call_name']}({params['tool_call_args']})?")
    if said["type"] == "accept":
        return params["tool"].invoke(params["tool_call_args"])
    if said["type"] == "reject":
        return "the user said no"
    if said["type"] == "command":
        return Command(update={"messages": [ToolMessage("by command", tool_call_id="1")]})
    raise ValueError(f"unsupported: {said['type']}")


async def in_person_async(params: InterruptParams) -> Any:
    said = interrupt(f"{params['tool_call_name']}({params['tool_call_args']})?")
    if said["type"] == "accept":
        return await params["tool"].ainvoke(params["tool_call_args"])
    return "the user said no"


@human_in_the_loop(handler=in_person)
def times(a: int, b: int = 3) -> int:
    """Multiply."""
    return a * b


@human_in_the_loop_async(handler=in_person_async)
async def times_later(a: int, b: int = 3) -> int:
    """Multiply, later."""
    return a * b


def called(name, /, **args):
    call = {"name": name, "args": args, "id": "1", "type": "tool_call"}
    return {"messages": [AIMessage("", id="ai", tool_calls=[call])]}


def graph(env, one, **options):
    node = ToolNode([one], **options)
    return (
        StateGraph(MessagesState)
        .add_node("tools", node)
        .add_edge(START, "tools")
        .compile(checkpointer=env.saver())
    )


def told(result):
    return [
        (m.content, m.name, m.tool_call_id, m.status)
        for m in result["messages"]
        if m.type == "tool"
    ]


def asked(result):
    return [question.value for question in result["__interrupt__"]]


def play(env, one, given, *answers, **options):
    """What is asked before each answer, and what the tool gave."""
    app = graph(env, one, **options)
    result = app.invoke(given, CONFIG)
    seen = []
    for answer in answers:
        seen.append(asked(result))
        result = app.invoke(Command(resume=answer), CONFIG)
    return seen, told(result), app.get_state(CONFIG).next


async def aplay(saver, one, given, *answers):
    app = (
        StateGraph(MessagesState)
        .add_node("tools", ToolNode([one]))
        .add_edge(START, "tools")
        .compile(checkpointer=saver)
    )
    result = await app.ainvoke(given, CONFIG)
    seen = []
    for answer in answers:
        seen.append(asked(result))
        result = await app.ainvoke(Command(resume=answer), CONFIG)
    return seen, told(result)


# --- what the decorators make --------------------------------------------------------------------


def case_looks(env):
    return [
        (one.name, one.description, one.args, one.response_format)
        for one in (add, total, configured, later, soon, times, times_later)
    ]


def case_bad_definitions(env):
    def bare(a: int):
        return a

    return [
        env.error(lambda: human_in_the_loop(bare)),
        env.error(lambda: human_in_the_loop_async(bare)),
        env.error(lambda: human_in_the_loop(3)),
    ]


def case_outside_of_a_graph(env):
    def by_hand(params):
        return "not asked"

    @human_in_the_loop(handler=by_hand)
    def free(a: int) -> str:
        """Ask nobody."""
        return "ran"

    return free.invoke({"a": 1})


# --- the default handler -------------------------------------------------------------------------


def case_accept(env):
    return play(env, add, called("add", a=1), {"type": "accept"})


def case_edit(env):
    return play(env, add, called("add", a=1), {"type": "edit", "args": {"a": 5, "b": 6}})


def case_edit_leaves_out_a_default(env):
    return play(env, add, called("add", a=1, b=9), {"type": "edit", "args": {"a": 5}})


def case_edit_that_does_not_fit(env):
    return play(env, add, called("add", a=1), {"type": "edit", "args": {"a": "x"}})


def case_response(env):
    return play(env, add, called("add", a=1), {"type": "response", "args": "no way"})


def case_response_with_data(env):
    return play(env, add, called("add", a=1), {"type": "response", "args": {"why": [1, None]}})


def case_tool_with_lists(env):
    given = called("total", items=[1, 2])
    return play(env, total, given, {"type": "edit", "args": {"items": ["3"], "scale": 2}})


def case_config_is_not_shown(env):
    return play(env, configured, called("configured", a=1), {"type": "accept"})


def case_arguments_that_do_not_fit_are_not_asked_about(env):
    return play(env, add, called("add", a="x"))


def case_arguments_that_nobody_knows(env):
    return play(env, add, called("add", a=1, zz=2), {"type": "accept"})


def case_errors_of_the_tool(env):
    app = graph(env, failing)
    app.invoke(called("failing", a=1), CONFIG)
    return env.error(lambda: app.invoke(Command(resume={"type": "accept"}), CONFIG))


def case_errors_of_the_tool_are_told(env):
    given = called("failing", a=1)
    return play(env, failing, given, {"type": "accept"}, handle_tool_errors="it failed")


def case_answers_that_are_none(env):
    answers = [{"type": "zap"}, {"type": "edit"}, {"type": "response"}, "yes", [1]]

    def wrong(place, answer):
        app = graph(env, add)
        config = {"configurable": {"thread_id": f"t{place}"}}
        app.invoke(called("add", a=1), config)
        return env.error(lambda: app.invoke(Command(resume=answer), config))

    return [wrong(place, answer) for place, answer in enumerate(answers)]


def case_asked_twice(env):
    twice = human_in_the_loop(add)
    yes = {"type": "accept"}
    return play(env, twice, called("add", a=1), yes, yes)


# --- handlers of one's own -----------------------------------------------------------------------


def case_handler_accepts(env):
    return play(env, times, called("times", a=4), {"type": "accept"})


def case_handler_rejects(env):
    return play(env, times, called("times", a=4), {"type": "reject"})


def case_handler_commands(env):
    return play(env, times, called("times", a=4), {"type": "command"})


def case_handler_raises(env):
    app = graph(env, times)
    app.invoke(called("times", a=4), CONFIG)
    return env.error(lambda: app.invoke(Command(resume={"type": "zap"}), CONFIG))


def case_handler_asks_twice(env):
    def doubtful(params):
        return [interrupt("sure?"), interrupt("really?")]

    one = human_in_the_loop(handler=doubtful)(tool("pay", description="Pay.")(lambda a: a))
    return play(env, one, called("pay", a=4), "yes", "no")


def case_handler_without_a_question(env):
    one = human_in_the_loop(handler=lambda params: sorted(params))(tool("pay")(_pay))
    return play(env, one, called("pay", a=4))


def _pay(a: int) -> int:
    """Pay."""
    return a


# --- async ---------------------------------------------------------------------------------------


async def case_async_accept(env):
    async with env.asaver() as saver:
        return await aplay(saver, later, called("later", a=1), {"type": "accept"})


async def case_async_edit(env):
    async with env.asaver() as saver:
        answer = {"type": "edit", "args": {"a": 7, "b": 8}}
        return await aplay(saver, later, called("later", a=1), answer)


async def case_async_response(env):
    async with env.asaver() as saver:
        return await aplay(saver, later, called("later", a=1), {"type": "response", "args": "x"})


async def case_async_over_a_sync_function(env):
    async with env.asaver() as saver:
        return await aplay(saver, soon, called("soon", a=1), {"type": "accept"})


async def case_async_handler(env):
    async with env.asaver() as saver:
        return await aplay(saver, times_later, called("times_later", a=5), {"type": "accept"})


async def case_sync_tool_in_an_async_run(env):
    async with env.asaver() as saver:
        return await aplay(saver, add, called("add", a=5), {"type": "accept"})


def case_async_tool_in_a_sync_run(env):
    app = graph(env, later)
    return env.error(lambda: app.invoke(called("later", a=1), CONFIG))


def case_sync_decorator_on_an_async_function(env):
    async def slow(a: int) -> int:
        """Slow."""
        return a

    app = graph(env, human_in_the_loop(slow))
    app.invoke(called("slow", a=1), CONFIG)
    return env.error(lambda: app.invoke(Command(resume={"type": "accept"}), CONFIG))


# --- in an agent ---------------------------------------------------------------------------------


def case_each_call_in_a_task_of_its_own(env):
    """Each question has its own id, and answers come in another order."""
    calls = [
        {"name": "add", "args": {"a": n}, "id": f"c{n}", "type": "tool_call"} for n in range(3)
    ]
    builder = StateGraph(MessagesState).add_node("tools", ToolNode([add]))
    builder.add_conditional_edges(
        START, lambda state: [Send("tools", [one]) for one in calls], ["tools"]
    )
    app = builder.compile(checkpointer=env.saver())
    result = app.invoke({"messages": [AIMessage("", id="ai", tool_calls=calls)]}, CONFIG)
    by_amount = {q.value["action_request"]["args"]["a"]: q.id for q in result["__interrupt__"]}
    app.invoke(Command(resume={by_amount[2]: {"type": "accept"}}), CONFIG)
    left = sorted(q.value["action_request"]["args"]["a"] for q in app.get_state(CONFIG).interrupts)
    result = app.invoke(
        Command(
            resume={
                by_amount[1]: {"type": "response", "args": "no"},
                by_amount[0]: {"type": "edit", "args": {"a": 100}},
            }
        ),
        CONFIG,
    )
    return len(by_amount), left, sorted(told(result))


def case_stream_of_a_question_and_its_answer(env):
    app = graph(env, add)
    parts = list(app.stream(called("add", a=1), CONFIG, stream_mode="updates"))
    answer = Command(resume={"type": "response", "args": "no"})
    return parts, list(app.stream(answer, CONFIG, stream_mode="updates"))


def case_another_process_answers(env):
    """The second graph has never seen the run."""
    graph(env, add).invoke(called("add", a=1), CONFIG)
    other = graph(env, add)
    waiting = other.get_state(CONFIG)
    result = other.invoke(Command(resume={"type": "accept"}), CONFIG)
    return waiting.next, [q.value for q in waiting.interrupts], told(result)


# --- tool calls in messages ----------------------------------------------------------------------

AI = AIMessage(
    "",
    tool_calls=[
        {"name": "a", "args": {"x": 1}, "id": "1"},
        {"name": "b", "args": {}, "id": "2"},
    ],
)


def case_has_tool_calling(env):
    broken = AIMessage("", invalid_tool_calls=[{"name": "a", "args": "x", "id": "1", "error": "e"}])
    chunk = AIMessageChunk("", tool_calls=AI.tool_calls)
    return [has_tool_calling(one) for one in (AI, AIMessage("x"), HumanMessage("x"), broken, chunk)]


def case_parse_tool_calling(env):
    return (
        parse_tool_calling(AI),
        parse_tool_calling(AI, first_tool_call_only=True),
        env.error(lambda: parse_tool_calling(AIMessage("x"))),
        env.error(lambda: parse_tool_calling(AIMessage("x"), first_tool_call_only=True)),
    )


# --- what plait does otherwise (docs/compatibility.md) -------------------------------------------


class Deep(BaseModel):
    x: int


class Query(BaseTool):
    name: str = "query"
    description: str = "Query."

    def _run(self, q: int) -> str:
        return f"rows {q}"


@human_in_the_loop
@tool("report", return_direct=True, response_format="content_and_artifact")
def report(a: int):
    """Report."""
    return f"report {a}", {"rows": a}


@human_in_the_loop
def injected(a: int, call: Annotated[str, InjectedToolCallId]) -> str:
    """Knows its call."""
    return f"{a} by {call}"


@human_in_the_loop
def nested(deep: Deep) -> str:
    """Takes a model."""
    return f"x is {deep.x}"


def case_models_are_shown_as_data(env):
    app = graph(env, nested)
    result = app.invoke(called("nested", deep={"x": 1}), CONFIG)
    return asked(result)[0]["action_request"]["args"]


def case_a_tool_keeps_what_it_declares(env):
    app = graph(env, report)
    app.invoke(called("report", a=1), CONFIG)
    message = app.invoke(Command(resume={"type": "accept"}), CONFIG)["messages"][-1]
    return report.return_direct, message.content, message.artifact


def case_injected_arguments_are_not_shown(env):
    app = graph(env, injected)
    result = app.invoke(called("injected", a=1), CONFIG)
    shown = asked(result)[0]["action_request"]["args"]
    return shown, env.error(lambda: told(app.invoke(Command(resume={"type": "accept"}), CONFIG)))


def case_a_tool_class_keeps_its_schema(env):
    return sorted(human_in_the_loop(Query()).args)


def case_a_tool_of_one_argument(env):
    loud = human_in_the_loop(Tool(name="loud", description="Shout.", func=str.upper))
    given = called("loud", __arg1="hi")
    return env.error(lambda: play(env, loud, given, {"type": "edit", "args": {"__arg1": "ho"}}))


def case_async_handler_of_a_sync_tool(env):
    return env.error(lambda: human_in_the_loop(handler=in_person_async)(_pay))


def case_a_wrong_answer_where_errors_are_told(env):
    app = graph(env, add, handle_tool_errors=True)
    app.invoke(called("add", a=1), CONFIG)
    return env.error(lambda: told(app.invoke(Command(resume={"type": "zap"}), CONFIG)))


def case_parallel_questions_of_one_node(env):
    call = called("add", a=1)["messages"][0].tool_calls[0]
    given = {"messages": [AIMessage("", id="ai", tool_calls=[call, {**call, "id": "2"}])]}
    return len(graph(env, add).invoke(given, CONFIG)["__interrupt__"])


def case_arguments_changed_before_the_answer(env):
    app = graph(env, add)
    app.invoke(called("add", a=1), CONFIG)
    app.update_state(CONFIG, called("add", a=1000), as_node=START)
    result = app.invoke(Command(resume={"type": "accept"}), CONFIG)
    return told(result), "__interrupt__" in result


async def case_runs_of_a_reviewed_tool(env):
    builder = StateGraph(MessagesState).add_node("tools", ToolNode([add])).add_edge(START, "tools")
    calls = [{"name": "add", "args": {"a": 1}, "id": "c1", "type": "tool_call"}]
    async with env.asaver() as saver:
        app = builder.compile(checkpointer=saver)
        await app.ainvoke({"messages": [AIMessage("", tool_calls=calls)]}, CONFIG)
        events = app.astream_events(Command(resume={"type": "accept"}), CONFIG, version="v2")
        return [one["event"] async for one in events if one["name"] == "add"]
