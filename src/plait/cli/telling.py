"""How commands tell things: tables and JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.cells import cell_len
from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn

from plait.timers import moment_of


def console() -> Console:
    """Where people read: lines are not cut where the output is no terminal."""
    width = None if sys.stdout.isatty() else 500
    return Console(soft_wrap=True, highlight=False, width=width)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Sequence[str] = ()) -> None:
    """Print a table; the columns named in `numbers` stand right.

    Its lines are made here: rich's tables take half a millisecond a row, a minute for the threads
    of a large database.
    """
    cells = [[_in_one_line(str(cell)) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(head, *cells, strict=True)]
    rights = [name in numbers for name in head]

    def line(row: Sequence[str]) -> str:
        padded: list[str] = []
        for text, width, right in zip(row, widths, rights, strict=True):
            space = " " * (width - _width(text))
            padded.append(space + text if right else text + space)
        return "  ".join(padded).rstrip()

    click.secho(line(head), bold=True)
    for row in cells:
        click.echo(line(row))


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return len(text) if text.isascii() else cell_len(text)


def _in_one_line(text: str) -> str:
    """A text in which line breaks, and what a terminal would obey, are escaped."""
    if text.isprintable():
        return text
    return "".join([c if c.isprintable() else ascii(c)[1:-1] for c in text])


def tell_json(data: Any) -> None:
    """Print data as JSON; what JSON does not know is told as Python shows it."""
    click.echo(json.dumps(data, indent=2, default=as_plain, ensure_ascii=False))


def as_plain(value: Any) -> Any:
    """An object as JSON can tell it."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return repr(value)


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
def progress(what: str) -> Generator[Callable[[Any], None]]:
    """Tell people on stderr how far long work is; gives the function to call after each thread."""
    where = Console(stderr=True)
    if not where.is_terminal:  # a disabled bar of rich before 14.3 writes an empty line
        yield lambda at: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=where, transient=True) as bar:
        task = bar.add_task(what)

        def tell(at: Any) -> None:
            total = f" of {at.total}" if at.total is not None else ""
            bar.update(task, description=f"{what}: {at.done}{total} ({at.thread_id})")

        yield tell


__all__ = ["as_plain", "console", "progress", "size_of", "table", "tell_json", "time_of"]
