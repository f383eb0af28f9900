"""Every error plait raises, split by who can mend it.

- **The author of the graph**: `GraphError` and its family.
- **The caller** of a run: `RunError` and its family (and the peer's `GraphRecursionError`,
  `EmptyInputError`).
- **The world**: `StorageError` and its family, `NodeTimeoutError`, `ModelError` and its family.
- **Control flow** that travels as an exception: `GraphBubbleUp` and its family. Never swallow it.

Names that LangGraph made public stay (`InvalidUpdateError`, `GraphInterrupt`, ...).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from plait.common.portable import Portable
from plait.exceptions import LangChainException

if TYPE_CHECKING:
    from plait.types import Command, Interrupt


class ErrorCode(Enum):
    """Stable codes of common mistakes, as the peer documents them."""

    GRAPH_RECURSION_LIMIT = "GRAPH_RECURSION_LIMIT"
    INVALID_CONCURRENT_GRAPH_UPDATE = "INVALID_CONCURRENT_GRAPH_UPDATE"
    INVALID_GRAPH_NODE_RETURN_VALUE = "INVALID_GRAPH_NODE_RETURN_VALUE"
    MULTIPLE_SUBGRAPHS = "MULTIPLE_SUBGRAPHS"
    INVALID_CHAT_HISTORY = "INVALID_CHAT_HISTORY"


def renaming(node: str) -> str:
    """How to declare that a node has another name today."""
    return (
        f"renamed_from={node!r} (of add_node, or of @entrypoint; nodes of a middleware go by its "
        "property `name`)"
    )


def nearest(name: object, known: Iterable[object], former: Mapping[str, str] | None = None) -> str:
    """A tail for an error message: the nearest known name, or what is known.

    Args:
        name: what is not known.
        known: the names that are.
        former: names of former times, to those of today.

    >>> nearest("aprove", ["approve", "reject"])
    "Did you mean 'approve'?"
    >>> nearest("x", ["approve", "reject"])
    "Known: 'approve', 'reject'."
    >>> nearest("approve", ["permit", "reject"], {"approve": "permit"})
    "It is called 'permit' today."
    """
    if former and isinstance(name, str) and name in former:
        return f"It is called {former[name]!r} today."
    if name in ("START", "END"):
        return f"Did you mean {name}, the constant of plait.graph, without quotes?"
    names = [str(k) for k in known]
    own = getattr(name, "__name__", None)  # a function in the place of its name
    if own in names:
        return f"Did you mean {own!r}, its name?"
    close = get_close_matches(str(name), names, n=1)
    if close:
        return f"Did you mean {close[0]!r}?"
    listed = ", ".join(repr(n) for n in names[:12]) + (", ..." if len(names) > 12 else "")
    return f"Known: {listed}." if names else "None is known."


# --- The author of the graph ---------------------------------------------------------------------


class GraphError(Portable, Exception):
    """The graph is wrong; its author can mend it."""


class InvalidGraphError(GraphError, ValueError):
    """The graph cannot be built or compiled as declared."""


class InvalidNodeError(InvalidGraphError, TypeError, RuntimeError):
    """What was to be a node cannot be called as one: no function, or one nothing can fill."""


class ToolDefinitionError(GraphError, ValueError, TypeError):
    """A tool is declared so that it cannot work: no code, no description, a schema that is none."""


class AnnotationError(InvalidGraphError, ToolDefinitionError, NameError):
    """A type annotation names something that does not exist where it is read."""


class NotSupportedError(GraphError, NotImplementedError):
    """This version of plait cannot do yet what was asked; nothing was ignored."""


class InvalidPolicyError(GraphError, ValueError, TypeError, AttributeError):
    """A policy of approvals says nothing that a person could decide."""


class InvalidTemplateError(GraphError, ValueError, IndexError):
    """A prompt template cannot be read, or asks for more than names to be replaced."""


class UnknownNodeError(GraphError, ValueError):
    """A route, an update or a resume names a node that the graph does not have."""


class UndeclaredJumpError(GraphError, KeyError):
    """A hook of an agent's middleware jumps to where it did not declare that it may."""

    __str__ = Exception.__str__


class DuplicateMiddlewareError(GraphError, ValueError, AssertionError):
    """Two middlewares of one agent have the same name."""


class MigrationError(GraphError):
    """A stored thread cannot be brought to the names or the state version of this graph."""

    def __init__(
        self,
        message: str,
        *,
        checkpoint_id: str,
        stored_version: int | None = None,
        version: int | None = None,
    ) -> None:
        self.checkpoint_id = checkpoint_id
        self.stored_version = stored_version
        self.version = version
        super().__init__(message)


