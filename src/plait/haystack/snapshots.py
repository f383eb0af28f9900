"""Snapshots of a running agent: taken at a breakpoint or an error, kept in files, gone on from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

from plait.haystack.breakpoints import (
    CHAT_GENERATOR,
    TOOL_INVOKER,
    AgentBreakpoint,
    AgentSnapshot,
    Breakpoint,
    PipelineSnapshot,
    PipelineState,
    ToolBreakpoint,
)
from plait.haystack.errors import (
    BreakpointException,
    PipelineInvalidPipelineSnapshotError,
    PipelineRuntimeError,
)
from plait.haystack.messages import ChatMessage
from plait.haystack.state import State
from plait.haystack.values import read_value, write_value


@dataclass(frozen=True)
class Standing:
    """An agent, right before one of its components runs."""

    component: str
    state: State
    visits: dict[str, int]
    """How often each component has run."""
    called: list[ChatMessage]
    """The model's messages whose tools are about to run."""
    tools: Any
    streaming_callback: Any = None

    @property
    def messages(self) -> list[ChatMessage]:
        """The conversation."""
        return self.state.data.get("messages", [])


def take(here: Standing, break_point: AgentBreakpoint) -> PipelineSnapshot:
    """An agent as plain data.

    Raises:
        SerializationError: A value, a tool or the callback has no such form.
    """
    shared = {"tools": here.tools}
    if here.streaming_callback is not None:
        shared["streaming_callback"] = here.streaming_callback
    asked = here.messages[: len(here.messages) - len(here.called)]
    inputs = {
        CHAT_GENERATOR: write_value({"messages": asked, **shared}),
        TOOL_INVOKER: write_value({"messages": here.called, "state": here.state, **shared}),
    }
    now = datetime.now()
    agent = AgentSnapshot(inputs, dict(here.visits), break_point, now)
    return PipelineSnapshot(
        original_input_data={},
        ordered_component_names=[],
        pipeline_state=PipelineState({}, {}, {}),
        break_point=break_point,
        agent_snapshot=agent,
        timestamp=now,
    )


def stop_at(here: Standing, break_point: AgentBreakpoint) -> BreakpointException:
    """The error of a breakpoint; its snapshot is in a file, too, if one was asked for."""
    snapshot = take(here, break_point)
    point = break_point.break_point
    path = None
    if point.snapshot_file_path is not None:
        path = save_pipeline_snapshot(snapshot, point.snapshot_file_path)
    named = point.tool_name if isinstance(point, ToolBreakpoint) else None
    return BreakpointException(
        f"Breaking at {point.component_name} visit count {point.visit_count}"
        + (f" for tool {named}" if named else ""),
        point.component_name,
        snapshot,
        path,
    )


def failure(error: Exception, here: Standing, component: Any) -> PipelineRuntimeError:
    """The error of a component that failed, with the agent right before it if it can be written."""
    kind = ToolBreakpoint if here.component == TOOL_INVOKER else Breakpoint
    point = AgentBreakpoint("agent", kind(here.component, here.visits[here.component]))
    try:
        snapshot = take(replace(here, streaming_callback=None), point)
    except Exception:  # a value's or tool's own to_dict may raise anything
        snapshot = None  # what failed is what has to be told
    made = cast("type[Any]", type(component))
    failed = PipelineRuntimeError.from_exception(here.component, made, error)
    failed.pipeline_snapshot = snapshot
    return failed


class Restored(NamedTuple):
    """What a run goes on from."""

    values: dict[str, Any]
    """Of the state."""
    visits: dict[str, int]
    replies: int
    """How many of the last messages are the model's, and wait for their tools."""


def restore(snapshot: Any, schema: Mapping[str, Any]) -> Restored:
    """What a run goes on from.

    Types, handlers and tools are the agent's own; those in the snapshot are for the reader.

    Raises:
        PipelineInvalidPipelineSnapshotError: It is no snapshot of such an agent.
        DeserializationError: It is damaged, or names something that is not registered.
    """
    if isinstance(snapshot, PipelineSnapshot):
        snapshot = snapshot.agent_snapshot
    elif isinstance(snapshot, Mapping):
        snapshot = AgentSnapshot.from_dict(cast("Mapping[str, Any]", snapshot))
    if not isinstance(snapshot, AgentSnapshot):
        raise PipelineInvalidPipelineSnapshotError(
            f"An agent goes on from an AgentSnapshot, not from {snapshot!r:.100}."
        )
    values = _values(snapshot)
    if unknown := sorted(set(values) - set(schema)):
        raise PipelineInvalidPipelineSnapshotError(
            f"The snapshot has values of {unknown}, which the agent's state_schema lacks. Give the "
            "agent the state_schema that the snapshot was taken with."
        )
    waiting: Any = snapshot.component_inputs[TOOL_INVOKER]["serialized_data"].get("messages")
    if not isinstance(waiting, (list, type(None))):
        raise PipelineInvalidPipelineSnapshotError(
            f"The messages of the snapshot's tool_invoker are a list, not {waiting!r:.100}."
        )
    return Restored(values, _visits(snapshot), max(1, len(cast("list[Any]", waiting or []))))


