"""Two people give the same answer at the same moment: one run goes on, the other is told so."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from plait.checkpoint.log.requests import Transact
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ThreadBusyError
from plait.graph import START, StateGraph
from plait.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}}


def asking(saver: Any, paying: Callable[[str], Any]) -> Any:
    """Asks, and pays when it is told to."""

    def pay(state: Any) -> dict[str, Any]:
        paying(interrupt("pay?"))
        return {"done": True}

    return StateGraph(dict).add_node(pay).add_edge(START, "pay").compile(checkpointer=saver)


@pytest.mark.parametrize("kind", [PostgresSaver, SqliteSaver])
def test_a_run_that_is_overtaken_by_one_with_the_same_answer_does_nothing(
    kind: Any, tmp_path: Path, request: Any
) -> None:
    """The fast run has stored the answer and is paying while the slow one, which has looked at the
    thread before, claims it with the same answer."""
    postgres = kind is PostgresSaver
    url = request.getfixturevalue("postgres_url") if postgres else str(tmp_path / "db.sqlite")
    paid: list[str] = []
    paying, refused = Event(), Event()

    def slowly(answer: str) -> None:
        paid.append(f"fast: {answer}")
        paying.set()
        refused.wait(60)

    class Overtaken(kind):
        first: Callable[[], Any] | None = None

        def execute(self, request: Any) -> Any:
            if isinstance(request, Transact) and request.claim is not None:
                first, self.first = self.first, None
                if first is not None:
                    first()
            return super().execute(request)

    yes = Command(resume="yes")
    with (
        kind.from_conn_string(url) as fast,
        Overtaken.from_conn_string(url) as slow,
        ThreadPoolExecutor(1) as pool,
    ):
        fast.setup()
        asking(fast, slowly).invoke({"done": False}, CONFIG)

        def overtake() -> None:
            running.append(pool.submit(asking(fast, slowly).invoke, yes, CONFIG))
            assert paying.wait(60)

        running: list[Any] = []
        slow.first = overtake
        try:
            with pytest.raises(ThreadBusyError):
                asking(slow, lambda answer: paid.append(f"slow: {answer}")).invoke(yes, CONFIG)
        finally:
            refused.set()
        assert running[0].result() == {"done": True}
    assert paid == ["fast: yes"]
