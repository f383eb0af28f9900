"""`plait threads`: what a database holds, what it costs, and how it gets smaller."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from plait.checkpoint.log.progress import Progress
from plait.checkpoint.log.retention import moment
from plait.checkpoint.log.session import LogSession
from plait.cli.database import database_options, open_to_read, open_to_write
from plait.cli.telling import (
    in_one_line,
    line,
    progress,
    shown,
    size_of,
    table,
    tell_json,
    time_of,
)
from plait.engine.records import given, snapshot_of
from plait.errors import ConfigError
from plait.stored import StoredThread, find_thread, list_thread_ids, list_threads

if TYPE_CHECKING:
    from plait.pregel.main import Pregel

_INNER = ("__", "branch:", "join:")
"""What the names of channels begin with that are no keys of the state."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

Command = Callable[..., None]


@click.group("threads", short_help="List, show, copy, prune and delete threads.")
def command() -> None:
    """Look at the threads of a database, copy, prune and delete them.

    --db takes the file of a SqliteSaver or the URL of a Postgres database. list, show, history and
    du open it read-only. Threads that a live run owns are never changed.

    Encrypted threads need their key: PLAIT_AES_KEY, or a --graph whose saver has it.
    """


def _json(function: Command) -> Command:
    option = click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
    return option(function)


@command.command("list", short_help="List the threads, and what they wait for.")
@database_options
@_json
def list_command(database: str, graph: Pregel | None, as_json: bool) -> None:
    """List the threads: when they were last written, where they stand, what they wait for."""
    threads: list[StoredThread] = []
    with open_to_read(database, graph) as saver, progress("reading") as tell:
        for thread in list_threads(saver, graph):
            threads.append(thread)
            tell(Progress(thread.thread_id, len(threads), None))
    if as_json:
        tell_json([as_data(thread) for thread in threads])
        return
    head = ("thread", "updated", "step", "next", "waits for")
    table(head, [(t.thread_id, t.updated, _step(t), _next(t), _waits(t)) for t in threads])
    line(_counted(len(threads)))


def _counted(number: int) -> str:
    return f"{number} thread{'' if number == 1 else 's'}"


def as_data(thread: StoredThread) -> dict[str, Any]:
    """A thread as JSON knows it."""
    return {
        "thread_id": thread.thread_id,
        "checkpoint_id": thread.checkpoint_id,
        "updated": thread.updated,
        "step": thread.step,
        "source": thread.source,
        "metadata": thread.metadata,
        "next": list(thread.next),
        "questions": [{"id": each.id, "value": each.value} for each in thread.questions],
        "due": None if thread.due is None else time_of(thread.due),
        "owned": thread.owned,
        "problem": thread.problem or None,
    }


def _step(thread: StoredThread) -> str:
    return "" if thread.step is None else str(thread.step)


def _next(thread: StoredThread) -> str:
    if thread.problem:
        return f"unreadable: {thread.problem}"
    running = " (running)" if thread.owned else ""
    return (", ".join(thread.next) or "at its end") + running


def _waits(thread: StoredThread) -> str:
    number = sum(not getattr(each, "sleeps", False) for each in thread.questions)
    parts = [f"{number} answer{'s' * (number > 1)}"] if number else []
    if thread.due is not None:
        parts.append(time_of(thread.due))
    return ", ".join(parts)


@command.command("show")
@click.argument("thread_id")
@database_options
@_json
def show_command(thread_id: str, database: str, graph: Pregel | None, as_json: bool) -> None:
    """Show the state of a thread, and what it waits for."""
    with open_to_read(database, graph) as saver:
        thread = find_thread(saver, thread_id, graph)
        stored = saver.run(_session(saver, thread_id, graph).load())
    values = {} if stored is None else _state(stored.values)
    if as_json:
        tell_json({**as_data(thread), "values": values})
        return
    line(f"{thread.thread_id}  checkpoint {thread.checkpoint_id}  {thread.updated}")
    line(f"next: {_next(thread)}")
    for question in thread.questions:
        _show(f"waits for {question.id}: {shown(question.value)}")
    for key, value in values.items():
        _show(f"{key} = {shown(value)}")


