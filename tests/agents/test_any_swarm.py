"""However agents of a swarm hand a conversation around, models accept it, and threads know who."""

from collections import Counter
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.scripted import THREAD, call, calls

from plait.agents import create_swarm
from plait.agents.swarm import create_handoff_tool
from plait.checkpoint.memory import InMemorySaver
from plait.prebuilt import create_react_agent
from plait.testing.models import ScriptedChatModel

AGENTS = ("ann", "ben", "cy")


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@given(
    runs=st.lists(
        st.lists(
            st.lists(st.sampled_from((*AGENTS, "add")), min_size=1, max_size=3, unique=True),
            max_size=4,
        ),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=60, deadline=None)
def test_the_agent_of_the_last_handoff_goes_on_and_every_call_has_one_answer(
    runs: list[list[list[str]]],
) -> None:
    ids, pending, active = map(str, count()), list[Any](), "ann"

    def made(name: str) -> Any:
        if name == "add":
            return call("add", next(ids), a=1, b=2)
        return call(f"transfer_to_{name}", next(ids))

    model = ScriptedChatModel(lambda _: pending.pop(0))
    tools = [add, *(create_handoff_tool(agent_name=name) for name in AGENTS)]
    agents = [create_react_agent(model, tools, name=name) for name in AGENTS]
    app = create_swarm(agents, default_active_agent="ann").compile(checkpointer=InMemorySaver())
    for turns in runs:
        pending[:] = [*(calls(*map(made, turn)) for turn in turns), "said"]
        state = app.invoke({"messages": [("user", "go")]}, THREAD)
        for turn in turns:  # the first handoff of a message is the one that counts
            active = next((name for name in turn if name != "add"), active)
        messages = state["messages"]
        assert (messages[-1].text, messages[-1].name) == ("said", active)
        assert state.get("active_agent") in (active, None)
        asked = [one["id"] for message in messages for one in getattr(message, "tool_calls", ())]
        answered = [message.tool_call_id for message in messages if message.type == "tool"]
        assert Counter(asked) == Counter(answered)
        assert max(Counter(asked).values(), default=1) == 1
