"""How commands tell things: tables and JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, cast

import click
from rich.cells import cell_len
from rich.console import Console

from plait.checkpoint.log.progress import Progress
from plait.timers import moment_of

EVERY = 5.0
"""Seconds between two lines about long work, where no terminal shows it."""

_KEYS = (str, int, float, bool, type(None))
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a pair: no encoding can write it, and JSON escapes it as Python does."""


def line(text: str = "") -> None:
    """Print a line for people."""
    click.echo(in_one_line(text))


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Sequence[str] = ()) -> None:
    """Print a table; the columns named in `numbers` stand right.

    Its lines are made here: rich's tables take half a millisecond a row, a minute for the threads
    of a large database.
    """
    cells = [[in_one_line(str(cell)) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(head, *cells, strict=True)]
    rights = [name in numbers for name in head]

    def joined(row: Sequence[str]) -> str:
        padded: list[str] = []
        for text, width, right in zip(row, widths, rights, strict=True):
            space = " " * (width - _width(text))
            padded.append(space + text if right else text + space)
        return "  ".join(padded).rstrip()

    click.secho(joined(head), bold=True)
    for row in cells:
        click.echo(joined(row))


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return len(text) if text.isascii() else cell_len(text)


def in_one_line(text: str) -> str:
    """A text in which line breaks, and what a terminal would obey, are escaped."""
    if text.isprintable():
        return text
    return "".join([c if c.isprintable() else ascii(c)[1:-1] for c in text])


def tell_json(data: Any) -> None:
    """Print data as JSON; what JSON does not know is told as Python shows it."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    told = json.dumps(_keyed(data), indent=2, default=_plain, ensure_ascii=plain)
    click.echo(_SURROGATE.sub(lambda found: ascii(found[0])[1:-1], told))


def _plain(value: Any) -> Any:
    return _keyed(as_plain(value))


def _keyed(value: Any) -> Any:
    """Data whose dicts have the keys that JSON knows."""
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return {key if isinstance(key, _KEYS) else repr(key): _keyed(each) for key, each in pairs}
    if isinstance(value, (list, tuple)):
        return [_keyed(each) for each in cast("Sequence[Any]", value)]
    return value


def as_plain(value: Any) -> Any:
    """An object as JSON can tell it."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        try:
            return dump()
        except Exception:  # any code may dump and show
            return shown(value)
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return shown(value)


def shown(value: object) -> str:
    """A value as Python shows it; objects that cannot show themselves are told by their class."""
    try:
        return repr(value)
    except Exception as error:
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}: {error}>"


def time_of(seconds: float) -> str:
    """A time, ISO 8601 in UTC."""
    return moment_of(seconds).isoformat()


def size_of(number: int) -> str:
    """Bytes as people read them.

    >>> size_of(999), size_of(1536), size_of(5_000_000)
    ('999 B', '1.5 KB', '4.8 MB')
    """
    size, unit = float(number), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{number} B" if unit == "B" else f"{size:.1f} {unit}"


@contextmanager
def progress(what: str) -> Generator[Callable[[Progress], None]]:
    """Tell on stderr how far long work is: people by a line that changes, logs now and then.

    Args:
        what: the work, such as "pruning".

    Returns:
        The function to call after each thread, and inside long ones.
    """
    where = Console(stderr=True)
    if not where.is_terminal:  # a disabled bar of rich before 14.3 writes an empty line
        yield _logging(what)
        return
    from rich.progress import Progress as Bar  # takes as long to load as a short command to run
    from rich.progress import SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
    with Bar(*columns, console=where, transient=True) as bar:
        task = bar.add_task(what)
        yield lambda at: bar.update(task, description=f"{what}: {far(at)}")


def far(at: Progress) -> str:
    """How far work is, as people read it.

    >>> far(Progress("a", 3, 7)), far(Progress("b", 3, None, 2000))
    ('3 of 7 (a)', '3 (b: 2,000 records)')
    """
    total = "" if at.total is None else f" of {at.total}"
    records = f": {at.records:,} records" if at.records else ""
    return f"{at.done}{total} ({in_one_line(at.thread_id)}{records})"


def _logging(what: str) -> Callable[[Progress], None]:
    next_at = monotonic() + EVERY

    def tell(at: Progress) -> None:
        nonlocal next_at
        if monotonic() >= next_at:
            next_at = monotonic() + EVERY
            click.echo(f"{what}: {far(at)}", err=True)

    return tell


__all__ = [
    "as_plain",
    "far",
    "in_one_line",
    "line",
    "progress",
    "size_of",
    "table",
    "tell_json",
    "time_of",
]
