"""`plait timers`: the threads that wait for a time, and going on with those whose time has come."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext, suppress
from time import time
from typing import Any

import click

from plait.cli.database import database_options, open_to_read, open_to_write
from plait.cli.group import FAILED
from plait.cli.target import load_function, load_graph
from plait.cli.telling import in_one_line, table, tell_json, time_of
from plait.errors import StorageError, ThreadBusyError
from plait.pregel.main import Pregel
from plait.stored import OptionsOf, alist_threads, awake, list_threads


@click.group("timers", short_help="List threads that wait for a time, wake them.")
def command() -> None:
    """Threads that sleep, or wait for an answer until some time."""


@command.command("list")
@database_options
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def list_command(database: str, graph: Pregel | None, as_json: bool) -> None:
    """List what waits for a time, the next one first.

    The exit code is 2 if threads cannot be read: they may wait, too.
    """
    with open_to_read(database, graph) as saver:
        threads = [*list_threads(saver, graph)]
    waits = sorted(
        (each.due, each.thread_id, ", ".join(each.next)) for each in threads if each.due is not None
    )
    if as_json:
        tell_json([{"thread_id": t, "due": time_of(d), "next": n} for d, t, n in waits])
    else:
        table(("due", "thread", "next"), [(time_of(d), t, n) for d, t, n in waits])
    unread = [each for each in threads if each.error is not None]
    for each in unread:
        click.echo(f"{in_one_line(each.thread_id)}: unreadable: {each.problem}", err=True)
    if unread:
        sys.exit(FAILED)


@command.command("run")
@click.argument("target", metavar="MODULE:GRAPH")
@click.option("--db", "database", required=True, metavar="DB", help="The database.")
@click.option("--watch", is_flag=True, help="Go on until stopped, instead of once.")
@click.option("--every", type=click.FloatRange(0.1), default=5.0, show_default=True,
              metavar="SECONDS", help="With --watch: how often to look at the latest.")  # fmt: skip
@click.option("--options-of", metavar="MODULE:FUNCTION",
              help="A function from a thread to options of its call, such as context.")  # fmt: skip
@click.option("--app-dir", default=".", show_default=True, help="Where MODULE is looked for first.")
def run_command(
    target: str, database: str, watch: bool, every: float, options_of: str | None, app_dir: str
) -> None:
    """Go on with the threads of MODULE:GRAPH whose time has come.

    Several of these may run beside each other and beside your program: a thread that another run
    owns is left to it. The exit code is 1 if a thread's run failed, or it cannot be read. Ctrl-C
    is how --watch ends, with 0; without it, what is due was not done, and the exit code is 1.
    """
    graph = load_graph(target, app_dir)
    options = None if options_of is None else load_function(options_of, app_dir)
    stopped = suppress(KeyboardInterrupt) if watch else nullcontext()
    with open_to_write(database, graph, new=True) as saver, stopped:
        graph.checkpointer = saver
        failed = asyncio.run(_run(graph, every if watch else None, options))
        if failed:
            sys.exit(1)


async def _run(graph: Any, every: float | None, options_of: OptionsOf | None = None) -> int:
    """Wake what is due, once or again and again; returns how many could not go on.

    A thread that cannot go on may be met each time: it is told once, and not hurried for.
    """
    told: dict[str, str] = {}
    while True:
        failed, found = 0, False
        told, before = {}, told
        async for woken in awake(graph, options_of=options_of):
            found, name = True, in_one_line(woken.thread_id)
            if woken.error is None:
                click.echo(f"{name}: {'waits again' if woken.waits else 'done'}")
                continue
            busy = isinstance(woken.error, ThreadBusyError)
            failed += not busy
            why = told[woken.thread_id] = _told(woken.error)
            if before.get(woken.thread_id) != why:
                click.echo(f"{name}: {why}", err=not busy)
        if every is None:
            if not found:
                click.echo("Nothing is due.", err=True)
            return failed
        times = [
            each.due
            async for each in alist_threads(graph.checkpointer, graph)
            if each.thread_id not in told
        ]
        first = min((due for due in times if due is not None), default=time() + every)
        await asyncio.sleep(min(every, max(0.1, first - time())))


def _told(error: BaseException) -> str:
    """Why a thread does not go on."""
    if isinstance(error, ThreadBusyError):
        return "in use, left to its run"
    if isinstance(error, StorageError):
        return f"cannot go on: {error}"
    notes = getattr(error, "__notes__", ())  # such as: the run has no context
    return " ".join((f"failed: {error!r}", *notes))
