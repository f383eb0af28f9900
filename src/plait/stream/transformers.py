"""The transformers that come with plait: one for each stream mode, and two for nested runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NotRequired, cast

from typing_extensions import TypedDict

from plait.constants import NS_END
from plait.stream.base import Factory, ProtocolEvent, Scope, StreamTransformer
from plait.stream.model_stream import AsyncChatModelStream, ChatModelStream
from plait.stream.pieces import whole
from plait.stream.run_stream import (
    AsyncSubgraphRunStream,
    Cause,
    SubgraphRunStream,
    SubgraphStatus,
)
from plait.stream.stream_channel import StreamChannel

if TYPE_CHECKING:
    from plait.stream.mux import StreamMux


class _ModeTransformer(StreamTransformer):
    """The parts of one stream mode, of the run itself."""

    _native = True

    def __init__(self, scope: Scope = ()) -> None:
        super().__init__(scope)
        self._channel: StreamChannel[Any] = StreamChannel()

    def init(self) -> dict[str, Any]:
        """The channel, under the name of the mode."""
        return {self.required_stream_modes[0]: self._channel}

    def process(self, event: ProtocolEvent) -> bool:
        """Keep the run's own parts."""
        params = event["params"]
        if event["method"] == self.required_stream_modes[0] and self._own(params["namespace"]):
            self._channel.push(params["data"])
        return True

    def _own(self, namespace: list[str]) -> bool:
        return tuple(namespace) == self.scope


class ValuesTransformer(_ModeTransformer):
    """`run.values`: the state, first and after each super-step."""

    required_stream_modes = ("values",)
    error: BaseException | None = None
    """What the run failed with."""

    def fail(self, err: BaseException) -> None:
        """Keep the error."""
        self.error = err


class CustomTransformer(_ModeTransformer):
    """`run.custom`: what nodes write with a stream writer."""

    required_stream_modes = ("custom",)


class UpdatesTransformer(_ModeTransformer):
    """`run.updates`: what each node wrote."""

    required_stream_modes = ("updates",)


class CheckpointsTransformer(_ModeTransformer):
    """`run.checkpoints`: each checkpoint."""

    required_stream_modes = ("checkpoints",)


class DebugTransformer(_ModeTransformer):
    """`run.debug`: tasks and checkpoints, with step and time."""

    required_stream_modes = ("debug",)


class TasksTransformer(_ModeTransformer):
    """`run.tasks`: the start and the end of each task."""

    required_stream_modes = ("tasks",)


class MessagesTransformer(StreamTransformer):
    """`run.messages`: a stream for each message that a model says, or a node returns."""

    required_stream_modes = ("messages",)
    _native = True

    def __init__(self, scope: Scope = ()) -> None:
        super().__init__(scope)
        self._channel: StreamChannel[Any] = StreamChannel()
        self._open: dict[Any, Any] = {}

    def init(self) -> dict[str, Any]:
        """The channel of streams."""
        return {"messages": self._channel}

    def process(self, event: ProtocolEvent) -> bool:
        """Feed the stream of the message that an event belongs to."""
        params = event["params"]
        if event["method"] != "messages" or tuple(params["namespace"]) != self.scope:
            return True
        told, about = params["data"]
        if not isinstance(told, dict):
            stream = self._stream(told.id, about)
            for piece in whole(told):
                stream.dispatch(piece)
            self._channel.push(stream)
            return True
        said = cast("dict[str, Any]", told)
        key = about.get("run_id")
        if said["event"] == "message-start":
            self._open[key] = self._stream(said.get("id"), about)
            self._channel.push(self._open[key])
        if key in self._open:
            self._open[key].dispatch(said)
        if said["event"] == "message-finish":
            self._open.pop(key, None)
        return True

    def _stream(self, message_id: str | None, about: Mapping[str, Any]) -> Any:
        lane = self._channel.lane
        kind = AsyncChatModelStream if lane.is_async else ChatModelStream
        node = about.get("langgraph_node")
        return kind(namespace=list(self.scope), node=node, message_id=message_id, lane=lane)

    def finalize(self) -> None:
        """Messages that broke off stay as they are."""
        self._open.clear()

    def fail(self, err: BaseException) -> None:
        """Messages that are being said fail with the run."""
        for stream in self._open.values():
            stream.fail(err)
        self._open.clear()


class LifecyclePayload(TypedDict):
    """The beginning or the end of a nested run."""

    event: SubgraphStatus
    namespace: list[str]
    graph_name: NotRequired[str]
    trigger_call_id: NotRequired[str]
    cause: NotRequired[Cause]
    error: NotRequired[str]


