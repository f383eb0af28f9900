"""The comparison itself: what it lets pass, and what it never does."""

from typing import Any

import pytest

from . import harness
from .normal import normalise

CASE = harness.Case("b_interrupts", "no_such_case", "")


def _play(monkeypatch: pytest.MonkeyPatch, theirs: list[Any], ours: Any) -> list[str]:
    """Plays `check` with scripted results; returns the sides that ran."""
    sides: list[str] = []

    def run(_case: harness.Case, side: str) -> Any:
        sides.append(side)
        result = ours if side == "plait" else theirs.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr(harness, "run", run)
    harness.check(CASE)
    return sides


def test_an_oracle_that_races_is_asked_again_and_plait_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sides = _play(monkeypatch, [1, RuntimeError("late"), 2], ours=2)
    assert sides == ["langgraph", "plait", "langgraph", "langgraph"]


@pytest.mark.parametrize("ours", [2, ValueError("ours")])
def test_what_the_oracle_never_answers_is_a_disagreement(
    monkeypatch: pytest.MonkeyPatch, ours: Any
) -> None:
    with pytest.raises(harness.Disagreement, match=r"plait (differs|raised)"):
        _play(monkeypatch, [1] * harness.ORACLE_TRIES, ours)


def test_a_known_difference_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(harness.KNOWN_DIFFERENCES, CASE.title, "Commands of a shell")
    with pytest.raises(harness.Disagreement, match="no longer differs"):
        _play(monkeypatch, [1] * harness.ORACLE_TRIES, ours=1)


def _kinds(*errors: Exception) -> Any:
    return normalise(list(errors))


def test_an_error_of_another_kind_is_named_in_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(harness.KNOWN_DIFFERENCES, CASE.title, "States of agents that are none")
    _play(monkeypatch, [_kinds(KeyError())], ours=_kinds(ValueError()))  # the row names KeyError
    with pytest.raises(harness.Disagreement, match=r"another kind of error than \['OSError'\]"):
        _play(monkeypatch, [_kinds(OSError())] * harness.ORACLE_TRIES, ours=_kinds(ValueError()))


def test_a_known_difference_without_a_row_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(harness.KNOWN_DIFFERENCES, CASE.title, "States of agents")
    with pytest.raises(harness.Disagreement, match="has no row 'States of agents'"):
        _play(monkeypatch, [1] * harness.ORACLE_TRIES, ours=2)
