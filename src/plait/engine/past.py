"""The past of a checkpoint: which super-steps ran on the way to it.

What a graph with memory has stored belongs to the super-step that it ran in. So who looks for the
memory of a time asks for each checkpoint on the way there: did that super-step run just before it?
"""

from __future__ import annotations

from typing import Final

from plait.engine.records import Mark

PAST: Final = "past"
"""The key of a frontier that says what pruning has cut out before a checkpoint (`Mark.past`)."""
_NOTHING: Final = -2
"""The number of the super-step before an input."""


def before(mark: Mark) -> str | None:
    """The checkpoint that one goes back to."""
    return mark.copy_of or mark.parent_id


def ran_before(mark: Mark, above: Mark | None, made: str) -> bool | None:
    """Whether the super-step on checkpoint `made` ran between a checkpoint and the one before it.

    A run that stores its end alone (`exit`) leaves one checkpoint for many super-steps: it is told
    by its number, and what lies between it and its parent since it began is its own. Ids grow with
    time.

    Args:
        mark: The checkpoint; it is younger than `made`.
        above: What `before` names, if it is still there.

    Returns:
        None where that super-step can only lie further back.

    >>> first, last = Mark("1", None, {"step": 0}), Mark("3", "1", {"step": 1, "source": "loop"})
    >>> ran_before(last, first, "1"), ran_before(last, first, "2"), ran_before(last, first, "0")
    (True, False, None)
    """
    if mark.past is not None and made in mark.past:
        return True
    at = before(mark)
    if at is not None and (mark.copy_of is not None or made < at):
        return None
    if mark.past is not None or mark.metadata.get("source") != "loop":
        return False
    began, went_on = mark.began or ("", True)
    return went_on if made == at else _skips(above, mark) and made >= began


def _skips(above: Mark | None, mark: Mark) -> bool:
    """Whether super-steps between two checkpoints were not stored."""
    if above is None and mark.parent_id is not None:
        return False
    step = _NOTHING if above is None else above.metadata["step"]
    return mark.metadata["step"] > step + 1


__all__ = ["PAST", "before", "ran_before"]