class InvalidUpdateError(GraphError):
    """A node or a caller wrote something that the state cannot take."""


class InvalidOutputsError(InvalidUpdateError, ValueError):
    """A component of a pipeline gave other outputs than those that it declares."""


class InterruptSwallowedError(GraphError):
    """A node called interrupt(), caught its exception and went on as if it had been answered."""


class InterruptRaceError(GraphError):
    """Concurrent interrupt() calls inside one task have no `key=`, so answers could be swapped."""


class JournalMismatchError(GraphError):
    """Code that started again called another `@task`, or with other arguments, than is on record.

    Args:
        message: what was recorded, what is called now, and what to do.
        node: the node whose code made the call.
        recorded: the name of the task on record.
        called: the name of the task that is called now.
    """

    def __init__(self, message: str, *, node: str, recorded: str, called: str) -> None:
        self.node = node
        self.recorded = recorded
        self.called = called
        super().__init__(message)


class NodeCancelledError(GraphError):
    """User code inside a node raised CancelledError although nobody cancelled the run, or a task
    was stopped, because its run was.

    Args:
        node: The node.
        message: Why the task was stopped (None: its own code raised CancelledError).
    """

    stopped: bool
    """Whether the task was stopped: then it did not fail, and no error of it is stored."""

    def __init__(self, node: str, message: str | None = None) -> None:
        self.node = node
        self.stopped = message is not None
        super().__init__(
            message
            or f"Node {node!r} was cancelled by its own code (a CancelledError was raised inside "
            "it while the run was not cancelled). Catch it in the node, or raise another error."
        )


class EmptyChannelError(Exception):
    """A channel that holds nothing was read."""


# --- The caller ----------------------------------------------------------------------------------


class RunError(Portable, Exception):
    """The call is wrong; the caller can mend it."""


class ConfigError(RunError, ValueError, RuntimeError):
    """The config lacks what the call needs (a thread id), or there is no running graph here."""


class ConfigTypeError(ConfigError, AttributeError, TypeError):
    """A config, or an entry of one, is of another type than it has to be."""


class InvalidPatternError(ConfigError, re.error):
    """A regular expression cannot be read.

    Args:
        option: where it was given.
        error: why.
    """

    def __init__(self, option: str, error: re.error) -> None:
        re.error.__init__(self, error.msg, error.pattern, error.pos)
        self.args = (f"{option}={error.pattern!r} is no regular expression: {error}.",)


class MissingExtraError(RunError, ImportError):
    """What was asked for needs an optional library that is not installed."""


class MissingThreadIdError(ConfigError, KeyError):
    """A call on a stored thread does not say which thread."""

    __str__ = Exception.__str__


class EmptyInputError(RunError):
    """A run got no input that it could use."""


class InvalidInputError(RunError, TypeError):
    """A run got an input of a form that the graph does not take."""


class MissingVariablesError(RunError, KeyError):
    """A prompt, or a chain that keeps a history, was not given all that it asks for."""

    __str__ = Exception.__str__  # a KeyError shows the repr of its text


class ToolInputError(RunError, ValueError, TypeError, KeyError, IndexError):
    """A tool was called with something that cannot be its arguments."""

    __str__ = Exception.__str__  # that of KeyError puts the text in quotes


class InvalidValueError(InvalidInputError, ValueError):
    """A prompt, parser or runnable was given a value that it cannot use, or a model gave one."""


class GraphRecursionError(RecursionError):
    """The run took more super-steps than `recursion_limit` allows."""


class ThreadBusyError(RunError):
    """Another live run owns the thread, or took it over (a stale owner's writes are refused)."""


class SupersededError(ThreadBusyError):
    """This run was left half-read and a later run on the same thread took over."""


class UnknownInterruptError(RunError, RuntimeError):
    """An answer names no pending interrupt, or does not say which one it is for."""

    def __init__(
        self,
        message: str,
        *,
        reason: Literal["not_pending", "empty_map", "ambiguous"],
        interrupt_ids: Sequence[str] = (),
        pending_ids: Sequence[str] = (),
    ) -> None:
        self.reason = reason
        self.interrupt_ids = tuple(interrupt_ids)
        self.pending_ids = tuple(pending_ids)
        super().__init__(message)


_REFUSED = "__plait_refused__"
_OPEN_AGAIN = "__plait_open_again__"


def mark_invalid_resume(error: BaseException, question: str) -> None:
    """Mark an error as one of an answer that does not fit its question's `response_schema`.

    Args:
        error: what the check raised.
        question: the question's id.
    """
    setattr(error, _REFUSED, True)
    mark_open_again(error, (question,))


