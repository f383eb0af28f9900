"""The parts of a run: driving it, handing parts on, and the shapes in which callers get them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from plait.common.closing import STARTED, aclose, read_inside
from plait.constants import INTERRUPT
from plait.drivers.base import Part, driver_source
from plait.engine.events import Chunk
from plait.engine.plan import View
from plait.engine.spec import Outcome
from plait.errors import GraphInterrupt, ParentCommand, open_again
from plait.pregel.hints import explain
from plait.pregel.run import Run
from plait.types import Command, GraphOutput

if TYPE_CHECKING:
    from plait.drivers.aio import AioDriver
    from plait.drivers.sync import SyncDriver


@cache
def _sync_driver() -> type[SyncDriver]:
    from plait.drivers.sync import SyncDriver  # threads only where something runs

    return SyncDriver


@cache
def _aio_driver() -> type[AioDriver]:
    from plait.drivers.aio import AioDriver  # asyncio only where it is used

    return AioDriver


def finish(run: Run) -> None:
    """Drive a run to its end, of which nobody wants to hear."""
    if driver_source.get() is not None:
        for _ in parts_of(run):
            pass
        return
    driver = run.driver = _sync_driver()(run.loop, run.scope, run.storage)
    try:
        driver.finish()
    except Exception as error:
        _tell_outside(error, run)
        raise
    _bubble(run)


async def afinish(run: Run) -> None:
    """`finish` in an event loop."""
    if driver_source.get() is not None:
        async for _ in aparts_of(run):
            pass
        return
    driver = run.driver = _aio_driver()(run.loop, run.scope, run.storage)
    try:
        await driver.finish()
    except Exception as error:
        _tell_outside(error, run)
        raise
    _bubble(run)


def parts_of(run: Run) -> Generator[Part, None, None]:
    """Drive a run to its end; a nested one also hands its parts to the run around it."""
    source = driver_source.get()
    make = _sync_driver() if source is None else source.sync
    driver = run.driver = make(run.loop, run.scope, run.storage)
    try:
        if _is_passed_on(run):
            for part in driver.parts():
                _pass_on(run, part)
                yield part
        else:
            yield from driver.parts()
    except Exception as error:
        _tell_outside(error, run)
        raise
    _bubble(run)


@read_inside
async def aparts_of(run: Run) -> AsyncGenerator[Part, None]:
    """`parts_of` in an event loop."""
    yield STARTED
    source = driver_source.get()
    make = _aio_driver() if source is None else source.aio
    driver = run.driver = make(run.loop, run.scope, run.storage)
    parts = driver.parts()
    try:
        passed_on = _is_passed_on(run)
        async for part in parts:
            if passed_on:
                _pass_on(run, part)
            yield part
    except Exception as error:
        _tell_outside(error, run)
        raise
    finally:
        await aclose(parts)
    _bubble(run)


def shaped(part: Part, run: Run, mode: str | Sequence[str], subgraphs: bool, version: str) -> Any:
    """A part of the run in the form that was asked for."""
    ns, name, payload = part
    if version == "v2":
        shaped: dict[str, Any] = {"type": name, "ns": ns, "data": payload}
        if name == "values":
            values, interrupts = _split(payload)
            # What a nested run tells need not fit the schema of this graph: it stays a dict.
            data = run.graph.as_output(values) if ns == run.ns else values
            shaped |= {"data": data, "interrupts": interrupts}
        elif name in _WITH_STATES and ns == run.ns:
            shaped["data"] = _with_state(payload, run)
        return shaped
    if isinstance(mode, str):
        return (ns, payload) if subgraphs else payload
    return (ns, name, payload) if subgraphs else (name, payload)


_WITH_STATES = frozenset(("checkpoints", "debug"))
"""The modes whose payloads hold states."""


def _with_state(payload: dict[str, Any], run: Run) -> dict[str, Any]:
    """The payload of a checkpoint with its values in the form of the graph's state schema.

    Those of an input stay a dict: the first one's are no whole state yet.
    """
    if payload.get("type") == "checkpoint":  # of `debug`: the payload is inside
        return {**payload, "payload": _with_state(payload["payload"], run)}
    if payload.get("values") and payload["metadata"]["source"] != "input":
        return {**payload, "values": run.graph.as_state(payload["values"])}
    return payload


def _split(values: Any) -> tuple[Any, tuple[Any, ...]]:
    """A state and the questions beside it."""
    if not isinstance(values, dict):
        return values, ()
    plain = cast("dict[str, Any]", values)
    if INTERRUPT not in plain:
        return plain, ()
    return {k: v for k, v in plain.items() if k != INTERRUPT}, tuple(plain[INTERRUPT])


def result_of(run: Run, mode: str | Sequence[str] | None, parts: list[Any], version: str) -> Any:
    """What `invoke` returns: the last state with its questions, or the parts of another mode."""
    if mode != "values":
        return parts
    outcome: Outcome = run.driver.outcome
    value = outcome.value
    if version == "v2":
        return GraphOutput(run.graph.as_output(value), outcome.interrupts)
    if outcome.interrupts:
        questions = list(outcome.interrupts)
        state = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        return {**state, INTERRUPT: questions}
    if isinstance(run.graph.plan.output, View) and not value:
        return None
    return value


def _tell_outside(error: Exception, run: Run) -> None:
    """Make an error that ends a run what the outside is to see.

    Raises:
        ParentCommand: it is a Command for the parent, which leaves a nested run as one for the
            graph around it.
    """
    if not isinstance(error, ParentCommand):
        if run.parent is not None and run.parent.task.questions is not None:
            # One of several runs that the task makes at once ends it; the others count, too.
            run.parent.task.questions.refused |= open_again(error)
        explain(error, run)
        return
    command: Command[Any] = error.args[0]
    if run.parent is None or command.graph is None:
        raise error from None
    raise ParentCommand(
        Command(update=command.update, resume=command.resume, goto=command.goto)
    ) from None


def _bubble(run: Run) -> None:
    """A nested run that waits makes the task around it wait."""
    outcome: Outcome = run.driver.outcome
    if run.parent is None:
        return
    task = run.parent.task
    if outcome.interrupts:
        task.asked().inside[run.ns_path] = outcome.interrupts
    elif task.questions is not None and task.questions.inside:  # else no namespace is made
        task.questions.inside.pop(run.ns_path, None)
    if outcome.interrupts or outcome.stopped:
        raise GraphInterrupt(outcome.interrupts)


def _is_passed_on(run: Run) -> bool:
    """Whether parts are also for others than whoever drives the run."""
    return bool(run.printed) or (run.parent is not None and run.parent.run.subgraphs)


def _pass_on(run: Run, part: Part) -> None:
    """Print a part if that was asked for, and tell it to the run around a nested one."""
    if part[1] in run.printed:
        _print(part)
    if run.parent is not None and run.parent.run.subgraphs:
        chunk = part if type(part) is Chunk else Chunk(*part)
        run.parent.deliver(chunk, run.parent.run)


def _print(part: Part) -> None:
    ns, mode, payload = part
    where = f"[{'|'.join(ns)}]" if ns else ""
    print(f"\x1b[1m[{mode}]{where}\x1b[0m {payload}")
