"""What an approval is: policies, questions, decisions, and the one call that it holds for."""

import os
import subprocess
import sys

import pytest
from pydantic import ValidationError

from plait.checkpoint.memory import InMemorySaver
from plait.errors import (
    ApprovalMismatchError,
    InvalidDecisionError,
    InvalidPolicyError,
    UnknownInterruptError,
    UnusedAnswerWarning,
)
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage
from plait.prebuilt import ToolNode
from plait.scope import current_tool_call
from plait.tool_calling import approval as owner
from plait.tool_calling.approval import Approval, binding_of, decide, policies
from plait.tool_calling.asking import ask, bound
from plait.tool_calling.shapes import decision_shape
from plait.tools import tool
from plait.types import Command

CONFIG = {"configurable": {"thread_id": "1"}}
YES = {"type": "approve"}


def call_of(name="pay", id="c1", **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def approval_of(call, *allowed, **more):
    policy = {"allowed_decisions": list(allowed)} if allowed else policies({call["name"]: True})
    return Approval.of(call, policy if allowed else policy[call["name"]], **more)


# --- policies ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy",
    [{}, {"allowed_decisions": []}, {"allow": ["approve"]}, {"allowed_decisions": "approve"}, None,
     "yes", {"allowed_decisions": ["approve", "maybe"]}],
)  # fmt: skip
def test_a_policy_that_opens_no_decision_is_refused(policy):
    with pytest.raises(InvalidPolicyError, match="pay"):
        policies({"pay": policy})


def test_tools_that_nobody_is_asked_about_have_no_policy():
    assert list(policies({"pay": True, "look": False})) == ["pay"]


def test_descriptions_are_texts_functions_or_made_of_the_call():
    call = call_of(euro=5)
    text = Approval.of(call, {"allowed_decisions": ["approve"], "description": "Look!"})
    made = Approval.of(
        call,
        {
            "allowed_decisions": ["approve"],
            "description": lambda call, state, runtime: f"{call['name']} {state} {runtime}",
        },
        state="s",
        runtime="r",
    )
    assert [text.description, made.description] == ["Look!", "pay s r"]
    assert approval_of(call, prefix="Hm").description == "Hm\n\nTool: pay\nArgs: {'euro': 5}"


def test_a_form_for_edits_is_shown_with_the_policy():
    schema = {"type": "object"}
    one = Approval(call_of(), {"allowed_decisions": ["edit"], "args_schema": schema}, "")
    assert one.review_config()["args_schema"] == schema


# --- the binding ---------------------------------------------------------------------------------


def test_a_binding_changes_with_the_id_the_tool_and_every_argument():
    calls = [
        call_of(euro=5),
        call_of(euro=6),
        call_of(euro=5, order=1),
        call_of("send", euro=5),
        call_of(id="c2", euro=5),
        call_of(euro={"a": [1, 2]}),
        call_of(euro={"a": [2, 1]}),
    ]
    assert len({binding_of(call) for call in calls}) == len(calls)


def test_a_binding_is_the_same_in_every_process():
    code = (
        "from plait.tool_calling.approval import binding_of;"
        "print(binding_of({'name': 'a', 'id': '1', 'args': {'x': {'b', 'c', 'd'}, 'y': {'k': 1}}}))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1


def test_a_call_that_was_changed_after_its_approval_is_refused():
    one = approval_of(call_of(euro=5))
    one.check(call_of(euro=5))
    with pytest.raises(ApprovalMismatchError) as caught:
        one.check(call_of(euro=5000))
    assert (caught.value.tool, caught.value.tool_call_id) == ("pay", "c1")
    with pytest.raises(ApprovalMismatchError):
        one.check(call_of(id="c2", euro=5))


# --- decisions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [None, "yes", [], [YES], {}, YES, {"decisions": YES}, {"decisions": []},
     {"decisions": [YES, YES]}, {"decisions": ["approve"]}, {"decisions": [{"type": "maybe"}]},
     {"decisions": [{"type": "edit"}]}, {"decisions": [{"type": "edit", "edited_action": {}}]},
     {"decisions": [{"type": "edit", "edited_action": {"name": "pay", "args": 5}}]},
     {"decisions": [{"type": "respond"}]}],
)  # fmt: skip
def test_an_answer_that_decides_nothing_is_a_typed_error(answer):
    with pytest.raises(InvalidDecisionError):
        owner.read_decisions(answer, [approval_of(call_of())])


def test_a_decision_that_the_policy_does_not_open_is_refused():
    one = approval_of(call_of(), "reject", "respond")
    with pytest.raises(InvalidDecisionError, match="'reject', 'respond'"):
        owner.read_decision(YES, one)


def test_each_decision_has_its_outcome():
    one = approval_of(call_of(euro=5))
    assert decide(one, YES).call == call_of(euro=5)
    edited = decide(one, {"type": "edit", "edited_action": {"name": "send", "args": {"a": 1}}})
    assert edited.call == call_of("send", a=1)
    assert edited.action == {"name": "send", "args": {"a": 1}}
    rejected, told = (
        decide(one, {"type": "reject"}),
        decide(one, {"type": "respond", "message": "m"}),
    )
    assert rejected.call is told.call is None
    assert (rejected.message.status, rejected.message.tool_call_id) == ("error", "c1")
    assert (told.message.content, told.message.status) == ("m", "success")


# --- asking in a graph ---------------------------------------------------------------------------