def is_invalid_resume(error: BaseException) -> bool:
    """Whether an answer that does not fit its question's `response_schema` raised this error.

    >>> is_invalid_resume(ValueError())
    False
    """
    return getattr(error, _REFUSED, False)


def mark_open_again(error: BaseException, questions: Iterable[str]) -> None:
    """Say of the error that a run ends with which of its questions are open again: their answers
    did not fit.

    >>> error = ValueError()
    >>> mark_open_again(error, ["a"])
    >>> open_again(error)
    frozenset({'a'})
    """
    with suppress(Exception):  # a class that sets no attributes: it goes on without
        setattr(error, _OPEN_AGAIN, frozenset(questions))


def open_again(error: BaseException) -> frozenset[str]:
    """The questions whose answers did not fit, in the run that ended with this error."""
    return getattr(error, _OPEN_AGAIN, frozenset())


class InvalidAnswerError(RunError, ValueError):
    """An answer does not fit its question; the question stays open."""


class InvalidDecisionError(InvalidAnswerError, KeyError, TypeError):
    """An answer decides nothing about the tool calls it was given to; the question stays open."""

    __str__ = Exception.__str__  # that of KeyError puts the text in quotes


class ApprovalMismatchError(RunError, ValueError):
    """A tool call is about to run that is not the one a person has approved; it does not run."""

    def __init__(self, message: str, *, tool: str, tool_call_id: str | None) -> None:
        self.tool = tool
        self.tool_call_id = tool_call_id
        super().__init__(message)


class TaskNotFound(RunError):
    """A task that a distributed caller named does not exist."""


class PIIDetectionError(RunError):
    """A message holds personal data, and the agent is set to refuse that.

    Args:
        pii_type: the type of what was found.
        matches: the places of the text: dicts of type, value, start and end.
    """

    def __init__(self, pii_type: str, matches: Sequence[Any]) -> None:
        self.pii_type = pii_type
        self.matches = list(matches)
        super().__init__(
            f"Found {len(self.matches)} x {pii_type} in a message; the strategy is 'block'. Take "
            "it out of the message, or choose the strategy 'redact', 'mask' or 'hash'."
        )


class UnknownCheckpointError(RunError, ValueError):
    """The config names a checkpoint that the thread does not have."""


class InvalidStoreOpError(RunError, ValueError, TypeError):
    """A store was asked for something it cannot do: a bad key, value, filter, limit or index."""


class InvalidNamespaceError(InvalidStoreOpError):
    """A namespace of a store is no tuple of labels, or one of its labels may not be used."""


# --- The world -----------------------------------------------------------------------------------


class StorageError(Portable, Exception):
    """The storage failed or holds something unusable."""


class StorageUnavailableError(StorageError):
    """The storage cannot be reached or refuses to work."""


class CorruptCheckpointError(StorageError, ValueError):
    """Stored bytes are damaged, foreign, or not where they were written."""


class UnregisteredTypeError(StorageError, TypeError):
    """A value of a type that the closed registry does not know was to be stored or read."""


class NodeTimeoutError(Portable, Exception):
    """A node ran, or stayed silent, longer than its policy allows."""

    def __init__(
        self,
        node: str,
        elapsed: float,
        *,
        kind: Literal["idle", "run"],
        idle_timeout: float | None = None,
        run_timeout: float | None = None,
    ) -> None:
        self.node = node
        self.elapsed = elapsed
        self.kind = kind
        self.idle_timeout = idle_timeout
        self.run_timeout = run_timeout
        silent = " without a sign of life" if kind == "idle" else ""
        super().__init__(
            f"Node {node!r} exceeded its {kind} timeout of {self.timeout:.3f} s{silent} (it had "
            f"run for {elapsed:.3f} s). Raise the limit, or retry it with a RetryPolicy."
        )

    @property
    def timeout(self) -> float:
        """The limit that was exceeded, in seconds."""
        limit = self.idle_timeout if self.kind == "idle" else self.run_timeout
        return 0.0 if limit is None else limit


class InterruptTimeoutError(TimeoutError):
    """A question with a timeout and without a default was not answered in time."""


class RunDeadlineError(TimeoutError):
    """A run has passed the deadline that its caller gave it; what it stored is kept."""


