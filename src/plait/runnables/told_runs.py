"""`Run`: what listeners and tracers are told of one run, and of those inside it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

from plait.objects.copied import Copied

_ITS_OWN: Any = None


@dataclass(slots=True)
class Run(Copied):
    """One run: what a listener is told of."""

    id: UUID
    name: str
    run_type: str
    """ "chain", "chat_model", "llm", "tool" or "retriever"."""
    inputs: Any
    """A dict as it was given; else `{"input": what was given}`."""
    parent_run_id: UUID | None = None
    tags: list[str] = field(default_factory=list[str])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    """What else the start said: `metadata`, and of a model's run `invocation_params`, ..."""
    serialized: dict[str, Any] | None = None
    """What runs, as its start described it."""
    start_time: datetime = field(default_factory=lambda: datetime.now(UTC))
    end_time: datetime | None = None
    outputs: Any = None
    """A dict as it was returned; else `{"output": what was returned}`."""
    error: str | None = None
    """The failure and its traceback, as text."""
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What happened, with its `name` and `time`: "start", "new_token", and "end" or "error"."""
    child_runs: list[Run] = field(default_factory=list["Run"])
    reference_example_id: UUID | None = None
    """The example that it was run for, if whoever collects it says so."""
    trace_id: UUID = _ITS_OWN
    """The id of the outermost run around it that is told of; by default its own."""
    dotted_order: str = ""
    """Start and id of each run from the outermost to this one: sorts a trace by its tree."""

    def __post_init__(self) -> None:
        self.trace_id = self.trace_id or self.id
        self.dotted_order = self.dotted_order or f"{self.start_time:%Y%m%dT%H%M%S%fZ}{self.id}"
        if not self.events:
            self.events.append({"name": "start", "time": self.start_time})

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the run."""
        return self.extra.setdefault("metadata", {})

    @property
    def latency(self) -> float | None:
        """How many seconds it took; None while it runs."""
        if self.end_time is None:
            return None
        return (self.end_time - self.start_time).total_seconds()

    def adopt(self, run: Run) -> None:
        """Take a run that has just begun for one inside this one."""
        self.child_runs.append(run)
        run.trace_id = self.trace_id
        run.dotted_order = f"{self.dotted_order}.{run.dotted_order}"

    def say_token(self, token: Any, chunk: Any) -> None:
        """Note a token of a model's stream among the events."""
        said = {"token": token} if chunk is None else {"token": token, "chunk": chunk}
        self.events.append({"name": "new_token", "time": datetime.now(UTC), "kwargs": said})

    def end(self, event: str) -> None:
        """Note that it ended now: by "end", or by "error"."""
        self.end_time = datetime.now(UTC)
        self.events.append({"name": event, "time": self.end_time})

    def model_dump(
        self,
        *,
        include: Collection[str] | None = None,
        exclude: Collection[str] | None = None,
        exclude_none: bool = False,
    ) -> dict[str, Any]:
        """The fields as a dict, and so the runs inside.

        Args:
            include: Only these fields of the run itself.
            exclude: Not these.
            exclude_none: Only those that are not None.
        """
        held = {each.name: getattr(self, each.name) for each in fields(self)}
        held["child_runs"] = [run.model_dump(exclude_none=exclude_none) for run in self.child_runs]
        return {
            name: value
            for name, value in held.items()
            if (include is None or name in include)
            and not (exclude and name in exclude)
            and not (exclude_none and value is None)
        }

    def dict(self, **options: Any) -> dict[str, Any]:
        """The older name of `model_dump`."""
        return self.model_dump(**options)


def as_dict(value: Any, key: str) -> Any:
    """What a run got or gave as a dict: anything else stands under `key`."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {key: value}


__all__ = ["Run", "as_dict"]