def gate_graph(ran):
    """A node that asks about all calls at once, and does what was decided."""

    def gate(state):
        calls = state["messages"][-1].tool_calls
        approvals = [approval_of(call, "approve", "reject") for call in calls]
        said = ask(
            owner.batched(approvals),
            approvals,
            lambda answer: owner.read_decisions(answer, approvals),
        )
        for one in map(decide, approvals, said):
            if one.call is not None:
                ran.append((one.call["id"], one.call["args"]))

    return (
        StateGraph(MessagesState)
        .add_node(gate)
        .add_edge(START, "gate")
        .compile(checkpointer=InMemorySaver())
    )


def message(*calls):
    return {"messages": [AIMessage("", id="ai", tool_calls=list(calls))]}


def test_a_wrong_answer_leaves_the_question_open():
    ran = []
    app = gate_graph(ran)
    (question,) = app.invoke(message(call_of(euro=5)), CONFIG)["__interrupt__"]
    for wrong in ("yes", {"decisions": []}, {"decisions": [{"type": "edit"}]}):
        with pytest.raises(InvalidDecisionError):
            app.invoke(Command(resume={question.id: wrong}), CONFIG)
        assert [each.id for each in app.get_state(CONFIG).interrupts] == [question.id]
    app.invoke(Command(resume={question.id: {"decisions": [YES]}}), CONFIG)
    assert ran == [("c1", {"euro": 5})]


def test_an_answer_given_before_the_arguments_changed_runs_nothing_and_the_new_ones_are_asked():
    ran = []
    app = gate_graph(ran)
    (old,) = app.invoke(message(call_of(euro=5)), CONFIG)["__interrupt__"]
    app.update_state(CONFIG, message(call_of(euro=5000)), as_node=START)
    answer = Command(resume={old.id: {"decisions": [YES]}})
    with pytest.warns(UnusedAnswerWarning, match=old.id):
        (new,) = app.invoke(answer, CONFIG)["__interrupt__"]
    assert ran == []
    assert new.id != old.id
    assert new.value["action_requests"][0]["args"] == {"euro": 5000}
    with pytest.raises(UnknownInterruptError):
        app.invoke(answer, CONFIG)
    app.invoke(Command(resume={new.id: {"decisions": [YES]}}), CONFIG)
    assert ran == [("c1", {"euro": 5000})]


def test_code_that_gives_other_arguments_after_a_restart_asks_again():
    """Nothing was written by hand: the interceptor computes another amount the second time."""
    amounts, ran = iter([5, 5000, 5000]), []

    def gated(request, execute):
        call = {**request.tool_call, "args": {"euro": next(amounts)}}
        one = approval_of(call, "approve")
        ask(one.request(), [one], lambda answer: owner.read_decision(answer, one))
        return execute(request.override(tool_call=call))

    @tool
    def pay(euro: int) -> str:
        """Pay."""
        ran.append(euro)
        return "paid"

    app = (
        StateGraph(MessagesState)
        .add_node("tools", ToolNode([pay], wrap_tool_call=gated))
        .add_edge(START, "tools")
        .compile(checkpointer=InMemorySaver())
    )
    (first,) = app.invoke(message(call_of(euro=0)), CONFIG)["__interrupt__"]
    with pytest.warns(UnusedAnswerWarning, match=first.id):
        (second,) = app.invoke(Command(resume={first.id: YES}), CONFIG)["__interrupt__"]
    assert (first.value["args"], second.value["args"]) == ({"euro": 5}, {"euro": 5000})
    assert ran == []
    app.invoke(Command(resume={second.id: YES}), CONFIG)
    assert ran == [5000]


def test_what_is_asked_after_an_approval_is_not_bound_to_it():
    first, second = approval_of(call_of(euro=5)), approval_of(call_of(id="c2", euro=5))
    with bound([second]):
        alone = current_tool_call.get()
    with pytest.raises(KeyError), bound([first]):
        raise KeyError("of a handler")
    assert current_tool_call.get() is None
    with bound([second]):
        assert current_tool_call.get() == alone
    with bound([first]), bound([second]):
        assert current_tool_call.get() not in (None, alone)


# --- the answer as a schema ----------------------------------------------------------------------


@tool
def pay(euro: int, note: str = "") -> str:
    """Pay."""
    return "paid"


def edit(name="pay", **args):
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


def test_the_schema_of_an_answer_names_what_is_open():
    _, shown = decision_shape(approval_of(call_of(), "approve", "edit"), pay)
    assert [branch["$ref"].rsplit("/")[-1] for branch in shown["oneOf"]] == [
        "ApproveDecision",
        "EditDecision",
    ]
    assert shown["$defs"]["EditedAction"]["properties"]["name"]["const"] == "pay"
    assert set(shown["$defs"]["pay"]["properties"]) == {"euro", "note"}


@pytest.mark.parametrize(
    "answer", [{"type": "reject"}, edit("send", euro=1), edit(euro="much"), edit(), "approve"]
)
def test_an_edit_may_neither_switch_the_tool_nor_break_its_schema(answer):
    read, _ = decision_shape(approval_of(call_of(), "approve", "edit"), pay)
    with pytest.raises(ValidationError):
        read(answer)


def test_an_answer_in_the_schema_comes_as_it_was_sent():
    read, _ = decision_shape(approval_of(call_of(), "approve", "edit"), pay)
    assert read(edit(euro="5", more=1)) == edit(euro="5", more=1)
    free, _ = decision_shape(approval_of(call_of(), "edit"))
    assert free(edit(any=1)) == edit(any=1)
