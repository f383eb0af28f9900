"""What a loop tells those who stream: which parts, when, under which modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from plait.constants import INTERRUPT
from plait.engine import report
from plait.engine.plan import GraphPlan, Reads
from plait.engine.spec import Env, RunSpec
from plait.engine.state import State
from plait.engine.tasks import Task
from plait.errors import EmptyChannelError
from plait.timers import text_of
from plait.types import Interrupt


def task_order(task: Task) -> str:
    """The place of a task in the order in which writes apply."""
    return task.order


class Reporting:
    """The reporting side of a loop: collects parts, which the loop emits when they may be told."""

    __slots__ = ("parts",)

    spec: RunSpec
    env: Env
    plan: GraphPlan
    modes: frozenset[str]
    output: Reads
    state: State
    step: int
    source: str
    checkpoint_id: str | None
    parent_id: str | None
    parts: list[tuple[tuple[str, ...], str, Any]]

    @property
    def ns(self) -> tuple[str, ...]:
        """The namespace of the run, level by level."""
        ns = self.spec.ns
        return tuple(ns.split("|")) if ns else ()

    def _metadata(self, *, stored: bool) -> dict[str, Any]:
        parents = self.spec.parents if stored else dict(self.spec.parents)
        facts: dict[str, Any] = {"source": self.source, "step": self.step, "parents": parents}
        if stored and self.spec.metadata:
            facts.update(self.spec.metadata)
        return facts

    def values_with(self, kept: Sequence[Task], reads: Reads) -> Any:
        """The state; of a stopped super-step, with the writes of the tasks that finished."""
        writes = [write for task in sorted(kept, key=task_order) for write in task.writes]
        if not writes:
            return self.state.read_or_none(reads)
        try:
            return self.state.peek(reads, writes)
        except EmptyChannelError:
            return None

    def _add(self, mode: str, payload: Any) -> None:
        self.parts.append((self.ns, mode, payload))

    def _take_parts(self) -> list[tuple[tuple[str, ...], str, Any]]:
        parts, self.parts = self.parts, []
        return parts

    def emit_values(self) -> None:
        """Tell the whole state."""
        self._add("values", self.state.read_or_none(self.output))

    def _debug(self, kind: str, step: int, payload: Any) -> None:
        mode = "checkpoints" if kind == "checkpoint" else "tasks"
        if mode in self.modes:
            self._add(mode, payload)
        if "debug" in self.modes:
            self._add(
                "debug",
                {
                    "step": step,
                    "timestamp": text_of(self.env.now()),
                    "type": kind,
                    "payload": payload,
                },
            )

    def _report_starts(self, tasks: Sequence[Task]) -> None:
        if not ("tasks" in self.modes or "debug" in self.modes):
            return
        for task in tasks:
            if not task.node.hidden:
                payload = report.start_payload(task, self.spec.task_metadata)
                self._debug("task", self.step, payload)

    def _report_done(self, done: Sequence[Task]) -> None:
        if not self.modes:
            return
        for task in done:
            if "updates" in self.modes:
                part = report.updates_part(task, self.output, cached=bool(task.cached))
                if part is not None:
                    self._add("updates", part)
            if not task.cached:
                self._report_result(task, None, ())

    def _report_kept(self, tasks: Sequence[Task]) -> None:
        """A resumed super-step retells what its finished tasks had written."""
        if "updates" in self.modes:
            for task in (task for task in tasks if task.saved and not task.handled):
                part = report.updates_part(task, self.output, cached=True)
                if part is not None:
                    self._add("updates", part)

    def _report_result(
        self, task: Task, error: BaseException | None, questions: Sequence[Interrupt]
    ) -> None:
        if task.node.hidden or not ("tasks" in self.modes or "debug" in self.modes):
            return
        payload = report.result_payload(task, self.plan.stream, error, questions)
        self._debug("task_result", task.step.number, payload)

    def _report_questions(self, task: Task, questions: Sequence[Interrupt]) -> None:
        """A task waits for answers: what it asks, and the state that it asks in."""
        asked = tuple(questions)
        if "updates" in self.modes:
            self._add("updates", {INTERRUPT: asked})
        if "values" in self.modes:
            values = self.state.read_or_none(self.output)
            state = cast("dict[str, Any]", values) if isinstance(values, dict) else {}
            self._add("values", {**state, INTERRUPT: asked})
        self._report_result(task, None, questions)

    def _report_breakpoint(self) -> None:
        """A static breakpoint of this graph, or of one inside it: the outermost run tells it."""
        if "updates" in self.modes and not self.ns:
            self._add("updates", {INTERRUPT: ()})

    def _report_stopped(self, kept: Sequence[Task]) -> None:
        """A super-step of the root waits for answers: the state with what its other tasks wrote."""
        if "values" in self.modes and not self.ns and report.touches(kept, self.output):
            self._add("values", self.values_with(kept, self.output))

    def _report_checkpoint(self, tasks: Sequence[Task]) -> None:
        if self.checkpoint_id is None or not ("checkpoints" in self.modes or "debug" in self.modes):
            return
        spec = self.spec
        payload = {
            "config": report.config_of(
                spec.configurable, spec.ns, self.checkpoint_id, spec.parents
            ),
            "parent_config": report.config_of(
                spec.configurable, spec.ns, self.parent_id, spec.parents
            ),
            "values": self.state.read_or_none(self.plan.stream),
            "metadata": {**self._metadata(stored=False), "step": self.step - 1},
            "next": [task.name for task in tasks],
            "tasks": [
                report.task_in_checkpoint(task, self.output, spec.configurable) for task in tasks
            ],
        }
        self._debug("checkpoint", self.step - 1, payload)