def _show(text: str) -> None:
    """Print what may have several lines, such as the repr of a table."""
    for part in text.splitlines():
        line(part)


def _session(saver: Any, thread_id: str, graph: Pregel | None) -> LogSession:
    registry = None if graph is None else graph.registry()
    return saver.open_session(thread_id, registry=registry)


def _state(values: dict[str, Any]) -> dict[str, Any]:
    return {key: given(value) for key, value in values.items() if not key.startswith(_INNER)}


@command.command("history")
@click.argument("thread_id")
@database_options
@_json
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="At most so many."
)
def history_command(
    thread_id: str, database: str, graph: Pregel | None, as_json: bool, limit: int
) -> None:
    """List the checkpoints of a thread, newest first."""
    rows: list[dict[str, Any]] = []
    with open_to_read(database, graph) as saver:
        find_thread(saver, thread_id, graph)
        for page in _session(saver, thread_id, graph).history(limit=limit):
            for each in map(snapshot_of, saver.run(page)):
                rows.append(
                    {
                        "checkpoint_id": each.id,
                        "parent_id": each.parent_id,
                        "created": each.ts,
                        "step": each.metadata.get("step"),
                        "source": each.metadata.get("source"),
                        "made_by": list(each.frontier.get("last", ())),
                    }
                )
    if as_json:
        tell_json(rows)
        return
    head = ("checkpoint", "created", "step", "source", "made by")
    table(
        head,
        [
            (r["checkpoint_id"], r["created"], r["step"], r["source"], ", ".join(r["made_by"]))
            for r in rows
        ],
    )


@command.command("du", short_help="Tell what threads cost in bytes.")
@click.argument("thread_id", required=False)
@database_options
@_json
def du_command(thread_id: str | None, database: str, graph: Pregel | None, as_json: bool) -> None:
    """Tell what threads cost in bytes: by channel and node, of one thread or of all."""
    channels: Counter[str] = Counter()
    nodes: Counter[str] = Counter()
    threads: Counter[str] = Counter()
    with open_to_read(database, graph) as saver, progress("counting") as tell:
        names = (
            [*list_thread_ids(saver)]
            if thread_id is None
            else [find_thread(saver, thread_id, graph).thread_id]
        )
        for done, name in enumerate(names):
            at = Progress(name, done, len(names))
            usage = saver.usage(name, progress=partial(_amid, tell, at))
            channels.update(usage.by_channel)
            nodes.update(usage.by_node)
            threads[name] = usage.total
            tell(at._replace(done=done + 1))
    told = {"thread": threads, "channel": channels, "node": nodes}
    if as_json:
        counts = {f"by_{what}": dict(each.most_common()) for what, each in told.items()}
        tell_json({"total": sum(threads.values()), **counts})
        return
    for what, each in told.items():
        table((what, "bytes"), [(n, size_of(b)) for n, b in each.most_common()], ["bytes"])
        line()
    line(f"total {size_of(sum(threads.values()))}")


def _amid(tell: Callable[[Progress], None], at: Progress, inside: Progress) -> None:
    """Tell how far the work on one of several threads is."""
    tell(at._replace(records=inside.records))


