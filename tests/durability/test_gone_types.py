"""Values whose type has gone, or has changed: the error says which key of which thread it is in."""

from __future__ import annotations

import os
from enum import Enum
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from plait import Command, RenamedFrom, deploy, interrupt
from plait.checkpoint.serde.encrypted import EncryptedSerializer
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import CorruptCheckpointError, UnknownKeyWarning, UnregisteredTypeError
from plait.graph import START, StateGraph
from plait.testing import fork

from .graphs import config, line

Items = Annotated[list[str], add]


def colored(saver: Any, color: Any) -> Any:
    builder = StateGraph(TypedDict("Colored", {"color": color}))
    builder.add_node("keep", lambda state: state).add_edge(START, "keep")
    return builder.compile(checkpointer=saver)


def colors(*names: str) -> Any:
    return Enum("Color", names, module=__name__, qualname="Color")


@pytest.mark.parametrize("gone", [False, True])
def test_a_value_that_cannot_be_made_any_more_is_placed(tmp_path: Path, gone: bool) -> None:
    def work(_: Any) -> None:
        color = colors("RED", "BLUE")
        with SqliteSaver(tmp_path / "log.db") as saver:
            colored(saver, color).invoke({"color": color.BLUE}, config("t"))

    assert fork(work).wait() == 0
    error = UnregisteredTypeError if gone else CorruptCheckpointError
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = colored(saver, Any if gone else colors("RED"))
        for read in (
            lambda: graph.get_state(config("t")),
            lambda: [each.values for each in graph.get_state_history(config("t"))],
            lambda: graph.invoke(None, config("t")),
            lambda: graph.update_state(config("t"), {}),
        ):
            with pytest.raises(error, match=r"^Key '(color|__start__)' of thread 't': A stored"):
                read()


def newer(saver: Any, color: Any) -> Any:
    """Code with a key of which older code knows nothing."""
    schema: Any = TypedDict("Newer", {"items": Items, "color": color, "colors": list[color]})
    written = {"items": ["new"], "color": color.BLUE, "colors": [*color] * 50}
    builder = StateGraph(schema).add_node("keep", lambda state: written)
    return builder.add_edge(START, "keep").compile(checkpointer=saver)


def older(saver: Any, **given: Any) -> Any:
    schema: Any = TypedDict("Older", {"items": Items, **given.pop("keys", {})})
    builder = StateGraph(schema, **given).add_node("keep", lambda state: {"items": ["old"]})
    return builder.add_edge(START, "keep").compile(checkpointer=saver)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A thread that newer code has stored, in a process of its own."""
    path = tmp_path / "log.db"

    def store(_: Any) -> None:
        color: Any = colors("RED", "BLUE")
        with SqliteSaver(path) as saver:
            newer(saver, color).invoke({"items": []}, config("t"))

    assert fork(store).wait() == 0
    return path


def test_code_without_a_key_goes_on_though_it_does_not_know_the_type_of_its_value(
    stored: Path,
) -> None:
    """Servers of a rolling deploy, or code that was rolled back."""
    with SqliteSaver(stored) as saver:
        graph = older(saver)
        (found,) = deploy.check(graph, saver).threads
        assert (found.verdict, [each.name for each in found.findings]) == (
            "migrates",
            ["color", "colors"],
        )
        assert graph.get_state(config("t")).values == {"items": ["new"]}
        history = [each.values for each in graph.get_state_history(config("t"))]
        assert history == [{"items": ["new"]}, {"items": []}, {"items": []}]
        assert graph.invoke({"items": ["?"]}, config("t")) == {"items": ["new", "?", "old"]}
        graph.update_state(config("t"), {"items": ["by hand"]})
        assert graph.get_state(config("t")).values["items"][-1] == "by hand"

    def read(_: Any) -> None:
        color: Any = colors("RED", "BLUE")
        with SqliteSaver(stored) as saver:
            values = newer(saver, color).get_state(config("t")).values
            assert (values["color"], values["colors"]) == (color.BLUE, [*color] * 50)

    assert fork(read).wait() == 0, "newer code finds its key as it was"


def asks_twice(saver: Any, **keys: Any) -> Any:
    """Two nodes that ask; the first of them also writes what its keys say."""
    types = {key: type(value) for key, value in keys.items()}
    schema: Any = TypedDict("Asking", {"items": Items, **types})
    builder = StateGraph(schema)
    builder.add_node("a", lambda state: {"items": [interrupt("a")], **keys})
    builder.add_node("b", lambda state: {"items": [interrupt("b")]})
    return builder.add_edge(START, "a").add_edge(START, "b").compile(checkpointer=saver)


@pytest.mark.parametrize("first", [False, True], ids=["older began", "newer began"])
def test_what_a_task_of_newer_code_wrote_to_such_a_key_is_dropped_with_a_word(
    tmp_path: Path, first: bool
) -> None:
    def answer(_: Any) -> None:
        color: Any = colors("RED")
        with SqliteSaver(tmp_path / "log.db") as saver:
            graph = asks_twice(saver, color=color.RED)
            if first:
                graph.invoke({"items": []}, config("t"))
            a, _b = graph.get_state(config("t")).interrupts
            graph.invoke(Command(resume={a.id: "one"}), config("t"))

    if not first:
        with SqliteSaver(tmp_path / "log.db") as saver:
            asks_twice(saver).invoke({"items": []}, config("t"))
    assert fork(answer).wait() == 0
    with SqliteSaver(tmp_path / "log.db") as saver:
        with pytest.raises(UnregisteredTypeError, match="Key 'color'"):
            older(saver, keys={"color": Any}).get_state(config("t"))
        graph = asks_twice(saver)
        state = graph.get_state(config("t"))
        assert (state.values, state.next) == ({"items": ["one"]}, ("b",))
        with pytest.warns(UnknownKeyWarning, match="'color'"):
            done = graph.invoke(Command(resume="two"), config("t"))
        assert done == {"items": ["one", "two"]}


@pytest.mark.parametrize("key", ["color", "colors"])
def test_code_that_reads_such_a_value_under_any_name_is_told(stored: Path, key: str) -> None:
    with SqliteSaver(stored) as saver:
        keyed = older(saver, keys={key: Any})
        renamed = older(saver, keys={"now": Annotated[Any, RenamedFrom(key)]})
        migrated = older(saver, version=2, migrations={1: lambda values: values})
        for graph in (keyed, renamed, migrated):
            (found,) = deploy.check(graph, saver).threads
            assert found.verdict == "breaks"
            assert "it cannot be read: " in found.findings[-1].what
            for read in (
                lambda graph=graph: graph.get_state(config("t")),
                lambda graph=graph: [s.values for s in graph.get_state_history(config("t"))],
                lambda graph=graph: graph.invoke({"items": ["?"]}, config("t")),
                lambda graph=graph: graph.update_state(config("t"), {}),
            ):
                with pytest.raises(UnregisteredTypeError, match="Color"):
                    read()
        assert len([*older(saver).get_state_history(config("t"))]) == 3, "nothing was stored"


def test_a_copy_that_cannot_be_decrypted_names_the_thread(tmp_path: Path) -> None:
    old, new = (EncryptedSerializer.from_keys({id: os.urandom(32)}) for id in "ab")
    with SqliteSaver(tmp_path / "log.db", serde=old) as saver:
        line(saver).invoke({"items": []}, config("t"))
    with SqliteSaver(tmp_path / "log.db", serde=new) as saver:
        with pytest.raises(CorruptCheckpointError, match=r"thread 't': .* 'aesgcm:a'"):
            saver.copy_thread("t", "copy")
        assert line(saver).get_state(config("copy")).values == {}
