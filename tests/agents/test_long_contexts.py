"""Summaries, pruned results, to-do lists, searched files: what holds beyond the peer's programs."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.agents import create_agent
from plait.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    FilesystemFileSearchMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
)
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError, ContextOverflowError, ModelAuthenticationError
from plait.messages import AIMessage, HumanMessage, ToolMessage
from plait.testing import ScriptedChatModel

THREAD: Any = {"configurable": {"thread_id": "1"}}
NOW: Any = None  # a runtime that no hook looks at


def call(name: str, id: str = "1", **args: Any) -> Any:
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def talk(n: int) -> list[Any]:
    return [HumanMessage(f"q{i}") if i % 2 == 0 else AIMessage(f"a{i}") for i in range(n)]


# --- summaries -----------------------------------------------------------------------------------


@st.composite
def histories(draw: Any) -> list[Any]:
    """Turns of a user and an agent, each with any number of calls, all of them answered."""
    made: list[Any] = []
    for turn in range(draw(st.integers(1, 5))):
        made.append(HumanMessage(f"q{turn}"))
        for step in range(draw(st.integers(0, 3))):
            ids = [f"{turn}-{step}-{at}" for at in range(draw(st.integers(1, 3)))]
            made.append(AIMessage("", tool_calls=[call("t", id) for id in ids]))
            made.extend(ToolMessage("r", tool_call_id=id) for id in ids)
        made.append(AIMessage("so"))
    return made


@given(histories(), st.integers(1, 12))
def test_a_summary_parts_no_call_from_its_results(history: list[Any], keep: int):
    middleware = SummarizationMiddleware(
        ScriptedChatModel(lambda messages: "notes"),
        trigger=("messages", 1),
        keep=("messages", keep),
    )
    update = middleware.before_model({"messages": history}, NOW)
    if update is None:
        return
    left = update["messages"][2:]
    calls = {one["id"] for message in left if message.type == "ai" for one in message.tool_calls}
    answered = {message.tool_call_id for message in left if message.type == "tool"}
    assert calls == answered
    assert left == history[len(history) - len(left) :]
    assert len(left) >= keep


def test_a_conversation_is_summarized_again_and_again_and_stays_short(tmp_path: Path):
    writer = ScriptedChatModel(lambda messages: f"notes on {len(messages[0].text) > 0}")
    model = ScriptedChatModel(lambda messages: f"heard {len(messages)}")
    middleware = [SummarizationMiddleware(writer, trigger=("messages", 6), keep=("messages", 2))]
    with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
        agent = create_agent(model, middleware=middleware, checkpointer=saver)
        for turn in range(20):
            result = agent.invoke({"messages": [("user", f"turn {turn}")]}, THREAD)
            assert len(result["messages"]) <= 7
    assert len(writer.calls) >= 4
    assert all(len(asked.messages) <= 6 for asked in model.calls)


def test_a_history_that_is_too_long_for_its_writer_is_cut_in_the_middle():
    writer = ScriptedChatModel([ContextOverflowError("too long"), "notes"])
    middleware = SummarizationMiddleware(
        writer, trigger=("messages", 2), keep=("messages", 1), summary_prompt="{messages}"
    )
    assert middleware.before_model({"messages": talk(20)}, NOW) is not None
    whole, cut = (made.messages[0].text for made in writer.calls)
    assert len(cut) < len(whole)
    assert "q0" in cut
    assert "q18" in cut


def test_an_error_that_stays_leaves_the_messages_as_they_were(monkeypatch: pytest.MonkeyPatch):
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    writer = ScriptedChatModel([OSError("down")] * 3)
    agent = create_agent(
        ScriptedChatModel(["fine"]),
        middleware=[SummarizationMiddleware(writer, trigger=("messages", 3))],
        checkpointer=InMemorySaver(),
    )
    with pytest.raises(OSError, match="down"):
        agent.invoke({"messages": talk(25)}, THREAD)
    assert len(agent.get_state(THREAD).values["messages"]) == 25
    assert len(writer.calls) == 3
    assert len(waited) == 2


def test_what_does_not_pass_is_not_tried_again():
    writer = ScriptedChatModel([ModelAuthenticationError("no key")])
    middleware = SummarizationMiddleware(writer, trigger=("messages", 2), keep=("messages", 1))
    with pytest.raises(ModelAuthenticationError):
        middleware.before_model({"messages": talk(4)}, NOW)
    assert len(writer.calls) == 1


def test_braces_in_a_conversation_are_text_and_so_are_doubled_ones_in_a_prompt():
    writer = ScriptedChatModel(["{notes}"])
    middleware = SummarizationMiddleware(
        writer,
        trigger=("messages", 2),
        keep=("messages", 1),
        summary_prompt='As {{"json": 1}}: {messages}',
    )
    talked = [HumanMessage("{0} {messages}"), AIMessage("x")]
    assert middleware.before_model({"messages": talked}, NOW) is not None
    assert writer.calls[0].messages[0].text.startswith('As {"json": 1}: <message')


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"trigger": ("tokens", 0)}, "more than 0"),
        ({"trigger": ("lines", 5)}, "unknown unit 'lines'"),
        ({"trigger": 5}, "must be a pair"),
        ({"trigger": ("fraction", 0.5)}, "max_input_tokens"),
        ({"keep": [("messages", 5)]}, "keep must be a pair"),
        ({"trigger": {}}, "at least one of"),
        ({"summary_prompt": "{{messages}}"}, "no place {messages}"),
        ({"summary_prompt": "{a} {messages}"}, "'a'"),
        ({"summary_prompt": "{ {messages}"}, "for the signs themselves"),
        ({"summary_prompt": "{messages.x} {}"}, "is no place"),
    ],
)
def test_an_option_that_is_none_is_told_at_once(options: Any, says: str):
    with pytest.raises(ConfigError, match=says):
        SummarizationMiddleware(ScriptedChatModel([]), **options)


# --- pruned results ------------------------------------------------------------------------------


@given(histories(), st.integers(0, 4), st.booleans())
def test_pruning_keeps_every_message_in_its_place_and_changes_none_of_the_callers(
    history: list[Any], keep: int, inputs: bool
):
    before = [message.model_copy() for message in history]
    edit = ClearToolUsesEdit(trigger=0, keep=keep, clear_tool_inputs=inputs)
    pruned = list(history)
    edit.apply(pruned, count_tokens=len)
    assert history == before
    assert [(one.type, one.id) for one in pruned] == [(one.type, one.id) for one in before]
    results = [message for message in pruned if message.type == "tool"]
    cut = max(len(results) - keep, 0)
    assert [message.text for message in results] == ["[cleared]"] * cut + ["r"] * min(
        keep, len(results)
    )


def test_the_conversation_itself_is_not_pruned():
    def search(query: str) -> str:
        """Search."""
        return query * 50

    script = [AIMessage("", tool_calls=[call("search", str(i), query=f"{i}")]) for i in range(4)]
    edit = ClearToolUsesEdit(trigger=1, keep=1)
    agent = create_agent(
        ScriptedChatModel([*script, "done"]),
        [search],
        middleware=[ContextEditingMiddleware(edits=[edit])],
    )
    result = agent.invoke({"messages": [("user", "go")]})
    assert not any("cleared" in message.text for message in result["messages"])


# --- to-do lists ---------------------------------------------------------------------------------


def test_the_list_is_seen_while_the_agent_works_and_survives_a_restart(tmp_path: Path):
    todos = [{"content": "look", "status": "in_progress"}]
    script = [AIMessage("", tool_calls=[call("write_todos", todos=todos)]), "done"]

    def agent(saver: Any, model: Any) -> Any:
        return create_agent(model, middleware=[TodoListMiddleware()], checkpointer=saver)

    with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
        parts = list(
            agent(saver, ScriptedChatModel(script)).stream(
                {"messages": [("user", "go")]}, THREAD, stream_mode="values"
            )
        )
    assert [part.get("todos") for part in parts][-2:] == [todos, todos]
    with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
        assert agent(saver, ScriptedChatModel([])).get_state(THREAD).values["todos"] == todos


# --- searched files ------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> FilesystemFileSearchMiddleware:
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    (root / "in" / "a.txt").write_text("secret inside\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.txt").write_text("secret outside\n")
    (tmp_path / "root-b").mkdir()
    (tmp_path / "root-b" / "c.txt").write_text("secret beside\n")
    (root / "file").symlink_to(tmp_path / "outside" / "b.txt")
    (root / "folder").symlink_to(tmp_path / "outside")
    return FilesystemFileSearchMiddleware(root_path=str(root))


@pytest.mark.parametrize(
    "path", ["/", "..", "/..", "../root-b", "/folder", "folder/..", "in/../..", "//etc", "~"]
)
def test_no_path_leads_out_of_the_folder(files: FilesystemFileSearchMiddleware, path: str):
    found = files.grep_search.invoke({"pattern": "secret", "path": path, "output_mode": "content"})
    assert "outside" not in found
    assert "beside" not in found
    for pattern in ("**/*.txt", "../**/*.txt", "*", "folder/*", "../*/*"):
        listed = files.glob_search.invoke({"pattern": pattern, "path": path})
        assert "b.txt" not in listed
        assert "c.txt" not in listed
        assert "/file" not in listed.splitlines()


def test_an_absolute_pattern_begins_at_the_folder(files: FilesystemFileSearchMiddleware):
    assert files.glob_search.invoke("/in/*.txt") == "/in/a.txt"
    assert files.glob_search.invoke("/") == "No files found"


def test_a_folder_that_is_none_is_told_at_once(tmp_path: Path):
    with pytest.raises(ConfigError, match="no folder"):
        FilesystemFileSearchMiddleware(root_path=str(tmp_path / "nowhere"))


async def test_tools_of_middleware_serve_async_agents(files: FilesystemFileSearchMiddleware):
    said = AIMessage("", tool_calls=[call("glob_search", pattern="**/*.txt")])
    agent = create_agent(ScriptedChatModel([said, "done"]), middleware=[files])
    results = await asyncio.gather(agent.ainvoke({"messages": [("user", "go")]}))
    assert results[0]["messages"][2].text == "/in/a.txt"


# --- messages of another library -----------------------------------------------------------------


def foreign_history() -> list[Any]:
    theirs = pytest.importorskip("langchain_core.messages")
    return [
        theirs.HumanMessage("q", id="1"),
        theirs.AIMessage("", tool_calls=[call("t", "c")], id="2"),
        theirs.ToolMessage("r" * 100, tool_call_id="c", id="3"),
        theirs.AIMessage("so", id="4"),
    ]


def test_messages_of_langchain_are_summarized_and_pruned_like_plaits():
    middleware = SummarizationMiddleware(
        ScriptedChatModel(["notes"]), trigger=("messages", 2), keep=("messages", 2)
    )
    given = [*foreign_history()[:1], *foreign_history()]
    update = middleware.before_model({"messages": given}, NOW)
    assert update is not None
    assert [message.type for message in update["messages"][2:]] == ["ai", "tool", "ai"]
    pruned = foreign_history()
    ClearToolUsesEdit(trigger=0, keep=0).apply(pruned, count_tokens=len)
    assert pruned[2].content == "[cleared]"


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_summarizer_of_ones_own_that_is_given_too_much_is_not_asked_again(flavor: str) -> None:
    """Nothing shorter could be given to it than the messages."""
    asked: list[int] = []

    def summarize(messages: Any) -> str:
        asked.append(len(messages))
        raise ContextOverflowError("too long")

    middleware = SummarizationMiddleware(
        ScriptedChatModel([]), trigger=("messages", 2), keep=("messages", 1), summarizer=summarize
    )
    hook = middleware.before_model
    if flavor == "async":
        hook = lambda state, now: asyncio.run(middleware.abefore_model(state, now))  # noqa: E731
    with pytest.raises(ContextOverflowError, match="too long"):
        hook({"messages": talk(2)}, NOW)
    assert asked == [1]


def test_an_older_spelling_does_not_count_beside_the_one_of_today() -> None:
    with pytest.warns(DeprecationWarning, match="messages_to_keep"):
        made = SummarizationMiddleware(
            ScriptedChatModel([]), keep=("messages", 5), messages_to_keep=3
        )
    assert made.keep == ("messages", 5)


def test_no_more_is_cleared_than_is_asked_for() -> None:
    calls = [call("look", "1"), call("look", "2")]
    results = [ToolMessage("long", tool_call_id=one["id"]) for one in calls]
    messages: list[Any] = [AIMessage("", tool_calls=calls), *results]

    def count(found: Any) -> int:
        return 10 * sum(one.content == "long" for one in found)

    ClearToolUsesEdit(trigger=0, clear_at_least=10, keep=0).apply(messages, count_tokens=count)
    assert [one.content for one in messages[1:]] == ["[cleared]", "long"]