class ModelError(LangChainException):
    """A model did not answer, or not as asked. The provider's own exception is the `__cause__`.

    Args:
        message: What happened, and what to do.
        provider: Who was asked ("openai", "anthropic", "google").
        model: Which of its models.
        status: The HTTP status of the answer, if there was one.
        request_id: The provider's id of the request, for its support.
        retry_after: Seconds after which the provider wants to be asked again.
    """

    is_retryable: bool = False
    """Whether the same request may succeed at another time."""

    def __init__(
        self,
        message: str = "",
        *,
        provider: str | None = None,
        model: str | None = None,
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.provider = provider
        self.model = model
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after
        super().__init__(message)

    __str__ = Exception.__str__


class ModelAuthenticationError(ModelError, PermissionError):
    """There is no key, the provider does not know it, or it may not do this."""

    __str__ = Exception.__str__


class ModelPermissionDeniedError(ModelAuthenticationError):
    """The provider knows the key, which may not do this."""


class ModelInvalidRequestError(ModelError, ValueError):
    """The provider refuses the request as it is; asking again does not help."""


class ModelNotFoundError(ModelInvalidRequestError):
    """The provider has no such model."""


class ContextOverflowError(ModelInvalidRequestError):
    """The messages are longer than the model's context window. Shorten them (`trim_messages`)."""


class ContentFilteredError(ModelInvalidRequestError):
    """The provider's filter refused the request or the answer."""


class ModelRateLimitError(ModelError):
    """Too many requests or tokens in a while, or the account has nothing left."""

    is_retryable = True


class ModelAPIError(ModelError):
    """The provider has a problem or is overloaded; asking later may help."""

    is_retryable = True


class ModelConnectionError(ModelError, ConnectionError):
    """The provider cannot be reached, or the connection broke (in the middle of a stream, too)."""

    is_retryable = True
    __str__ = Exception.__str__


class ModelTimeoutError(ModelConnectionError, TimeoutError):
    """The provider took longer than the model's `timeout`."""


@dataclass(frozen=True, slots=True)
class NodeError:
    """What an error handler is told: which node failed, and how.

    No exception itself; a handler that has a parameter annotated with it receives one.
    """

    node: str
    """The name of the node."""
    error: BaseException
    """What it raised. Where the handler itself is resumed in another process, the error as it was
    stored: of a type that plait does not know, a `RemoteError`."""


# --- Control flow --------------------------------------------------------------------------------


class GraphBubbleUp(Portable, Exception):
    """Control flow of the engine on its way up. User code lets it pass."""


def bubbles_up(error: BaseException) -> bool:
    """Whether an error is for the engine, or for whoever gave an answer that does not fit: what is
    there to handle errors, try again, or tell a model lets it pass.

    >>> bubbles_up(GraphInterrupt()), bubbles_up(ValueError())
    (True, False)
    """
    return isinstance(error, GraphBubbleUp) or is_invalid_resume(error)


class GraphInterrupt(GraphBubbleUp):
    """The run stops here until a person answers."""

    def __init__(self, interrupts: Sequence[Interrupt] = ()) -> None:
        super().__init__(interrupts)


class NodeInterrupt(GraphInterrupt):
    """An interrupt raised by hand (the peer's deprecated spelling; use `interrupt()`)."""

    def __init__(self, value: Any, id: str | None = None) -> None:
        from warnings import warn

        from plait.types import Interrupt  # types imports this module
        from plait.warnings import LangGraphDeprecatedSinceV10  # and so does warnings

        warn(
            LangGraphDeprecatedSinceV10(
                "NodeInterrupt is deprecated. Please use `plait.types.interrupt` instead."
            ),
            stacklevel=2,
        )
        super().__init__([Interrupt(value=value, id=id) if id else Interrupt(value=value)])


class ParentCommand(GraphBubbleUp):
    """A `Command(graph=Command.PARENT)` on its way to the parent graph."""

    def __init__(self, command: Command[Any]) -> None:
        super().__init__(command)

    def __str__(self) -> str:
        return (
            f"{self.args[0]!r} is for the graph around the one that returned it, and there is "
            "none. Add that graph as a node of another one, or leave graph= out."
        )


class GraphDrained(GraphBubbleUp):
    """The run stopped before its next super-step because its drain was requested."""

    def __init__(self, reason: str = "shutdown") -> None:
        self.reason = reason
        super().__init__(f"Graph drained: {reason}")


# --- Named warnings ------------------------------------------------------------------------------


class PlaitWarning(UserWarning):
    """Base of the named warnings; turn them into errors with the `warnings` filter."""


class UnknownKeyWarning(PlaitWarning):
    """A node or caller wrote a key that no schema of the graph knows, and it is dropped; or a
    config, or a policy of approvals, has a key that looks like a slip of the pen, and it goes to
    `configurable`, or says nothing."""


class UnknownNodeWarning(PlaitWarning):
    """A call names a breakpoint at a node that its graph does not have."""


class UnknownToolWarning(PlaitWarning):
    """An option of a middleware names a tool that its agent does not have."""


class UnknownHookWarning(PlaitWarning):
    """A middleware defines what is nearly a hook of an agent, and is none."""


class DuplicateToolWarning(PlaitWarning):
    """Two tools have the same name; one of them is never shown to the model, nor run."""


class UnreachableNodeWarning(PlaitWarning):
    """No edge, branch or declared destination leads to a node, or a join can never fire."""


class StaleGraphWarning(PlaitWarning):
    """A graph was changed after it was compiled; the compiled graph does not change."""


class UnavailableCacheWarning(PlaitWarning):
    """A cache cannot be reached: its results are taken for misses, and new ones are not kept."""


class UnreadableCacheWarning(PlaitWarning):
    """A cached result is damaged, or of a type that is not known any more; its node runs."""


class UnusedCachePolicyWarning(PlaitWarning):
    """A node has a cache policy, and its graph no cache that would keep its results."""


class UncountedToolsWarning(PlaitWarning):
    """The tokens of messages were counted with tools, whose schemas nobody counts."""


class UnusedQueryWarning(PlaitWarning):
    """A store was searched with a query, and has no index that could rank its items by it."""


class UnheardErrorWarning(PlaitWarning):
    """A `@task` failed, and the code that called it ended without asking for its outcome."""


class UnusedAnswerWarning(PlaitWarning):
    """An answer was given to a question that nobody asks any more."""


class UnstoredWarning(PlaitWarning):
    """A graph has outlived the run that called it: what it does from then on is not stored."""


class WeakDurabilityWarning(PlaitWarning):
    """The saver has no fence, so that a stale owner's writes cannot be refused."""


__all__ = [
    "AnnotationError",
    "ApprovalMismatchError",
    "ConfigError",
    "ConfigTypeError",
    "ContentFilteredError",
    "ContextOverflowError",
    "CorruptCheckpointError",
    "DuplicateMiddlewareError",
    "DuplicateToolWarning",
    "EmptyChannelError",
    "EmptyInputError",
    "ErrorCode",
    "GraphBubbleUp",
    "GraphDrained",
    "GraphError",
    "GraphInterrupt",
    "GraphRecursionError",
    "InterruptRaceError",
    "InterruptSwallowedError",
    "InterruptTimeoutError",
    "InvalidAnswerError",
    "InvalidDecisionError",
    "InvalidGraphError",
    "InvalidInputError",
    "InvalidNamespaceError",
    "InvalidNodeError",
    "InvalidOutputsError",
    "InvalidPatternError",
    "InvalidPolicyError",
    "InvalidStoreOpError",
    "InvalidTemplateError",
    "InvalidUpdateError",
    "InvalidValueError",
    "JournalMismatchError",
    "MigrationError",
    "MissingExtraError",
    "MissingThreadIdError",
    "MissingVariablesError",
    "ModelAPIError",
    "ModelAuthenticationError",
    "ModelConnectionError",
    "ModelError",
    "ModelInvalidRequestError",
    "ModelNotFoundError",
    "ModelPermissionDeniedError",
    "ModelRateLimitError",
    "ModelTimeoutError",
    "NodeCancelledError",
    "NodeError",
    "NodeInterrupt",
    "NodeTimeoutError",
    "NotSupportedError",
    "PIIDetectionError",
    "ParentCommand",
    "PlaitWarning",
    "RunDeadlineError",
    "RunError",
    "StaleGraphWarning",
    "StorageError",
    "StorageUnavailableError",
    "SupersededError",
    "TaskNotFound",
    "ThreadBusyError",
    "ToolDefinitionError",
    "ToolInputError",
    "UnavailableCacheWarning",
    "UncountedToolsWarning",
    "UndeclaredJumpError",
    "UnheardErrorWarning",
    "UnknownCheckpointError",
    "UnknownHookWarning",
    "UnknownInterruptError",
    "UnknownKeyWarning",
    "UnknownNodeError",
    "UnknownNodeWarning",
    "UnknownToolWarning",
    "UnreachableNodeWarning",
    "UnreadableCacheWarning",
    "UnregisteredTypeError",
    "UnstoredWarning",
    "UnusedAnswerWarning",
    "UnusedCachePolicyWarning",
    "UnusedQueryWarning",
    "WeakDurabilityWarning",
    "bubbles_up",
    "is_invalid_resume",
]
