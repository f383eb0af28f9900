"""Chat histories in SQLite: kept across processes, apart by session, messages whole."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage as TheirHumanMessage

from plait.chat_history import InMemoryChatMessageHistory, SQLiteChatMessageHistory
from plait.messages import AIMessage, HumanMessage, ToolMessage
from plait.messages.errors import InvalidMessageError
from plait.runnables import RunnableLambda, RunnableWithMessageHistory
from plait.store.sqlite import SqliteStore

CALL = {"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}
TALK = [HumanMessage("hi"), AIMessage("", tool_calls=[CALL]), ToolMessage("1", tool_call_id="c")]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "chat.sqlite")


def test_messages_come_back_whole_and_in_order(path):
    with SQLiteChatMessageHistory("ann", path) as history:
        history.add_messages(TALK)
        history.add_ai_message("bye")
    with SQLiteChatMessageHistory("ann", path) as history:
        assert history.messages == [*TALK, AIMessage("bye")]


def test_sessions_are_apart_and_cleared_alone(path):
    with SQLiteChatMessageHistory("ann", path) as ann, SQLiteChatMessageHistory("bob", path) as bob:
        ann.add_user_message("a")
        bob.add_user_message("b")
        ann.clear()
        assert ann.messages == []
        assert [m.content for m in bob.messages] == ["b"]


def test_another_process_sees_the_messages(path):
    with SQLiteChatMessageHistory("ann", path) as history:
        history.add_user_message("hi")
    program = f"""
from plait.chat_history import SQLiteChatMessageHistory
with SQLiteChatMessageHistory("ann", {path!r}) as history:
    history.add_ai_message(history.messages[0].content + " you")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    with SQLiteChatMessageHistory("ann", path) as history:
        assert [m.content for m in history.messages] == ["hi", "hi you"]


def test_one_file_holds_a_store_as_well(path):
    with SqliteStore.from_conn_string(path) as store:
        store.setup()
        store.put(("a",), "k", {"v": 1})
    with SQLiteChatMessageHistory("ann", path) as history:
        history.add_user_message("hi")
    with SqliteStore.from_conn_string(path) as store:
        assert store.get(("a",), "k").value == {"v": 1}


class Said(HumanMessage):
    """A message of a class that no reader knows."""


@pytest.mark.parametrize(
    "odd",
    [
        HumanMessage("now", additional_kwargs={"at": datetime(2026, 1, 1, tzinfo=UTC)}),
        ToolMessage("1", tool_call_id="c", artifact=object()),
        Said("hi"),
        "hi",
    ],
    ids=["datetime", "artifact", "class", "text"],
)
def test_what_could_not_be_read_again_is_refused_and_hides_nothing(path, odd):
    with SQLiteChatMessageHistory("ann", path) as history:
        history.add_messages(TALK)
        with pytest.raises(InvalidMessageError, match="chat history"):
            history.add_messages([HumanMessage("not kept alone"), odd])
        assert history.messages == TALK


async def test_async_calls(path):
    with SQLiteChatMessageHistory("ann", path) as history:
        await history.aadd_messages(TALK)
        assert await history.aget_messages() == TALK
        await history.aclear()
        assert await history.aget_messages() == []


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_chat_remembers_what_was_said(path, kind):
    memory = {}

    def session(session_id):
        if kind == "sqlite":
            return SQLiteChatMessageHistory(session_id, path)
        return memory.setdefault(session_id, InMemoryChatMessageHistory())

    chat = RunnableWithMessageHistory(RunnableLambda(lambda ms: AIMessage(str(len(ms)))), session)
    config = {"configurable": {"session_id": "ann"}}
    assert [chat.invoke("hi", config).content for _ in range(3)] == ["1", "3", "5"]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_messages_of_langchain_are_kept_as_well(path, kind):
    given = InMemoryChatMessageHistory()
    if kind == "sqlite":
        given = SQLiteChatMessageHistory("ann", path)
    model = FakeListChatModel(responses=["a", "b"])
    chat = RunnableWithMessageHistory(model, lambda session_id: given)
    config = {"configurable": {"session_id": "ann"}}
    assert chat.invoke([TheirHumanMessage("hi")], config).content == "a"
    assert [message.content for message in given.messages] == ["hi", "a"]


def test_an_output_without_messages_is_refused_and_nothing_is_kept():
    history = InMemoryChatMessageHistory()
    chat = RunnableWithMessageHistory(
        RunnableLambda(lambda messages: 5), lambda session_id: history
    )
    with pytest.raises(ValueError, match="holds no messages"):
        chat.invoke("hi", {"configurable": {"session_id": "ann"}})
    assert history.messages == []
