"""Where an agent goes after its model."""

from plait.agents.routes import Routes
from plait.messages import AIMessage, HumanMessage, ToolMessage
from plait.types import Send

ROUTES = Routes(
    turn="model",
    finish="__end__",
    has_tools=True,
    direct=frozenset(),
    known=frozenset({"look"}),
    answers=frozenset({"Seat"}),
)
LOOK = {"name": "look", "args": {}, "id": "1", "type": "tool_call"}
SEAT = {"name": "Seat", "args": {"row": 1}, "id": "2", "type": "tool_call"}


def test_a_structured_response_is_never_sent_to_the_tools():
    both = AIMessage("", tool_calls=[LOOK, SEAT])
    assert ROUTES.after_model({"messages": [HumanMessage("hi"), both]}) == [Send("tools", [LOOK])]
    alone = {"messages": [HumanMessage("hi"), AIMessage("", tool_calls=[SEAT])]}
    assert ROUTES.after_model(alone) == "model"
    assert ROUTES.after_model({**alone, "structured_response": {"row": 1}}) == "__end__"


def test_answered_calls_are_not_sent_again():
    both = AIMessage("", tool_calls=[LOOK, {**LOOK, "id": "3"}])
    answered = ToolMessage("seen", tool_call_id="1")
    assert ROUTES.after_model({"messages": [both, answered]}) == [
        Send("tools", [{**LOOK, "id": "3"}])
    ]