@command.command("prune", short_help="Delete old checkpoints, or expired threads.")
@click.argument("thread_ids", nargs=-1)
@database_options
@click.option("--all", "every", is_flag=True, help="All threads, instead of those named.")
@click.option("--keep-last", type=click.IntRange(0), help="Checkpoints to keep of each namespace.")
@click.option("--older-than", metavar="WHEN", help="A time (ISO 8601), or an age such as 30d.")
@click.option("--expired", is_flag=True, help="Delete threads whose time to live is over.")
@click.option("--ttl", metavar="AGE", help="With --expired: for threads without a thread_ttl.")
def prune_command(
    thread_ids: tuple[str, ...],
    database: str,
    graph: Pregel | None,
    every: bool,
    keep_last: int | None,
    older_than: str | None,
    expired: bool,
    ttl: str | None,
) -> None:
    """Delete old checkpoints, and what only they needed; or, with --expired, whole threads.

    Without --keep-last and --older-than, the newest checkpoint of each namespace is kept. Without
    --ttl, the time to live is that of the saver of --graph, where it has one.
    """
    if sum((bool(thread_ids), every, expired)) != 1:
        raise ConfigError("Name the threads to prune, or give --all, or --expired.")
    if expired and (keep_last is not None or older_than is not None):
        raise ConfigError(
            "--expired deletes whole threads: --keep-last and --older-than are for the checkpoints "
            "of those named, or of --all."
        )
    if ttl is not None and not expired:
        raise ConfigError(
            "--ttl says when threads expire: give --expired, which deletes those that have. For "
            "old checkpoints there is --older-than."
        )
    with open_to_write(database, graph) as saver:
        if expired:
            done = _sweep(saver, graph, None if ttl is None else _age(ttl).total_seconds())
        else:
            names = [*(list_thread_ids(saver) if every else dict.fromkeys(thread_ids))]
            for name in thread_ids:
                find_thread(saver, name, graph)
            when = None if older_than is None else _when(older_than)
            with progress("pruning") as tell:
                saver.prune(names, keep_last=keep_last, older_than=when, progress=tell)
            done = f"Pruned {_counted(len(names))}."
    click.echo(done)


def _sweep(saver: Any, graph: Pregel | None, ttl: float | None) -> str:
    if ttl is None:
        ttl = getattr(getattr(graph, "checkpointer", None), "ttl", None)
    if ttl is None:
        click.echo(
            "Only threads with a thread_ttl of their own can expire: give --ttl, or the --graph "
            "whose saver has a ttl, for the others.",
            err=True,
        )
    with progress("sweeping") as tell:
        swept = saver.sweep(ttl=ttl, progress=tell)
    left = f", left {len(swept.busy)} in use" if swept.busy else ""
    return f"Deleted {len(swept.deleted)} of the threads{left}."


def _age(text: str) -> timedelta:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text)
    if found is None:
        raise ConfigError(f"{text!r} is no age. Give a number and a unit: 90s, 15m, 12h, 30d, 4w.")
    try:
        return timedelta(seconds=float(found[1]) * _UNITS[found[2]])
    except OverflowError:
        raise ConfigError(f"{text!r} is longer than time itself: give a shorter age.") from None


def _when(text: str) -> datetime:
    if re.fullmatch(r"[\d.]+[a-z]", text):
        return moment(_age(text))
    try:
        return moment(text)
    except ConfigError as error:
        raise ConfigError(f"{error} Or give an age: 90s, 15m, 12h, 30d, 4w.") from None


@command.command("copy", short_help="Copy a thread with its whole history.")
@click.argument("source")
@click.argument("target")
@database_options
def copy_command(source: str, target: str, database: str, graph: Pregel | None) -> None:
    """Copy thread SOURCE, with its whole history, to a new thread TARGET."""
    with open_to_write(database, graph) as saver, progress("copying") as tell:
        saver.copy_thread(source, target, progress=tell)
    line(f"Copied {source} to {target}.")


@command.command("delete")
@click.argument("thread_ids", nargs=-1, required=True)
@database_options
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete_command(
    thread_ids: tuple[str, ...], database: str, graph: Pregel | None, yes: bool
) -> None:
    """Delete threads with all that is kept of them."""
    names = [*dict.fromkeys(thread_ids)]
    with open_to_write(database, graph) as saver:
        for name in names:
            find_thread(saver, name, graph)
        if not yes:
            click.confirm(f"Delete {in_one_line(', '.join(names))} for good?", abort=True)
        with progress("deleting") as tell:
            for done, name in enumerate(names, 1):
                saver.delete_thread(name)
                tell(Progress(name, done, len(names)))
    line(f"Deleted {_counted(len(names))}.")
