"""A thread is about to run a node that does not exist any more: nothing is lost, all is said."""

from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from plait import END, START, Command, Send, StateGraph, deploy, interrupt
from plait.agents import create_agent
from plait.agents.middleware import HumanInTheLoopMiddleware
from plait.errors import UnknownNodeError
from plait.messages import AIMessage
from plait.testing import ScriptedChatModel

from .conftest import THREAD, Caller


class State(TypedDict, total=False):
    log: Annotated[list[str], add]


def ask(state: State) -> State:
    return {"log": [interrupt("?")]}


def graph(saver: Any, *names: str) -> Any:
    """Nodes beside each other, each of which asks."""
    builder = StateGraph(State)
    for name in names:
        builder.add_node(name, ask).add_edge(START, name)
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("given", [None, Command(resume="yes")], ids=["continue", "answer"])
def test_an_interrupted_node_that_is_gone_is_named_and_the_answer_is_not_used_up(
    saver: Any, caller: Caller, given: Any
) -> None:
    caller.invoke(graph(saver, "review"), {"log": []})
    with pytest.raises(UnknownNodeError, match="'review'") as caught:
        caller.invoke(graph(saver, "reviews"), given)
    for part in ("'order-7'", "Did you mean 'reviews'?", "renamed_from='review'", "checkpoint"):
        assert part in str(caught.value)
    back = graph(saver, "review")
    assert len(caller.state(back).interrupts) == 1
    assert caller.invoke(back, Command(resume="yes"))["log"] == ["yes"]


def test_a_send_to_a_node_that_is_gone_is_named(saver: Any, caller: Caller) -> None:
    def sending(target: str) -> Any:
        builder = StateGraph(State).add_node(target, lambda given: interrupt("?"))
        builder.add_conditional_edges(START, lambda state: [Send(target, {"n": 1})])
        return builder.compile(checkpointer=saver)

    caller.invoke(sending("work"), {"log": []})
    with pytest.raises(UnknownNodeError, match=r"'work'.*Did you mean 'works'"):
        caller.invoke(sending("works"), Command(resume="yes"))


def test_a_finished_task_that_leads_to_a_node_that_is_gone_is_named(
    saver: Any, caller: Caller
) -> None:
    def leading(target: str) -> Any:
        builder = StateGraph(State).add_node("ask", ask).add_node("lead", lambda state: None)
        builder.add_node(target, lambda state: {"log": [target]})
        builder.add_edge(START, "ask").add_edge(START, "lead").add_edge("lead", target)
        return builder.compile(checkpointer=saver)

    caller.invoke(leading("after"), {"log": []})
    with pytest.raises(UnknownNodeError, match=r"'after'.*renamed_from"):
        caller.invoke(leading("later"), Command(resume="yes"))
    assert caller.invoke(leading("after"), None)["log"] == ["yes", "after"]


def test_a_node_that_is_gone_inside_a_subgraph_is_named(saver: Any, caller: Caller) -> None:
    def nested(name: str) -> Any:
        inner = StateGraph(State).add_node(name, ask).add_edge(START, name).compile()
        builder = StateGraph(State).add_node("inner", inner).add_edge(START, "inner")
        return builder.compile(checkpointer=saver)

    caller.invoke(nested("review"), {"log": []})
    with pytest.raises(UnknownNodeError, match=r"'review'.*Did you mean 'reviews'"):
        caller.invoke(nested("reviews"), Command(resume="yes"))
    assert caller.invoke(nested("review"), None)["log"] == ["yes"]


def test_a_thread_whose_node_is_gone_can_be_looked_at(saver: Any, caller: Caller) -> None:
    caller.invoke(graph(saver, "review"), {"log": ["in"]})
    state = caller.state(graph(saver, "other"))
    assert state.next == ("review",)
    assert state.values == {"log": ["in"]}


@pytest.mark.parametrize("as_node", ["other", END])
def test_a_thread_whose_node_is_gone_can_be_moved_on_by_hand(
    saver: Any, caller: Caller, as_node: str
) -> None:
    caller.invoke(graph(saver, "review"), {"log": ["in"]})
    new = graph(saver, "other")
    caller.update(new, THREAD, {"log": ["out"]} if as_node == "other" else None, as_node=as_node)
    assert caller.state(new).next == ()


def test_a_new_input_leaves_a_node_that_is_gone_behind(saver: Any, caller: Caller) -> None:
    caller.invoke(graph(saver, "review"), {"log": ["in"]})
    new = graph(saver, "other")
    caller.invoke(new, {"log": ["again"]})
    assert caller.invoke(new, Command(resume="yes"))["log"] == ["in", "again", "yes"]


def test_a_gone_node_beside_one_that_stays_stops_both(saver: Any, caller: Caller) -> None:
    caller.invoke(graph(saver, "a", "b"), {"log": []})
    with pytest.raises(UnknownNodeError, match="'a'"):
        caller.invoke(graph(saver, "b"), None)


def test_a_middleware_whose_class_was_renamed_keeps_its_nodes_by_its_name(
    saver: Any, caller: Caller
) -> None:
    """What asks is a node, and an agent has no `add_node` that could say what it was called."""

    class Approve(HumanInTheLoopMiddleware):
        pass

    class Approves(HumanInTheLoopMiddleware):
        pass

    class Named(Approves):
        @property
        def name(self) -> str:
            return "Approve"

    paid: list[int] = []

    def pay(euro: int) -> str:
        """Pay."""
        paid.append(euro)
        return "paid"

    def agent(asking: type[HumanInTheLoopMiddleware]) -> Any:
        call = {"name": "pay", "args": {"euro": 7}, "id": "1"}
        said = AIMessage("", tool_calls=[call]) if asking is Approve else "Done."
        model = ScriptedChatModel([said])
        gate = asking(interrupt_on={"pay": True})
        return create_agent(model, [pay], middleware=[gate], checkpointer=saver)

    caller.invoke(agent(Approve), {"messages": "Pay!"})
    (found,) = deploy.check(agent(Approves), saver).threads
    assert found.verdict == "breaks"
    assert "its property `name`" in found.findings[0].what
    approve = Command(resume={"decisions": [{"type": "approve"}]})
    with pytest.raises(UnknownNodeError, match="its property `name`"):
        caller.invoke(agent(Approves), approve)
    assert deploy.check(agent(Named), saver).ok
    assert caller.invoke(agent(Named), approve)["messages"][-1].text == "Done."
    assert paid == [7]
