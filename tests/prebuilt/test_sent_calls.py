"""Tool calls that wait in a checkpoint: stored without the state, and run with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest

from plait.chat_models.fake import GenericFakeChatModel
from plait.checkpoint.serde import Codec
from plait.checkpoint.sqlite import SqliteSaver
from plait.messages import AIMessage, HumanMessage, ToolMessage
from plait.prebuilt import InjectedState, create_react_agent
from plait.prebuilt.agent_history import ClosedHistory, open_calls, unanswered_calls
from plait.prebuilt.chat_agent_executor import AgentState, AgentStatePydantic
from plait.prebuilt.sent import SentCall
from plait.types import Send

THREAD: Any = {"configurable": {"thread_id": "1"}}
CALL: Any = {"name": "who", "args": {"x": 1}, "id": "1", "type": "tool_call"}


class State(AgentState):
    user: str


class PydanticState(AgentStatePydantic):
    user: str = ""


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def who(
    x: int,
    state: Annotated[Any, InjectedState],
    user: Annotated[str, InjectedState("user")],
    left: Annotated[int, InjectedState("remaining_steps")],
) -> str:
    """Who it is, and what is known."""
    messages: Any = dict(state)["messages"]  # of a pydantic state, too
    kinds = [message.type for message in messages]
    return f"{x} {user} {kinds} {left > 0}"


@pytest.mark.parametrize("schema", [State, PydanticState])
def test_a_call_that_is_read_back_runs_with_the_state_of_its_thread(
    tmp_path: Path, schema: Any
) -> None:
    def agent_on(saver: Any, *said: Any) -> Any:
        return create_react_agent(
            Scripted(messages=iter(said)),
            [who],
            state_schema=schema,
            checkpointer=saver,
            interrupt_before=["tools"],
        )

    with SqliteSaver(tmp_path / "log.db") as saver:
        agent_on(saver, AIMessage("", tool_calls=[CALL])).invoke(
            {"messages": "hi", "user": "ada"}, THREAD
        )
    with SqliteSaver(tmp_path / "log.db") as saver:  # as another process would
        end = agent_on(saver, "done").invoke(None, THREAD)
    assert end["messages"][2].content == "1 ada ['human', 'ai'] True"


def test_what_is_stored_of_a_call_does_not_grow_with_the_conversation() -> None:
    def stored(length: int) -> bytes:
        state = {"messages": [HumanMessage(f"message {n}") for n in range(length)]}
        return Codec().dumps(Send("tools", SentCall.of(CALL, state)))

    assert stored(1000) == stored(1)
    read = Codec().loads(stored(1))
    assert (read.arg["tool_call"], read.arg["state"]) == (CALL, {}), "no graph is around"
    with pytest.raises(KeyError, match="other"):
        read.arg["other"]


def calls(*ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "who", "args": {}, "id": id} for id in ids])


@pytest.mark.parametrize("look", [open_calls, unanswered_calls])
def test_open_calls_are_found_wherever_the_history_was_known_to_be_closed(look: Any) -> None:
    history = ClosedHistory(look)
    closed: list[Any] = [HumanMessage("hi"), AIMessage("hello")]
    assert history.open_calls(closed) == []
    grown = [*closed, calls("1", "2")]
    assert [call["id"] for call in history.open_calls(grown)] == ["1", "2"]
    assert history.open_calls(closed) == []
    other = [calls("3"), *closed]
    assert [call["id"] for call in history.open_calls(other)] == ["3"]
    assert history.open_calls(closed[:1]) == []
    assert [call["id"] for call in history.open_calls([calls("4")])] == ["4"]


@pytest.mark.parametrize("look", [open_calls, unanswered_calls])
def test_a_call_whose_answer_is_taken_away_is_open_again(look: Any) -> None:
    """As where a thread goes on from an earlier checkpoint, in the same process."""
    history = ClosedHistory(look)
    closed: list[Any] = [calls("1"), ToolMessage("a", tool_call_id="1"), AIMessage("done")]
    assert history.open_calls(closed) == []
    assert [call["id"] for call in history.open_calls(closed[:1])] == ["1"]


@pytest.mark.parametrize("look", [open_calls, unanswered_calls])
def test_an_answer_that_stands_before_its_call_is_found_in_what_was_closed(look: Any) -> None:
    history = ClosedHistory(look)
    closed: list[Any] = [HumanMessage("hi"), ToolMessage("a", tool_call_id="1")]
    assert history.open_calls(closed) == []
    assert history.open_calls([*closed, calls("1")]) == []


def test_a_call_that_no_answer_could_name_is_not_open() -> None:
    call: Any = {"name": "who", "args": {}, "id": None}
    assert open_calls([AIMessage("", tool_calls=[call])]) == []
