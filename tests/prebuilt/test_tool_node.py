"""What ToolNode and agents promise beyond the peer: concurrency, questions at once, guests."""

import asyncio
import gc
import warnings
from contextvars import ContextVar
from dataclasses import replace
from threading import Barrier, Lock
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage as LcToolMessage
from langchain_core.tools import InjectedToolCallId as LcInjectedToolCallId
from langchain_core.tools import tool as lc_tool

from plait.checkpoint.memory import InMemorySaver
from plait.errors import GraphInterrupt, ToolInputError
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage, AIMessageChunk, ToolMessage
from plait.messages.errors import MessageCoercionError
from plait.prebuilt import InjectedState, InjectedStore, ToolNode, ToolRuntime, create_react_agent
from plait.prebuilt.tool_node import msg_content_output
from plait.runnables import RunnableConfig
from plait.runtime import Runtime
from plait.store.memory import InMemoryStore
from plait.tools import InjectedToolArg, InjectedToolCallId, tool
from plait.types import Command, Interrupt, Send, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}


def called(*names: str, **args: Any) -> dict[str, Any]:
    made: list[Any] = [
        {"name": name, "args": {"what": f"{name} {n}", **args}, "id": f"call-{n}"}
        for n, name in enumerate(names)
    ]
    return {"messages": [AIMessage("", tool_calls=made)]}


def answers(state: dict[str, Any]) -> list[tuple[str, str]]:
    return [(m.tool_call_id, m.content) for m in state["messages"] if m.type == "tool"]


def ran(runnable: Any, given: Any, flavor: str) -> Any:
    if flavor == "async":
        return asyncio.run(runnable.ainvoke(given, THREAD))
    return runnable.invoke(given, THREAD)


@tool
def ask(what: str) -> str:
    """Ask a person, twice."""
    return f"{interrupt(what)}, {interrupt(f'{what} again')}"


@tool
async def aask(what: str) -> str:
    """Ask a person."""
    return f"{interrupt(what)}"


def graph_of(*tools: Any) -> Any:
    graph = StateGraph(MessagesState).add_node("tools", ToolNode([*tools]))
    return graph.add_edge(START, "tools").compile(InMemorySaver())


def test_questions_of_parallel_tools_surface_together_and_answers_reach_their_own_call() -> None:
    graph = graph_of(ask)
    first = graph.invoke(called("ask", "ask", "ask"), THREAD)["__interrupt__"]
    assert sorted(one.value for one in first) == ["ask 0", "ask 1", "ask 2"]
    given = {one.id: one.value.upper() for one in reversed(first)}
    second = graph.invoke(Command(resume=given), THREAD)["__interrupt__"]
    assert sorted(one.value for one in second) == ["ask 0 again", "ask 1 again", "ask 2 again"]
    final = graph.invoke(Command(resume={one.id: one.value.upper() for one in second}), THREAD)
    assert answers(final) == [(f"call-{n}", f"ASK {n}, ASK {n} AGAIN") for n in range(3)]


def test_questions_are_answered_one_after_the_other_in_any_order() -> None:
    graph = graph_of(ask)
    state = graph.invoke(called("ask", "ask"), THREAD)
    while state.get("__interrupt__"):
        one = max(state["__interrupt__"], key=lambda it: it.value)
        state = graph.invoke(Command(resume={one.id: one.value.upper()}), THREAD)
    assert answers(state) == [(f"call-{n}", f"ASK {n}, ASK {n} AGAIN") for n in range(2)]


async def test_questions_of_parallel_async_tools_surface_together() -> None:
    graph = graph_of(aask, ask)
    state = await graph.ainvoke(called("aask", "aask"), THREAD)
    asked = state["__interrupt__"]
    assert sorted(one.value for one in asked) == ["aask 0", "aask 1"]
    given = {one.id: one.value.upper() for one in asked}
    final = await graph.ainvoke(Command(resume=given), THREAD)
    assert answers(final) == [("call-0", "AASK 0"), ("call-1", "AASK 1")]


