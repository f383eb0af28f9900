"""Whatever a supervisor calls in one message, the history stays one that models accept."""

from collections import Counter
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.scripted import THREAD, call, calls

from plait.agents import create_supervisor
from plait.checkpoint.memory import InMemorySaver
from plait.messages import ToolMessage
from plait.prebuilt import create_react_agent
from plait.testing.models import ScriptedChatModel
from plait.tools import tool

AGENTS = ("ann", "ben", "cy")
TURN = st.lists(st.sampled_from((*AGENTS, "add")), min_size=1, max_size=4)


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def made_calls(turns: list[list[str]]) -> list[Any]:
    """The messages of a supervisor, each call with an id of its own."""
    ids = map(str, count())

    def one(name: str) -> Any:
        if name == "add":
            return call("add", next(ids), a=1, b=2)
        return call(f"transfer_to_{name}", next(ids))

    return [calls(*map(one, turn)) for turn in turns]


@given(
    turns=st.lists(TURN, max_size=4),
    mode=st.sampled_from(("last_message", "full_history")),
    tells=st.booleans(),
    hook=st.sampled_from((None, "none", "some")),
)
@settings(max_examples=80, deadline=None)
def test_every_call_has_one_answer_and_every_agent_that_was_asked_is_heard(
    turns: list[list[str]], mode: Any, tells: bool, hook: str | None
) -> None:
    agents = [create_react_agent(ScriptedChatModel(lambda _: "mine"), [], name=n) for n in AGENTS]
    model = ScriptedChatModel([*made_calls(turns), "done"])
    options: Any = {"output_mode": mode, "add_handoff_messages": tells}
    if hook is not None:
        options["post_model_hook"] = answering if hook == "some" else quiet
    team = create_supervisor(agents, model=model, tools=[add], **options)
    messages = team.compile(checkpointer=InMemorySaver()).invoke(
        {"messages": [("user", "go")]}, THREAD
    )["messages"]

    asked = [one["id"] for message in messages for one in getattr(message, "tool_calls", ())]
    answered = [message.tool_call_id for message in messages if message.type == "tool"]
    assert Counter(asked) == Counter(answered)
    assert max(Counter(asked).values(), default=1) == 1
    places = {one.tool_call_id: at for at, one in enumerate(messages) if one.type == "tool"}
    for at, message in enumerate(messages):
        assert all(places[one["id"]] > at for one in getattr(message, "tool_calls", ()))

    heard = Counter(message.name for message in messages if message.text == "mine")
    assert heard == Counter(name for turn in turns for name in turn if name != "add")
    sums = [message.text for message in messages if message.name == "add"]
    assert sums == ["3"] * sum(turn.count("add") for turn in turns)
    assert messages[-1].text == "done"


def quiet(state: Any) -> Any:
    """A hook that answers nothing."""
    return {}


def answering(state: Any) -> Any:
    """A hook that adds up in its head."""
    made = getattr(state["messages"][-1], "tool_calls", ())
    sums = [one for one in made if one["name"] == "add"]
    return {"messages": [ToolMessage("3", name="add", tool_call_id=one["id"]) for one in sums]}
