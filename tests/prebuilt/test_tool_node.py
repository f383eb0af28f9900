"""What ToolNode and agents promise beyond the peer: concurrency, questions at once, guests."""

import asyncio
import gc
import warnings
from threading import Barrier, Lock
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage as LcToolMessage
from langchain_core.tools import InjectedToolCallId as LcInjectedToolCallId
from langchain_core.tools import tool as lc_tool

from plait.checkpoint.memory import InMemorySaver
from plait.errors import GraphInterrupt, ToolInputError
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage, AIMessageChunk
from plait.messages.errors import MessageCoercionError
from plait.prebuilt import InjectedState, InjectedStore, ToolNode, ToolRuntime, create_react_agent
from plait.store.memory import InMemoryStore
from plait.tools import InjectedToolCallId, tool
from plait.types import Command, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}


def called(*names: str, **args: Any) -> dict[str, Any]:
    made: list[Any] = [
        {"name": name, "args": {"what": f"{name} {n}", **args}, "id": f"call-{n}"}
        for n, name in enumerate(names)
    ]
    return {"messages": [AIMessage("", tool_calls=made)]}


def answers(state: dict[str, Any]) -> list[tuple[str, str]]:
    return [(m.tool_call_id, m.content) for m in state["messages"] if m.type == "tool"]


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


@pytest.mark.parametrize("given", [None, "text"])
def test_a_wrapper_that_gives_no_answer_is_told_which_call_it_is_for(given: Any) -> None:
    @tool
    def look(what: str) -> str:
        """Look."""
        return what

    node = ToolNode([look], wrap_tool_call=lambda request, handler: given, handle_tool_errors=True)
    with pytest.raises(MessageCoercionError, match=r"call 'call-0' of tool 'look'.*ToolMessage"):
        node.invoke(called("look"))


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
