"""Chat histories in Postgres: kept across connections, apart by session, whole, never twice."""

import pytest

from plait.chat_history import PostgresChatMessageHistory
from plait.checkpoint.postgres import PostgresSaver
from plait.errors import StorageError
from plait.messages import AIMessage, HumanMessage, ToolMessage
from plait.messages.errors import InvalidMessageError
from plait.runnables import RunnableLambda, RunnableWithMessageHistory

CALL = {"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}
TALK = [HumanMessage("hi"), AIMessage("", tool_calls=[CALL]), ToolMessage("1", tool_call_id="c")]


def test_messages_come_back_whole_and_in_order(postgres_url):
    with PostgresChatMessageHistory("ann", postgres_url) as history:
        history.add_messages(TALK)
        history.add_ai_message("bye")
    with PostgresChatMessageHistory("ann", postgres_url) as history:
        assert history.messages == [*TALK, AIMessage("bye")]


@pytest.mark.parametrize("text", ["a\0b", "\x1b0", "' OR 1=1 --", "𝄞"])
def test_texts_of_every_kind_come_back(postgres_url, text):
    with PostgresChatMessageHistory(text, postgres_url) as history:
        history.add_user_message(text)
        assert [m.content for m in history.messages] == [text]


def test_what_could_not_be_read_again_is_refused_and_hides_nothing(postgres_url):
    odd = ToolMessage("1", tool_call_id="c", artifact=object())
    with PostgresChatMessageHistory("ann", postgres_url) as history:
        history.add_messages(TALK)
        with pytest.raises(InvalidMessageError, match="chat history"):
            history.add_messages([HumanMessage("not kept alone"), odd])
        assert history.messages == TALK


def test_sessions_are_apart_and_cleared_alone(postgres_url):
    with (
        PostgresChatMessageHistory("ann", postgres_url) as ann,
        PostgresChatMessageHistory("bob", postgres_url) as bob,
    ):
        ann.add_user_message("a")
        bob.add_user_message("b")
        ann.clear()
        assert ann.messages == []
        assert [m.content for m in bob.messages] == ["b"]


def test_what_is_added_again_after_a_cut_connection_is_there_once(postgres_url, postgres_server):
    with PostgresChatMessageHistory("ann", postgres_url) as history:
        history.add_user_message("one")
        assert postgres_server.terminate(postgres_url) >= 1
        history.add_messages(TALK)
        assert [m.content for m in history.messages] == ["one", *(m.content for m in TALK)]


def test_more_than_the_server_takes_is_a_named_error(postgres_url, monkeypatch):
    monkeypatch.setattr("plait.postgres.arrays.MOST", 1000)  # as if it were 1 GB
    with PostgresChatMessageHistory("s", postgres_url) as history:
        with pytest.raises(StorageError, match="1 GB"):
            history.add_messages([HumanMessage("a" * 1000)])
        history.add_messages([HumanMessage("a")])
        assert [message.content for message in history.messages] == ["a"]


def test_a_database_holds_threads_as_well(postgres_url):
    with PostgresSaver.from_conn_string(postgres_url) as saver:
        saver.setup()
        with PostgresChatMessageHistory("ann", postgres_url) as history:
            history.add_user_message("hi")
            assert len(history.messages) == 1


async def test_async_calls(postgres_url):
    with PostgresChatMessageHistory("ann", postgres_url) as history:
        await history.aadd_messages(TALK)
        assert await history.aget_messages() == TALK
        await history.aclear()
        assert await history.aget_messages() == []


def test_a_chat_remembers_what_was_said(postgres_url):
    chat = RunnableWithMessageHistory(
        RunnableLambda(lambda ms: AIMessage(str(len(ms)))),
        lambda session_id: PostgresChatMessageHistory(session_id, postgres_url),
    )
    config = {"configurable": {"session_id": "ann"}}
    assert [chat.invoke("hi", config).content for _ in range(3)] == ["1", "3", "5"]