def test_a_question_is_no_error_to_tell_a_model() -> None:
    graph = StateGraph(MessagesState).add_node("t", ToolNode([ask], handle_tool_errors=True))
    compiled = graph.add_edge(START, "t").compile(InMemorySaver())
    assert "__interrupt__" in compiled.invoke(called("ask"), THREAD)
    with pytest.raises(GraphInterrupt):
        ToolNode([_raises_a_question], handle_tool_errors=True).invoke(called("stop"))


@tool("stop")
def _raises_a_question(what: str) -> str:
    """Ask."""
    raise GraphInterrupt(())


def test_tools_run_at_once() -> None:
    together = Barrier(3, timeout=30)

    @tool
    def meet(what: str) -> str:
        """Wait for the others."""
        together.wait()
        return "met"

    assert len(ToolNode([meet]).invoke(called("meet", "meet", "meet"))["messages"]) == 3


def test_max_concurrency_bounds_the_tools_that_run_at_once() -> None:
    running = most = 0
    lock = Lock()
    pairs = Barrier(2, timeout=30)

    @tool
    def work(what: str) -> str:
        """Work beside one other."""
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pairs.wait()
        with lock:
            running -= 1
        return "done"

    names = ["work"] * 6
    ToolNode([work]).invoke(called(*names), {"max_concurrency": 2})
    assert most == 2


