"""What plait says of errors whose cause lies in the call of the graph; of those of nodes, as notes.

Python says that None has no attribute `user`; it cannot say that the caller passed no context.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter
from typing import TYPE_CHECKING, Any

from plait.common.failures import note, said
from plait.common.reflection import is_annotated, own_annotations, signature
from plait.errors import nearest

if TYPE_CHECKING:
    from plait.pregel.run import Run

STORE_CALLS = frozenset(
    f"{twin}{call}"
    for twin in ("", "a")
    for call in ("batch", "delete", "get", "list_namespaces", "put", "search")
)
_REFUSALS = (
    "Unsupported message type: <class 'plait.messages.",
    "Invalid input type <class 'plait.",
)
"""What models of LangChain's say of messages and prompt values of plait's."""


def explain(error: BaseException, run: Run) -> None:
    """Add a note to an error that ends a run, where the call or the compilation explains it."""
    missing = _missing(error, run) if isinstance(error, AttributeError) else None
    hint = missing or _unawaited(error) or _unwrapped(error)
    if hint is not None:
        note(error, hint)


def _missing(error: AttributeError, run: Run) -> str | None:
    """An attribute was looked for on what the caller, or who compiled the graph, did not give."""
    if error.obj is not None:
        return None
    graph, schema = run.graph, run.graph.context_schema
    if run.context is None and error.name in _fields(schema):
        return (
            f"This run of graph {graph.name!r} has no context, and {error.name!r} is a field of "
            f"its context schema: pass context={schema.__name__}(...) to the call."
        )
    if run.store is None and wants_store(error):
        return (
            f"Graph {graph.name!r} has no store: give it one, compile(store=InMemoryStore()) or "
            "create_agent(..., store=InMemoryStore()), or another of plait.store."
        )
    return None


def wants_store(error: BaseException) -> bool:
    """Whether code called a store's method of None, and reads something called a store there.

    The second, since `None.get(...)` happens to those who want no store, too.
    """
    if not (isinstance(error, AttributeError) and error.obj is None and error.name in STORE_CALLS):
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    code = trace.tb_frame.f_code
    names = (*code.co_names, *code.co_varnames, *code.co_freevars)
    return any("store" in name.lower() for name in names)


def tell_unknown_field(schema: Any, context: Mapping[Any, Any], error: TypeError) -> None:
    """Raise again the error of a context, in words, if it has a field that its schema has not.

    Raises:
        TypeError: it has.
    """
    fields = signature(schema).parameters
    if any(field.kind is Parameter.VAR_KEYWORD for field in fields.values()):
        return
    for name in context:
        if name not in fields:
            raise TypeError(
                f"The context schema {schema.__name__!r} has no field {name!r}. "
                f"{nearest(name, fields)}"
            ) from error


def _fields(schema: Any) -> Any:
    return own_annotations(schema) if is_annotated(schema) else ()


def _unawaited(error: BaseException) -> str | None:
    """A call of a @task was taken for its outcome."""
    text = said(error)
    # By its name: asyncio is not loaded for sync runs.
    if type(error).__name__ == "InvalidStateError" and text == "Result is not set.":
        return "In async code, the call of a @task is awaited: `await f(x)`, not `f(x).result()`."
    if isinstance(error, (AttributeError, TypeError)):
        if "'ThreadCall'" in text:
            return "The call of a @task gives a future; its outcome is `f(x).result()`."
        if "'AioCall'" in text:
            return "The call of a @task gives a future; its outcome is `await f(x)`."
    return None


def _unwrapped(error: BaseException) -> str | None:
    """A chat model of LangChain's was asked with messages of the state."""
    refused = isinstance(error, (NotImplementedError, ValueError)) and said(error)
    if refused and refused.startswith(_REFUSALS):
        return (
            "A model of LangChain's takes messages of LangChain's only. Make it one of plait's, "
            "once: model = plait.chat_models.as_chat_model(model)."
        )
    return None
