"""Where an agent is to stop, and what is kept of it when it does."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, cast

from plait.errors import InvalidValueError
from plait.haystack.errors import PipelineInvalidPipelineSnapshotError, reading_part

CHAT_GENERATOR = "chat_generator"
TOOL_INVOKER = "tool_invoker"


@dataclass(frozen=True)
class Breakpoint:
    """Stop before a component.

    Args:
        component_name: Which one: "chat_generator".
        visit_count: How often it must have run before.
        snapshot_file_path: A directory for a file with the snapshot.
    """

    component_name: str
    visit_count: int = 0
    snapshot_file_path: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Breakpoint:
        """From plain data.

        Raises:
            InvalidValueError: It is damaged.
        """
        with reading_part(cls):
            return cls(**data)


@dataclass(frozen=True)
class ToolBreakpoint(Breakpoint):
    """Stop before tools run.

    Args:
        component_name: "tool_invoker".
        visit_count: How often tools must have run before.
        snapshot_file_path: A directory for a file with the snapshot.
        tool_name: Only if the model calls this tool; None: whatever it calls.
    """

    tool_name: str | None = None

    def __str__(self) -> str:
        return (
            f"ToolBreakpoint(component_name={self.component_name}, "
            f"visit_count={self.visit_count}, tool_name={self.tool_name or 'ALL_TOOLS'})"
        )


@dataclass(frozen=True)
class AgentBreakpoint:
    """Stop an agent before one of its components.

    Args:
        agent_name: The agent's name, for the snapshot.
        break_point: Where.

    Raises:
        InvalidValueError: It names another component.
    """

    agent_name: str
    break_point: Breakpoint | ToolBreakpoint

    def __post_init__(self) -> None:
        point = cast("Any", self.break_point)
        if not isinstance(point, Breakpoint):
            raise InvalidValueError(
                f"AgentBreakpoint takes a Breakpoint or a ToolBreakpoint, not {point!r}."
            )
        needed = TOOL_INVOKER if isinstance(point, ToolBreakpoint) else CHAT_GENERATOR
        if point.component_name != needed:
            raise InvalidValueError(
                f"If the break_point is a {type(point).__name__}, it must have the component_name "
                f"{needed!r}, not {point.component_name!r}."
            )

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"agent_name": self.agent_name, "break_point": self.break_point.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AgentBreakpoint:
        """From plain data.

        Raises:
            InvalidValueError: It is damaged, or names another component.
        """
        with reading_part(cls):
            point = data["break_point"]
            kind = ToolBreakpoint if "tool_name" in point else Breakpoint
            return cls(data["agent_name"], kind.from_dict(point))


@dataclass
class AgentSnapshot:
    """An agent where it stopped. Its state is what a run goes on from.

    Args:
        component_inputs: What each component is about to be given, as plain data. The state is
            that of `tool_invoker`; change it there.
        component_visits: How often each has run.
        break_point: What stopped it.
        timestamp: When.
    """

    component_inputs: dict[str, Any]
    component_visits: dict[str, int]
    break_point: AgentBreakpoint
    timestamp: datetime | None = None

    @property
    def results(self) -> dict[str, Any]:
        """The serialized state: its `schema` and `data`.

        Raises:
            PipelineInvalidPipelineSnapshotError: The snapshot has none.
        """
        try:
            return self.component_inputs[TOOL_INVOKER]["serialized_data"]["state"]
        except (KeyError, TypeError) as error:
            raise PipelineInvalidPipelineSnapshotError(
                "The snapshot of the agent has no state: "
                "component_inputs['tool_invoker']['serialized_data']['state'] is missing."
            ) from error

    @property
    def values(self) -> dict[str, Any]:
        """The values of the state, as plain data, to inspect and to edit in place.

        Raises:
            PipelineInvalidPipelineSnapshotError: The snapshot has none.
        """
        try:
            return self.results["data"]["serialized_data"]
        except (KeyError, TypeError) as error:
            raise PipelineInvalidPipelineSnapshotError(
                "The state of the snapshot has no ['data']['serialized_data']."
            ) from error

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "component_inputs": self.component_inputs,
            "component_visits": self.component_visits,
            "break_point": self.break_point.to_dict(),
            "timestamp": _written(self.timestamp),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AgentSnapshot:
        """From plain data.

        Raises:
            PipelineInvalidPipelineSnapshotError: Something is missing.
        """
        with _complete("an AgentSnapshot"):
            return cls(
                component_inputs=data["component_inputs"],
                component_visits=data["component_visits"],
                break_point=AgentBreakpoint.from_dict(data["break_point"]),
                timestamp=_read(data.get("timestamp")),
            )


@dataclass
class PipelineState:
    """Where a pipeline stands: of an agent alone it is empty.

    Args:
        inputs: What waits for components.
        component_visits: How often each has run.
        pipeline_outputs: What has come out so far.
    """

    inputs: dict[str, Any]
    component_visits: dict[str, int]
    pipeline_outputs: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "inputs": self.inputs,
            "component_visits": self.component_visits,
            "pipeline_outputs": self.pipeline_outputs,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PipelineState:
        """From plain data.

        Raises:
            InvalidValueError: It is damaged.
        """
        with reading_part(cls):
            return cls(**data)


@dataclass
class PipelineSnapshot:
    """What a breakpoint's error carries and its file holds; the agent is in `agent_snapshot`.

    Args:
        original_input_data: What the pipeline was given.
        ordered_component_names: Its components.
        pipeline_state: Where it stands.
        break_point: What stopped it.
        agent_snapshot: The agent that was stopped.
        timestamp: When.
        include_outputs_from: Components whose outputs were asked for.
    """

    original_input_data: dict[str, Any]
    ordered_component_names: list[str]
    pipeline_state: PipelineState
    break_point: AgentBreakpoint | Breakpoint
    agent_snapshot: AgentSnapshot | None = None
    timestamp: datetime | None = None
    include_outputs_from: set[str] = field(default_factory=set[str])

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        agent = self.agent_snapshot
        return {
            "pipeline_state": self.pipeline_state.to_dict(),
            "break_point": self.break_point.to_dict(),
            "agent_snapshot": None if agent is None else agent.to_dict(),
            "timestamp": _written(self.timestamp),
            "original_input_data": self.original_input_data,
            "ordered_component_names": self.ordered_component_names,
            "include_outputs_from": sorted(self.include_outputs_from),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PipelineSnapshot:
        """From plain data.

        Raises:
            PipelineInvalidPipelineSnapshotError: Something is missing.
        """
        with _complete("a PipelineSnapshot"):
            point, agent = data["break_point"], data.get("agent_snapshot")
            kind = AgentBreakpoint if "agent_name" in point else Breakpoint
            return cls(
                original_input_data=data.get("original_input_data", {}),
                ordered_component_names=data.get("ordered_component_names", []),
                pipeline_state=PipelineState.from_dict(data["pipeline_state"]),
                break_point=kind.from_dict(point),
                agent_snapshot=None if agent is None else AgentSnapshot.from_dict(agent),
                timestamp=_read(data.get("timestamp")),
                include_outputs_from=set(data.get("include_outputs_from") or ()),
            )


@contextmanager
def _complete(what: str) -> Generator[None]:
    """Turn a missing or damaged entry into an error that says of what.

    Raises:
        PipelineInvalidPipelineSnapshotError: Something is missing or damaged.
    """
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PipelineInvalidPipelineSnapshotError(
            f"The data is not that of {what}: {error!r}"
        ) from error


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _read(moment: str | None) -> datetime | None:
    return None if moment is None else datetime.fromisoformat(moment)


__all__ = [
    "CHAT_GENERATOR",
    "TOOL_INVOKER",
    "AgentBreakpoint",
    "AgentSnapshot",
    "Breakpoint",
    "PipelineSnapshot",
    "PipelineState",
    "ToolBreakpoint",
]
