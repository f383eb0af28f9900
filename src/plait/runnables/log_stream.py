"""`astream_log`: a run and everything inside it, as patches of one growing log.

The older sibling of `astream_events`, and made of what that one hears.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from plait.runnables.config import with_handler
from plait.runnables.event_stream import EventStream, Filter, HeardRun, stop
from plait.runnables.run_log import RunLog, RunLogPatch, RunState, changes, path_of

if TYPE_CHECKING:
    from plait.runnables.base import Runnable


class LogStream(EventStream):
    """Hears a run and keeps patches of its log until they are read.

    Args:
        given: the input of the outermost run.
        wanted: which runs are logged.
        with_chunks: whether the chunks of the outermost run are listed.
    """

    def __init__(self, given: Any, wanted: Filter, with_chunks: bool) -> None:
        super().__init__(given, wanted)
        self._with_chunks = with_chunks
        self._counts: Counter[str] = Counter()
        self._places: dict[str, str] = {}
        self._total: Any = None

    def output(self, chunk: Any) -> None:
        """The outermost run gave a chunk."""
        ops: list[dict[str, Any]] = []
        if self._with_chunks:
            ops.append({"op": "add", "path": "/streamed_output/-", "value": chunk})
        before = self._total
        try:
            self._total = chunk if before is None else before + chunk
        except TypeError:  # they do not add up: the later one counts, as a whole
            before, self._total = None, chunk
        ops.extend(changes("/final_output", before, self._total))
        if ops:
            self._put(*ops)

    def _put(self, *ops: dict[str, Any]) -> None:
        self._add(cast("Any", RunLogPatch(*ops)))

    def _start(
        self,
        kind: str,
        name: str,
        data: dict[str, Any],
        run_id: UUID,
        parent_run_id: UUID | None,
        tags: list[str] | None,
        metadata: Mapping[str, Any] | None,
    ) -> None:
        kind = "llm" if kind == "chat_model" else kind
        super()._start(kind, name, data, run_id, parent_run_id, tags, metadata)

    def _tell(self, run: HeardRun, suffix: str, data: Any) -> None:
        """One thing that happened to a run, as operations."""
        if not run.is_inner:
            if suffix == "start":
                state: RunState = {
                    "id": run.run_id,
                    "name": run.name,
                    "type": run.kind,
                    "streamed_output": [],
                    "final_output": None,
                    "logs": {},
                }
                self._put({"op": "replace", "path": "", "value": state})
        elif run.wanted and suffix == "start":
            self._begin(run)
        elif run.run_id in self._places:
            place = self._places[run.run_id]
            if suffix == "stream":
                said = {"op": "add", "path": f"{place}/streamed_output/-", "value": data["chunk"]}
                self._put(*data.get("text", ()), said)
            else:
                final: Any = {} if suffix == "error" else _final(run.kind, data["output"])
                self._put(
                    {"op": "add", "path": f"{place}/final_output", "value": final},
                    {"op": "add", "path": f"{place}/end_time", "value": _now()},
                )

    def _begin(self, run: HeardRun) -> None:
        self._counts[run.name] += 1
        count = self._counts[run.name]
        place = path_of("logs", run.name if count == 1 else f"{run.name}:{count}")
        self._places[run.run_id] = place
        entry = {
            "id": run.run_id,
            "name": run.name,
            "type": run.kind,
            "tags": run.tags,
            "metadata": run.metadata,
            "start_time": _now(),
            "streamed_output": [],
            "streamed_output_str": [],
            "final_output": None,
            "end_time": None,
        }
        self._put({"op": "add", "path": place, "value": entry})

    # --- where a log wants more than events ------------------------------------------------------

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **_: Any) -> None:
        """A model says a token: its text, and the chunk that it came in."""
        run = self._runs.get(run_id)
        if run is not None and run.run_id in self._places:
            path = f"{self._places[run.run_id]}/streamed_output_str/-"
            text = [{"op": "add", "path": path, "value": getattr(chunk, "text", token)}]
            said = chunk if chunk is not None else token
            self._tell(run, "stream", {"chunk": getattr(said, "message", said), "text": text})

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        """A model has answered."""
        self._end(run_id, "end", output=response)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A chain has failed."""
        self._end(run_id, "error")

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A tool has failed."""
        self._end(run_id, "error")

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A model has failed."""
        self._end(run_id, "error")

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A retriever has failed."""
        self._end(run_id, "error")

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **_: Any) -> None:
        """A log has no place for the program's own events."""


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _final(kind: str, output: Any) -> Any:
    """The final output of a run inside, as the log has it."""
    if kind == "llm":
        generations = [[_candidate(one) for one in several] for several in output.generations]
        llm_output = output.llm_output
        return {
            "generations": generations,
            "llm_output": llm_output,
            "run": None,
            "type": "LLMResult",
        }
    if kind == "retriever":
        return {"documents": output}
    if kind == "prompt" or (isinstance(output, dict) and kind != "tool"):
        return cast("Any", output)
    return {"output": cast("Any", output)}


def _candidate(one: Any) -> dict[str, Any]:
    about = {
        "text": one.text,
        "generation_info": one.generation_info,
        "type": type(one).__name__,
    }
    message = getattr(one, "message", None)
    return about if message is None else {**about, "message": message}


async def astream_log(
    runnable: Runnable[Any, Any],
    input: Any,
    config: Mapping[str, Any] | None,
    *,
    diff: bool,
    with_streamed_output_list: bool,
    wanted: Filter,
    **kwargs: Any,
) -> AsyncIterator[RunLogPatch]:
    """The patches of the log of one run of `runnable.astream`, or the log after each."""
    log = LogStream(input, wanted, with_streamed_output_list)
    own = dict(config or {})
    own["callbacks"] = with_handler(own.get("callbacks"), log)

    async def run() -> None:
        try:
            async for chunk in runnable.astream(input, cast("Any", own), **kwargs):
                log.output(chunk)
                await log.room()
        finally:
            log.end()

    task = asyncio.create_task(run())
    so_far = RunLog(state=cast("RunState", None))
    try:
        async for patch in cast("AsyncIterator[RunLogPatch]", log.read()):
            if diff:
                yield patch
            else:
                so_far = so_far + patch
                yield so_far
        await task
    finally:
        await stop(task)


__all__ = ["LogStream", "astream_log"]