async def test_max_concurrency_bounds_async_tools() -> None:
    running = most = 0

    @tool
    async def work(what: str) -> str:
        """Work."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return "done"

    names = ["work"] * 6
    await ToolNode([work]).ainvoke(called(*names), {"max_concurrency": 2})
    assert most == 2


async def test_a_bounded_async_call_sees_nothing_of_the_context_of_the_one_before() -> None:
    left: ContextVar[str] = ContextVar("left", default="nothing")

    @tool
    async def note(what: str) -> str:
        """Leave something behind."""
        found = left.get()
        left.set(what)
        return found

    told = await ToolNode([note]).ainvoke(called("note", "note", "note"), {"max_concurrency": 1})
    assert [content for _, content in answers(told)] == ["nothing"] * 3


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_question_after_a_tool_is_the_same_where_the_tool_does_not_run_again(flavor: str) -> None:
    """A program keeps what the tool gave, and asks: the answer reaches the question."""
    kept: list[Any] = []

    @tool
    def look(what: str) -> str:
        """Look."""
        return what

    tools = ToolNode([look])

    def work(state: MessagesState) -> Any:
        if not kept:
            kept.append(tools.invoke(state))
        return {"messages": [AIMessage(interrupt("Sure?"))]}

    async def awork(state: MessagesState) -> Any:
        if not kept:
            kept.append(await tools.ainvoke(state))
        return {"messages": [AIMessage(interrupt("Sure?"))]}

    graph = StateGraph(MessagesState).add_node("work", awork if flavor == "async" else work)
    compiled = graph.add_edge(START, "work").compile(InMemorySaver())

    asked = ran(compiled, called("look"), flavor)["__interrupt__"]
    assert [one.value for one in asked] == ["Sure?"]
    assert ran(compiled, Command(resume="yes"), flavor)["messages"][-1].content == "yes"


def test_questions_that_tools_raise_by_hand_surface_together() -> None:
    @tool
    def stop(what: str) -> str:
        """Ask."""
        raise GraphInterrupt((Interrupt(what),))

    with pytest.raises(GraphInterrupt) as caught:
        ToolNode([stop]).invoke(called("stop", "stop"))
    assert [one.value for one in caught.value.args[0]] == ["stop 0", "stop 1"]


def test_all_tools_end_before_the_error_of_one_is_raised() -> None:
    ended: list[str] = []

    @tool
    def boom(what: str) -> str:
        """Fail."""
        raise ValueError(what)

    @tool
    def work(what: str) -> str:
        """Work."""
        ended.append(what)
        return what

    with pytest.raises(ValueError, match="boom 0"):
        ToolNode([boom, work]).invoke(called("boom", "work", "work"))
    assert sorted(ended) == ["work 1", "work 2"]


def test_inject_tool_args_fills_a_copy_and_drops_what_the_model_supplied() -> None:
    @tool
    def buy(
        what: str,
        user: Annotated[str, InjectedState("user")],
        store: Annotated[Any, InjectedStore()],
        id: Annotated[str, InjectedToolCallId],
    ) -> str:
        """Buy."""
        return f"{user} {store is not None} {id}"

    node, store = ToolNode([buy]), InMemoryStore()
    call: dict[str, Any] = {"name": "buy", "id": "7", "args": {"what": "x", "user": "mallory"}}
    filled = node.inject_tool_args(call, {"messages": [], "user": "ada"}, store)
    assert filled["args"] == {"what": "x", "user": "ada", "store": store}
    assert call["args"] == {"what": "x", "user": "mallory"}
    with pytest.raises(ToolInputError, match="store"):
        node.inject_tool_args(call, {"user": "ada"}, None)
    assert set(buy.args) == {"what"}
    plain = ToolNode([ask]).inject_tool_args({**call, "name": "ask"}, {}, None)
    plain["args"]["what"] = "changed"
    assert call["args"]["what"] == "x"


@pytest.mark.parametrize("state", [{}, {"user": "", "count": 0}])
def test_what_a_model_supplies_for_an_argument_of_the_program_never_counts(state: Any) -> None:
    @tool
    def buy(
        what: str,
        user: Annotated[str, InjectedState("user")] = "nobody",
        count: Annotated[int, InjectedState("count")] = 1,
        limit: Annotated[int, InjectedToolArg] = 10,
    ) -> str:
        """Buy."""
        return f"{user!r} {count} {limit}"

    given = {**called("buy", user="mallory", count=99, limit=1000), **state}
    told = "'' 0 10" if state else "'nobody' 1 10"
    assert answers(ToolNode([buy]).invoke(given)) == [("call-0", told)]


def test_a_node_by_itself_has_the_runtime_that_its_config_names() -> None:
    @tool
    def look(what: str, store: Annotated[Any, InjectedStore()]) -> str:
        """Look."""
        return store.get(("n",), what).value["v"]

    store = InMemoryStore()
    store.put(("n",), "look 0", {"v": "found"})
    config: Any = {"configurable": {"__pregel_runtime": Runtime(store=store)}}
    assert answers(ToolNode([look]).invoke(called("look"), config)) == [("call-0", "found")]


class TestGuests:
    """Models and tools of langchain_core."""

    def test_an_agent_of_langchain_parts(self) -> None:
        models = pytest.importorskip("langchain_core.language_models")
        their_tools = pytest.importorskip("langchain_core.tools")
        theirs = pytest.importorskip("langchain_core.messages")
        prebuilt = pytest.importorskip("langgraph.prebuilt")

        class Scripted(models.GenericFakeChatModel):
            def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
                return self.bind(tools=tools)

        @their_tools.tool
        def where(x: int, user: Annotated[str, prebuilt.InjectedState("user")]) -> str:
            """Where the user is."""
            return f"{user} at {x}"

        class State(MessagesState):
            user: str
            remaining_steps: int

        call = {"name": "where", "args": {"x": 1, "user": "mallory"}, "id": "1"}
        said = [theirs.AIMessage("", tool_calls=[call]), theirs.AIMessage("done")]
        model = Scripted(messages=iter(said))
        agent = create_react_agent(model, [where], state_schema=State)
        final = agent.invoke({"messages": [("user", "hi")], "user": "ada"})
        assert [m.content for m in final["messages"]] == ["hi", "", "ada at 1", "done"]


def test_an_error_of_a_tool_names_the_tool_and_its_call() -> None:
    @tool
    def look(what: str) -> str:
        """Look."""
        raise KeyError(what)

    with pytest.raises(KeyError) as caught:
        graph_of(look).invoke(called("look"), THREAD)
    assert "During call 'call-0' of tool 'look'" in caught.value.__notes__


def test_a_tool_without_a_store_is_told_of_the_graph_or_of_the_node_that_lacks_one() -> None:
    @tool
    def keep(what: str, runtime: ToolRuntime[Any, Any]) -> str:
        """Keep something."""
        store: Any = runtime.store
        store.put(("n",), "k", {"v": what})
        return "kept"

    with pytest.raises(AttributeError) as alone:
        ToolNode([keep]).invoke(called("keep"))
    with pytest.raises(AttributeError) as inside:
        graph_of(keep).invoke(called("keep"), THREAD)
    told = ["runs by itself" in "".join(one.value.__notes__) for one in (alone, inside)]
    assert told == [True, False]


@pytest.mark.parametrize("given", [None, "text"])
def test_a_wrapper_that_gives_no_answer_is_told_which_call_it_is_for(given: Any) -> None:
    @tool
    def look(what: str) -> str:
        """Look."""
        return what

    node = ToolNode([look], wrap_tool_call=lambda request, handler: given, handle_tool_errors=True)
    with pytest.raises(MessageCoercionError, match=r"call 'call-0' of tool 'look'.*ToolMessage"):
        node.invoke(called("look"))


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_what_an_interceptor_hands_on_is_what_runs(flavor: str) -> None:
    """The name of a tool, where the model's is none; a config."""

    @tool
    def look(what: str, config: RunnableConfig) -> str:
        """Look."""
        return f"{what} for {config['configurable']['user']}"

    def mended(request: Any) -> Any:
        config = {**request.runtime.config, "configurable": {"user": "ada"}}
        return request.override(
            tool_call={**request.tool_call, "name": "look"},
            runtime=replace(request.runtime, config=config),
        )

    async def awrap(request: Any, handler: Any) -> Any:
        return await handler(mended(request))

    node = ToolNode(
        [look], wrap_tool_call=lambda request, run: run(mended(request)), awrap_tool_call=awrap
    )
    assert answers(ran(node, called("lok"), flavor)) == [("call-0", "lok 0 for ada")]


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_wrapper_that_answers_another_call_is_refused(flavor: str) -> None:
    def wrap(request: Any, handler: Any) -> Any:
        return ToolMessage("cached", tool_call_id="another")

    async def awrap(request: Any, handler: Any) -> Any:
        return ToolMessage("cached", tool_call_id="another")

    node = ToolNode([ask], wrap_tool_call=wrap, awrap_tool_call=awrap, handle_tool_errors=True)
    with pytest.raises(ToolInputError, match=r"wrap_tool_call gave .*'another' for call 'call-0'"):
        ran(node, called("ask"), flavor)


