"""What every generated program is written with: small functions of its nodes, and the player.

A generated program imports these names and nothing else of this package; none of them knows which
side it runs on. The `Player` does one action of a script after the other on a graph, writes down
what came of it, and then what the thread looks like.
"""

import asyncio
import contextlib
import inspect
import io
import re
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from itertools import islice
from typing import Any

from tests.differential.normal import ErrorInfo

A_MOMENT = 0.1  # in which each side ends what else runs: a graph inside, to its limit, too
_PRINTED = re.compile(r"^\x1b\[1m\[(\w+)\]", re.MULTILINE)
_PLACE = ("thread_id", "checkpoint_ns")
"""What names the newest state of a graph inside: what else the peer tells of one that has not begun
leads elsewhere."""
LARGE = 100  # items of a state that may double with each super-step: nothing more is done
LIMIT = 12  # super-steps of a run: enough for each shape, and a loop without an end is soon over


class Planned(Exception):
    """What a node raises because the program says so."""


def merge(left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
    """The reducer of dicts."""
    return {**(left or {}), **(right or {})}


def latest(left: str | None, right: str | None) -> str | None:
    """The reducer of text: several nodes may write it in one super-step."""
    return right or left


def most(left: int | None, right: int | None) -> int:
    """The reducer of the greatest number."""
    return max(left or 0, right or 0)


def look(state: Any, key: str) -> Any:
    """A key of a state of any kind, None where it has none."""
    return state.get(key) if isinstance(state, dict) else getattr(state, key, None)


def seen(state: Any) -> str:
    """What a node finds in its state, as a short text: what it was given becomes comparable."""
    if not isinstance(state, dict):
        state = {k: v for k, v in vars(state).items() if not k.startswith("_")}
    return " ".join(f"{key}={_brief(state[key])}" for key in sorted(state))


def _brief(value: Any) -> str:
    if isinstance(value, list | dict | set | frozenset | deque):
        return f"{type(value).__name__}{len(value)}"
    return repr(value)[:12]


def size(state: Any) -> int:
    """A number that grows while a graph runs, so that a loop may end."""
    sizes = (look(state, "log"), look(state, "d"), look(state, "msgs"))
    return sum(len(s) for s in sizes if s) + (look(state, "n") or 0)


def pick(state: Any, targets: list[Any]) -> Any:
    """Which of its targets a path takes now."""
    return targets[size(state) % len(targets)]


class Trouble:
    """Counts the calls of each node and fails those that the program names.

    A node fails a moment later than the nodes beside it end: both sides then keep what they did.
    Of its tasks that run at once, each fails at a moment of its own.
    """

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()

    def maybe(self, node: str, *calls: int, late: int = 0) -> None:
        """Raises in the given calls of `node`, counted from 1 over all runs."""
        if self._is_due(node, calls):
            time.sleep(self._moment(node, calls, late))
            raise Planned(f"{node}, call {self._calls[node]}")

    async def amaybe(self, node: str, *calls: int, late: int = 0) -> None:
        """`maybe` of an async node."""
        if self._is_due(node, calls):
            await asyncio.sleep(self._moment(node, calls, late))
            raise Planned(f"{node}, call {self._calls[node]}")

    def _is_due(self, node: str, calls: tuple[int, ...]) -> bool:
        self._calls[node] += 1
        return self._calls[node] in calls

    def _moment(self, node: str, calls: tuple[int, ...], late: int) -> float:
        return A_MOMENT * (1 + late + calls.index(self._calls[node]) / 2)


class Player:
    """Does the actions of a script on one graph and keeps a record of each."""

    def __init__(self, graph: Any, command: type, *, aio: bool, saved: bool, sync: bool) -> None:
        self.record: list[Any] = []
        self._options = {"durability": "sync"} if sync else {}
        self._graph, self._command, self._aio, self._saved = graph, command, aio, saved
        self._threads: dict[str, None] = {}
        self._answered: set[str] = set()
        self._is_large = False

    async def invoke(
        self, value: Any, thread: str = "t", at: int | None = None, limit: int = LIMIT, **kw: Any
    ) -> None:
        """A run to its end, on the newest checkpoint or (`at`) the kth newest."""

        async def run(config: Any) -> Any:
            return await self._call("invoke", value, {**config, "recursion_limit": limit}, **kw)

        kw = {**self._options, **kw}
        if value is not None or not await self._has_begun(thread, at):
            await self._act("invoke", thread, run, at)

    async def stream(
        self,
        value: Any,
        modes: Any,
        thread: str = "t",
        stop: int | None = None,
        at: int | None = None,
        limit: int = LIMIT,
        **kw: Any,
    ) -> None:
        """A run as a stream. What one that is left after `stop` parts has done is chance.

        Of what it prints (`print_mode`), the modes are noted: the words are each side's own.
        """

        kw = {**self._options, **kw}

        async def read(config: Any) -> Any:
            config, parts = {**config, "recursion_limit": limit}, []
            if not self._aio:
                stream = self._graph.stream(value, config, stream_mode=modes, **kw)
                try:
                    parts.extend(islice(stream, stop))
                except Exception as error:
                    parts.append(ErrorInfo.of(error))
                stream.close()
                return parts
            return await _some(self._graph.astream(value, config, stream_mode=modes, **kw), stop)

        printed = io.StringIO()
        if value is not None or not await self._has_begun(thread, at):
            with contextlib.redirect_stdout(printed):
                await self._act("stream", thread, read, at)
        if "print_mode" in kw:
            modes = _PRINTED.findall(printed.getvalue())
            self.record.append(("printed", sorted(modes)))
        if stop is not None and self.record:
            self.record[-1] = "left"

    async def resume(
        self,
        answers: list[str],
        mapped: bool = False,
        thread: str = "t",
        modes: Any = None,
        at: int | None = None,
        **kw: Any,
    ) -> None:
        """An answer to what waits: bare, or by ids for as many questions as there are answers.

        At an old checkpoint, to questions that nobody has answered ("Another answer at an old
        checkpoint"), beside which nothing has finished ("What had finished at a named checkpoint").
        """
        place = await self._place(self._config(thread), at)
        snapshot = await self._call("get_state", place)
        waiting = [task for task in snapshot.tasks if not task.error]
        questions = [question for task in waiting for question in task.interrupts]
        # In an order that is not that of their coming up.
        ids = [question.id for question in sorted(questions, key=lambda each: repr(each.value))]
        begun = any(task.result is not None for task in snapshot.tasks if not task.interrupts)
        if not ids or (at is not None and (begun or self._answered.intersection(ids))):
            self.record.append("nothing waits")
            return
        self._answered.update(ids)
        answer = self._command(
            resume=dict(zip(ids, answers, strict=False)) if mapped else answers[0]
        )
        if modes is None:
            await self.invoke(answer, thread, at, **kw)
        else:
            await self.stream(answer, modes, thread, at=at, **kw)

    async def update(
        self,
        values: Any,
        as_node: str | None = None,
        thread: str = "t",
        at: int | None = None,
        inside: int | None = None,
        task: int | None = None,
    ) -> None:
        """`update_state` of the newest or the kth newest checkpoint.

        Args:
            values: what is written.
            as_node: in whose name.
            thread: where.
            at: which checkpoint; None is the newest.
            inside: which of the graphs inside of it is meant; None is the root.
            task: which of its tasks, by its number; None names none.
        """

        async def write(config: Any) -> Any:
            snapshot = await self._call("get_state", config, subgraphs=True)
            if inside is not None:
                nested = list(_nested(snapshot))
                if not nested:
                    return "nothing inside"
                snapshot = nested[inside % len(nested)]
                place = snapshot.config["configurable"]
                config = {"configurable": {key: place[key] for key in _PLACE}}
            kw = {} if task is None else {"task_id": _task_id(snapshot, task)}
            return await self._call("update_state", config, values, as_node=as_node, **kw)

        await self._act("update", thread, write, at)

    async def bulk(self, supersteps: Any, thread: str = "t", at: int | None = None) -> None:
        """`bulk_update_state`."""

        async def write(config: Any) -> Any:
            return await self._call("bulk_update_state", config, supersteps)

        await self._act("bulk", thread, write, at)

    async def look(self, at: int | None = None, inside: bool = False, thread: str = "t") -> None:
        """`get_state` of the newest or the kth newest checkpoint, and the histories inside it."""

        async def seen() -> Any:
            config = await self._place(self._config(thread), at)
            snapshot = await self._call("get_state", config, subgraphs=inside)
            within = [each.config for each in _nested(snapshot)]
            states = [await self._call("get_state", config) for config in within]
            return [snapshot, states, [await self._history(config) for config in within]]

        self.record.append(("look", await _outcome(seen())))

    async def history(self, thread: str = "t", before: int | None = None, **kw: Any) -> None:
        """A page of the history."""
        config = self._config(thread)
        if before is not None:
            kw["before"] = await self._place(config, before)
        self.record.append(("history", await _outcome(self._history(config, **kw))))

    async def close(self) -> None:
        """Writes down the whole history of every thread."""
        for thread in self._threads if self._saved else ():
            self.record.append(
                ("all of", thread, await _outcome(self._history(self._config(thread))))
            )

    def _config(self, thread: str) -> Any:
        return {"configurable": {"thread_id": thread}} if self._saved else {}

    async def _act(
        self,
        name: str,
        thread: str,
        act: Callable[[Any], Coroutine[Any, Any, Any]],
        at: int | None = None,
    ) -> None:
        if self._is_large:
            return
        self._threads[thread] = None
        outcome = await _outcome(act(await self._place(self._config(thread), at)))
        after = (
            await _outcome(self._call("get_state", self._config(thread), subgraphs=True))
            if self._saved
            else None
        )
        self.record.append((name, outcome, after))
        values = getattr(after, "values", None)
        self._is_large = isinstance(values, dict) and len(look(values, "log") or ()) > LARGE

    async def _has_begun(self, thread: str, at: int | None) -> bool:
        """Whether a checkpoint is one made by hand from which the thread has gone on ("What had
        finished at a named checkpoint")."""
        if at is None:
            return False
        history = await self._history(self._config(thread))
        if not history or at % len(history) or history[0].metadata["source"] == "loop":
            return False
        return any(
            task.interrupts or task.error or task.result is not None for task in history[0].tasks
        )

    async def _place(self, config: Any, at: int | None) -> Any:
        """The config of the kth newest checkpoint of a thread, or of the thread itself."""
        history = [] if at is None else await self._history(config)
        if not history:
            return config
        return {**config, "configurable": history[at % len(history)].config["configurable"]}

    async def _history(self, config: Any, **kw: Any) -> list[Any]:
        if self._aio:
            return [s async for s in self._graph.aget_state_history(config, **kw)]
        return list(self._graph.get_state_history(config, **kw))

    async def _call(self, method: str, *args: Any, **kw: Any) -> Any:
        result = getattr(self._graph, f"a{method}" if self._aio else method)(*args, **kw)
        return await result if inspect.isawaitable(result) else result


def _nested(snapshot: Any) -> Iterator[Any]:
    """The states of the graphs that wait inside of a state, the outer ones first."""
    for task in snapshot.tasks:
        if hasattr(task.state, "tasks"):
            yield task.state
            yield from _nested(task.state)


def _task_id(snapshot: Any, number: int) -> str | None:
    tasks = snapshot.tasks
    return tasks[number % len(tasks)].id if tasks else None


async def _some(stream: AsyncIterator[Any], stop: int | None) -> list[Any]:
    parts: list[Any] = []
    try:
        if stop != 0:
            async for part in stream:
                parts.append(part)
                if stop is not None and len(parts) >= stop:
                    break
    except Exception as error:
        parts.append(ErrorInfo.of(error))
    await stream.aclose()  # type: ignore[attr-defined]
    return parts


async def _outcome(action: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await action
    except Exception as error:
        return ErrorInfo.of(error)


def at_once(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine that never waits returns, without an event loop around it."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("a sync script waited")


async def play_async(
    env: Any,
    build: Callable[..., Any],
    script: Any,
    command: type,
    *,
    saved: bool,
    sync: bool = False,
) -> Any:
    """The record of a script on the async methods of a graph."""
    async with env.asaver() as saver, env.astore() as store:
        graph = build(saver if saved else None, store, Trouble())
        player = Player(graph, command, aio=True, saved=saved, sync=sync)
        await script(player)
        await player.close()
    return player.record


def play(
    env: Any,
    build: Callable[..., Any],
    script: Any,
    command: type,
    *,
    saved: bool,
    sync: bool = False,
) -> Any:
    """The record of a script on the sync methods of a graph."""
    graph = build(env.saver() if saved else None, env.store(), Trouble())
    player = Player(graph, command, aio=False, saved=saved, sync=sync)
    at_once(script(player))
    at_once(player.close())
    return player.record