class _Nested(StreamTransformer):
    """Tells nested runs by the tasks in them, and their ends by the ends of the tasks around."""

    required_stream_modes = ("tasks",)
    deep: ClassVar[bool]
    """Whether runs nested in nested ones count."""
    _native = True

    def __init__(self, scope: Scope = ()) -> None:
        super().__init__(scope)
        self._running: dict[Scope, Any] = {}
        self._calls: dict[Scope, str] = {}

    def _begins(self, event: ProtocolEvent) -> Scope | None:
        """The namespace of the nested run that an event is the first of."""
        ns = tuple(event["params"]["namespace"])
        here = len(self.scope)
        if "result" in event["params"]["data"] or len(ns) <= here or ns[:here] != self.scope:
            return None
        if self.deep and NS_END not in ns[-1]:
            return None  # with a memory: no task of that namespace ends, so it has no end to tell
        if not (self.deep or len(ns) == here + 1):
            return None
        return None if ns in self._running else ns

    def _note_call(self, event: ProtocolEvent) -> Scope:
        """Remember the tool call that a task is, for the runs nested in it; their namespace."""
        data = event["params"]["data"]
        ns = (*event["params"]["namespace"], f"{data['name']}{NS_END}{data['id']}")
        call_id = _call_of(data.get("input"))
        if call_id is not None:
            self._calls[ns] = call_id
        return ns

    def _ends(self, event: ProtocolEvent) -> Scope | None:
        """The namespace of the nested run that ends with a task."""
        ns = self._note_call(event)
        if "result" not in event["params"]["data"]:
            return None
        self._calls.pop(ns, None)
        return ns if ns in self._running else None

    def _cause(self, ns: Scope) -> Cause | None:
        """The tool call that a nested run runs in."""
        call_id = self._calls.get(ns)
        return None if call_id is None else {"type": "toolCall", "tool_call_id": call_id}


def _call_of(given: Any) -> str | None:
    """The id of the tool call that a task was handed, if that is what it was handed."""
    items = cast("list[Any]", given) if isinstance(given, list) else []
    if len(items) != 1 or not isinstance(items[0], dict):
        return None
    call = cast("dict[str, Any]", items[0])
    return call.get("id") if call.get("type") == "tool_call" else None


def _agent_of(event: ProtocolEvent) -> str | None:
    """The name of the agent that a task is part of; a run inside it inherits the name."""
    about: dict[str, Any] = event["params"]["data"].get("metadata") or {}
    return about.get("lc_agent_name")


def _name_of(ns: Scope, event: ProtocolEvent) -> str:
    """What a nested run is called: as its agent is, else as its node."""
    return _agent_of(event) or ns[-1].partition(NS_END)[0]


def _outcome(task: Mapping[str, Any]) -> tuple[SubgraphStatus, str | None]:
    """How a run ended, by the task around it."""
    if task.get("error"):
        return "failed", str(task["error"])
    return ("interrupted" if task.get("interrupts") else "completed"), None


class LifecycleTransformer(_Nested):
    """`run.lifecycle`, and events `lifecycle`: when nested runs begin and end, at every depth."""

    deep = True

    def __init__(self, scope: Scope = ()) -> None:
        super().__init__(scope)
        self._channel: StreamChannel[LifecyclePayload] = StreamChannel("lifecycle")

    def init(self) -> dict[str, Any]:
        """The channel of payloads."""
        return {"lifecycle": self._channel}

    def process(self, event: ProtocolEvent) -> bool:
        """Tell what a task says of nested runs."""
        if event["method"] != "tasks":
            return True
        ns = self._begins(event)
        if ns is not None:
            self._running[ns] = None
            payload: LifecyclePayload = {
                "event": "started",
                "namespace": list(ns),
                "graph_name": _name_of(ns, event),
                "trigger_call_id": ns[-1].partition(NS_END)[2],
            }
            cause = self._cause(ns)
            if cause is not None:
                payload["cause"] = cause
            self._channel.push(payload)
        ended = self._ends(event)
        if ended is not None:
            self._end(ended, *_outcome(event["params"]["data"]))
        return False

    def finalize(self) -> None:
        """What has no end yet was completed."""
        for ns in list(self._running):
            self._end(ns, "completed", None)

    def fail(self, err: BaseException) -> None:
        """What has no end yet has failed."""
        for ns in list(self._running):
            self._end(ns, "failed", str(err))

    def _end(self, ns: Scope, status: SubgraphStatus, error: str | None) -> None:
        del self._running[ns]
        payload: LifecyclePayload = {"event": status, "namespace": list(ns)}
        if error is not None:
            payload["error"] = error
        self._channel.push(payload)