def test_an_async_wrapper_that_awaits_nothing_is_told_to_once() -> None:
    @tool
    def look(what: str) -> str:
        """Look."""
        return what

    async def wrap(request: Any, handler: Any) -> Any:
        return handler(request)

    node = ToolNode([look], awrap_tool_call=wrap)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(MessageCoercionError, match="return await handler"):
            asyncio.run(node.ainvoke(called("look")))
        gc.collect()  # Python tells of a coroutine that nobody awaited when it is collected
    assert not [str(each.message) for each in told if "never awaited" in str(each.message)]


@pytest.mark.parametrize("lacking", ["name", "args", "id"])
def test_what_a_call_of_a_list_lacks_is_told(lacking: str) -> None:
    whole: Any = {"name": "ask", "args": {"what": "a"}, "id": "1", "type": "tool_call"}
    call = {part: given for part, given in whole.items() if part != lacking}
    with pytest.raises(ToolInputError, match=f"'{lacking}': "):
        ToolNode([ask]).invoke([call, whole])


def test_a_node_says_which_tools_it_has() -> None:
    @tool
    def look(what: str) -> str:
        """Look."""
        return what

    assert repr(ToolNode([look], name="eyes")) == "ToolNode(['look'], name='eyes')"


@lc_tool
def leads_on(id: Annotated[str, LcInjectedToolCallId]) -> Any:
    """A tool of langchain_core's that steers a graph of plait's."""
    return Command(update={"messages": [LcToolMessage("went", tool_call_id=id)]}, goto="other")


@lc_tool
def leads_on_and_tells(id: Annotated[str, LcInjectedToolCallId]) -> Any:
    """The same by a list."""
    return [Command(goto="other"), LcToolMessage("went", tool_call_id=id)]


@lc_tool
def tells_the_call(runtime: ToolRuntime[dict[str, Any]]) -> str:
    """A tool of langchain_core's that takes the runtime, with one type argument."""
    return f"call {runtime.tool_call_id}"