def _values(snapshot: AgentSnapshot) -> dict[str, Any]:
    """The values of the state that a snapshot holds.

    Raises:
        PipelineInvalidPipelineSnapshotError: They are none of an agent.
        DeserializationError: They are damaged, or name something that is not registered.
    """
    is_by_key = isinstance(cast("Any", snapshot.values), dict)
    values = read_value(snapshot.results["data"])
    messages = values.get("messages", []) if is_by_key else None
    if not isinstance(messages, list) or not all(
        isinstance(one, ChatMessage) for one in cast("list[Any]", messages)
    ):
        raise PipelineInvalidPipelineSnapshotError(
            "The state of a snapshot holds values by key, among them a list of messages, not "
            f"{values!r:.200}"
        )
    return values


def _visits(snapshot: AgentSnapshot) -> dict[str, int]:
    """How often each component has run; the model once more than its tools, if these are next.

    What a program has changed in the snapshot counts, but never says that another component is
    next than the one that the agent has stopped at.

    Raises:
        PipelineInvalidPipelineSnapshotError: They are no counts.
    """
    given = cast("Any", snapshot.component_visits)
    if not isinstance(given, Mapping) or not all(
        isinstance(count, int) for count in cast("Mapping[str, Any]", given).values()
    ):
        raise PipelineInvalidPipelineSnapshotError(
            f"The component_visits of a snapshot are counts by component, not {given!r:.100}."
        )
    visits = {CHAT_GENERATOR: 0, TOOL_INVOKER: 0, **cast("Mapping[str, int]", given)}
    asked, acted = visits[CHAT_GENERATOR], visits[TOOL_INVOKER]
    if isinstance(snapshot.break_point.break_point, ToolBreakpoint):
        return {**visits, CHAT_GENERATOR: max(asked, acted + 1)}
    return {**visits, TOOL_INVOKER: max(asked, acted)}


def save_pipeline_snapshot(snapshot: PipelineSnapshot, directory: str | Path) -> str:
    """Write a snapshot to a new file.

    Args:
        snapshot: The snapshot.
        directory: Where; it is made if it is not there.

    Returns:
        The path of the file, whose name says agent, component, visit and time.

    Raises:
        OSError: The file cannot be written.
    """
    point, agent = snapshot.break_point, snapshot.agent_snapshot
    if isinstance(point, AgentBreakpoint):
        component, name = point.break_point.component_name, f"{point.agent_name}_"
    else:
        component, name = point.component_name, ""
    visits = 0 if agent is None else agent.component_visits.get(component, 0)
    stamp = (snapshot.timestamp or datetime.now()).strftime("%Y_%m_%d_%H_%M_%S_%f")
    path = Path(directory) / f"{name}{component}_{visits}_{stamp}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x") as file:  # never over another one
        json.dump(snapshot.to_dict(), file, indent=2)
    return str(path)


def load_pipeline_snapshot(file_path: str | Path) -> PipelineSnapshot:
    """Read a snapshot from a file.

    Raises:
        OSError: The file cannot be read.
        ValueError: It holds no JSON.
        PipelineInvalidPipelineSnapshotError: It holds no snapshot.
    """
    try:
        data = json.loads(Path(file_path).read_text())
    except FileNotFoundError as error:
        raise FileNotFoundError(f"File not found: {file_path}") from error
    except json.JSONDecodeError as error:
        raise json.JSONDecodeError(
            f"Invalid JSON file {file_path}: {error.msg}", error.doc, error.pos
        ) from error
    return PipelineSnapshot.from_dict(data)


__all__ = [
    "Restored",
    "Standing",
    "failure",
    "load_pipeline_snapshot",
    "restore",
    "save_pipeline_snapshot",
    "stop_at",
    "take",
]