class SubgraphTransformer(_Nested):
    """`run.subgraphs`: a stream for each run that is nested directly in this one."""

    deep = False
    supports_sync = True
    projection: ClassVar[str] = "subgraphs"

    def __init__(self, scope: Scope = ()) -> None:
        super().__init__(scope)
        self._channel: StreamChannel[Any] = StreamChannel()
        self._mux: StreamMux | None = None

    def init(self) -> dict[str, Any]:
        """The channel of streams."""
        return {self.projection: self._channel}

    def attached(self, mux: StreamMux) -> None:
        """Nested runs get their streams from this mux."""
        self._mux = mux

    def process(self, event: ProtocolEvent) -> bool:
        """Hand an event to the nested run that it belongs to."""
        self._begin(event)
        inner = self._inner(event)
        if inner is not None:
            inner.mux.push(event)
        ended = self._leave(event)
        if ended is not None:
            ended.mux.fail(ended.failure) if ended.failure else ended.mux.close()
        return event["method"] != "tasks"

    async def aprocess(self, event: ProtocolEvent) -> bool:
        """`process` in an event loop."""
        self._begin(event)
        inner = self._inner(event)
        if inner is not None:
            await inner.mux.apush(event)
        ended = self._leave(event)
        if ended is not None:
            mux = ended.mux
            await (mux.afail(ended.failure) if ended.failure else mux.aclose())
        return event["method"] != "tasks"

    def finalize(self) -> None:
        """What has no end yet was completed."""
        for handle in self._all_ended("completed", None):
            handle.mux.close()

    async def afinalize(self) -> None:
        """`finalize` in an event loop."""
        for handle in self._all_ended("completed", None):
            await handle.mux.aclose()

    def fail(self, err: BaseException) -> None:
        """What has no end yet has failed."""
        for handle in self._all_ended("failed", str(err)):
            handle.mux.fail(err)

    async def afail(self, err: BaseException) -> None:
        """`fail` in an event loop."""
        for handle in self._all_ended("failed", str(err)):
            await handle.mux.afail(err)

    def _begin(self, event: ProtocolEvent) -> None:
        ns = self._begins(event) if event["method"] == "tasks" else None
        if ns is not None:
            self._running[ns] = handle = self._stream(ns, event)
            self._channel.push(handle)

    def _stream(self, ns: Scope, event: ProtocolEvent) -> Any:
        """The stream of a nested run, of the kind of the run around it."""
        assert self._mux is not None
        kind = AsyncSubgraphRunStream if self._mux.lane.is_async else SubgraphRunStream
        return kind(
            self._mux.child(ns),
            path=ns,
            graph_name=_name_of(ns, event),
            trigger_call_id=ns[-1].partition(NS_END)[2] or None,
            cause=self._cause(ns),
        )

    def _inner(self, event: ProtocolEvent) -> Any:
        """The stream of the nested run that an event belongs to."""
        ns = tuple(event["params"]["namespace"])
        return self._running.get(ns[: len(self.scope) + 1])

    def _leave(self, event: ProtocolEvent) -> Any:
        """The stream of the nested run that ends with an event."""
        ended = self._ends(event) if event["method"] == "tasks" else None
        if ended is None:
            return None
        handle = self._running.pop(ended)
        if handle is not None:
            handle.end(*_outcome(event["params"]["data"]))
        return handle

    def _all_ended(self, status: SubgraphStatus, error: str | None) -> list[Any]:
        handles = [each for each in self._running.values() if each is not None]
        self._running.clear()
        for handle in handles:
            handle.end(status, error)
        return handles


class SubagentTransformer(SubgraphTransformer):
    """`run.subagents`: a stream for each named agent that runs directly in this run.

    Streams of agents have it. A graph without a name of its own is called as the agent that calls
    it, and counts as one.
    """

    projection = "subagents"

    def _begins(self, event: ProtocolEvent) -> Scope | None:
        return None if _agent_of(event) is None else super()._begins(event)

    def _stream(self, ns: Scope, event: ProtocolEvent) -> Any:
        # Nested agents would double their streams at each level: those that nobody gets are spared.
        return super()._stream(ns, event) if self._channel.consumed else None


BUILT_IN: tuple[Factory, ...] = (
    ValuesTransformer,
    MessagesTransformer,
    LifecycleTransformer,
    SubgraphTransformer,
)
"""Those that every run has."""

__all__ = [
    "AsyncSubgraphRunStream",
    "CheckpointsTransformer",
    "CustomTransformer",
    "DebugTransformer",
    "LifecyclePayload",
    "LifecycleTransformer",
    "MessagesTransformer",
    "SubagentTransformer",
    "SubgraphRunStream",
    "SubgraphTransformer",
    "TasksTransformer",
    "UpdatesTransformer",
    "ValuesTransformer",
]
