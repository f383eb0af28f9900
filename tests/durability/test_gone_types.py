"""Values whose type has gone, or has changed: the error says which key of which thread it is in."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Any, TypedDict

import pytest

from plait.checkpoint.serde.encrypted import EncryptedSerializer
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import CorruptCheckpointError, UnregisteredTypeError
from plait.graph import START, StateGraph
from plait.testing import fork

from .graphs import config, line


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


def test_a_copy_that_cannot_be_decrypted_names_the_thread(tmp_path: Path) -> None:
    old, new = (EncryptedSerializer.from_keys({id: os.urandom(32)}) for id in "ab")
    with SqliteSaver(tmp_path / "log.db", serde=old) as saver:
        line(saver).invoke({"items": []}, config("t"))
    with SqliteSaver(tmp_path / "log.db", serde=new) as saver:
        with pytest.raises(CorruptCheckpointError, match=r"thread 't': .* 'aesgcm:a'"):
            saver.copy_thread("t", "copy")
        assert line(saver).get_state(config("copy")).values == {}