def test_foreign_tools_take_the_runtime_with_one_type_argument() -> None:
    asked = AIMessage("", tool_calls=[{"name": "tells_the_call", "args": {}, "id": "1"}])
    graph = StateGraph(MessagesState).add_node("tools", ToolNode([tells_the_call]))
    told = graph.add_edge(START, "tools").compile().invoke({"messages": [asked]})
    assert told["messages"][-1].content == "call 1"


@pytest.mark.parametrize("name", ["leads_on", "leads_on_and_tells"])
def test_commands_of_foreign_tools_stay_commands(name: str) -> None:
    """They would come back as texts, which steer nothing."""
    ran: list[str] = []
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode([leads_on, leads_on_and_tells])).add_edge(START, "tools")
    builder.add_node("other", lambda state: ran.append("other"))
    asked = AIMessage("", tool_calls=[{"name": name, "args": {}, "id": "1"}])
    told = builder.compile().invoke({"messages": [asked]})["messages"][-1]
    assert (told.content, told.tool_call_id, ran) == ("went", "1", ["other"])


def test_a_call_that_is_cut_off_in_the_sum_of_a_stream_does_not_run() -> None:
    ran: list[int] = []

    def pay(euro: int) -> str:
        """Pay."""
        ran.append(euro)
        return "paid"

    def piece(name: str | None, args: str, index: int) -> AIMessageChunk:
        call_id = name and f"c{index}"
        told = {"name": name, "args": args, "id": call_id, "index": index}
        return AIMessageChunk("", tool_call_chunks=[told])

    total = piece("pay", '{"euro": 5', 0) + piece(None, "}", 0) + piece("pay", '{"euro": 10', 1)
    answers = ToolNode([pay]).invoke([total])
    assert [answer.tool_call_id for answer in answers] == ["c0"]
    assert ran == [5]


def test_sends_to_the_graph_around_are_one_command_and_what_has_more_to_say_stays_alone() -> None:
    """A handoff with an update, joined with others, would lose it."""
    given: dict[str, Any] = {
        "sends 0": {"graph": Command.PARENT, "goto": [Send("x", 0)]},
        "sends 1": {"graph": Command.PARENT, "goto": [Send("x", 1)]},
        "sends 2": {"graph": Command.PARENT, "goto": [Send("x", 2)], "update": {"a": 2}},
        "sends 3": {"goto": [Send("x", 3)]},
    }

    @tool
    def sends(what: str) -> Any:
        """Lead on."""
        return Command(**given[what])

    told = ToolNode([sends]).invoke({"messages": called(*["sends"] * 4)["messages"]})
    assert told == [
        Command(**given["sends 2"]),
        Command(**given["sends 3"]),
        Command(graph=Command.PARENT, goto=[Send("x", 0), Send("x", 1)]),
    ]


def test_a_command_that_answers_its_call_keeps_all_its_parts() -> None:
    @tool
    def go(what: str, id: Annotated[str, InjectedToolCallId]) -> Any:
        """Lead on."""
        answer = ToolMessage("went", tool_call_id=id)
        return Command(update={"messages": [answer], "a": 1}, resume={"x": 1}, goto="other")

    (command,) = ToolNode([go]).invoke(called("go"))
    assert (command.resume, command.goto, command.update["a"]) == ({"x": 1}, "other", 1)
    assert command.update["messages"][0].name == "go"


def test_content_that_is_no_json_is_told_as_text() -> None:
    round_and_round: list[Any] = []
    round_and_round.append(round_and_round)
    assert msg_content_output(round_and_round) == "[[...]]"


def test_nodes_that_are_made_of_one_fill_each_its_own_tools() -> None:
    """Two agents of one ToolNode have tools of one name, with other arguments."""

    @tool("look")
    def theirs(what: str, user: Annotated[str, InjectedState("user")]) -> str:
        """Look."""
        return f"{what} of {user}"

    @tool("look")
    def own(what: str, user: str) -> str:
        """Look."""
        return f"{what} of {user}"

    base = ToolNode([ask])
    nodes = base.extended([theirs]), base.extended([own])
    given = {**called("look", user="the model"), "user": "the state"}
    told = [answers(node.invoke(given)) for node in nodes]
    assert told == [[("call-0", "look 0 of the state")], [("call-0", "look 0 of the model")]]
