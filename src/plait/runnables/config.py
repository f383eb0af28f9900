"""`RunnableConfig`: what a caller tells a run besides its input, and how configs combine.

Every run passes through here, so importing this module loads no asyncio, uuid or pydantic.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context, copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypedDict, TypeVar, cast
from warnings import warn

from plait.callbacks.context import (
    COPIED_TO_METADATA,
    can_hear,
    everywhere,
    has_listeners,
    inherited_config,
    no_config,
    no_entry,
    unasked_handlers,
    var_child_runnable_config,
)
from plait.common.lazy import lazily
from plait.scope import Here, lend_thread, thread_of_control

if TYPE_CHECKING:
    from uuid import UUID

    from plait.callbacks import AsyncCallbackManager, CallbackManager, Callbacks

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_RECURSION_LIMIT = 25
"""How deep runnables may return runnables, how many super-steps a graph may take, by default."""


if TYPE_CHECKING:
    # A TypedDict to people, a dict to type checkers: those would refuse `config["configurable"]` in
    # a node, where it always is, unless every config that a caller writes had the key as well.
    RunnableConfig: TypeAlias = dict[str, Any]
else:

    class RunnableConfig(TypedDict, total=False):
        """What a caller may tell a run. Children of the run inherit it, name and id excepted."""

        tags: list[str]
        """Labels of this run and its children, for handlers and filters."""
        metadata: dict[str, Any]
        """Facts about this run and its children, for handlers."""
        callbacks: "Callbacks"
        """Handlers that hear this run and its children, or a manager."""
        run_name: str
        """The name that handlers see; the runnable's own by default. Not inherited."""
        run_id: "UUID | None"
        """The id of this run; a new one by default. Not inherited."""
        max_concurrency: int | None
        """How many children may run at once."""
        recursion_limit: int
        """How deep runnables may call each other, how many super-steps a graph may take."""
        configurable: dict[str, Any]
        """Values for the parts of a run that can be configured, such as `thread_id`."""

    def _pydantic_schema(source: Any, handler: Callable[[Any], Any]) -> Any:
        """What pydantic checks a field of this type by.

        It takes no TypedDict of `typing` before Python 3.12, and knows no name that stands in
        quotes here; the TypedDict that it takes is loaded where there is such a field.
        """
        from uuid import UUID

        from typing_extensions import TypedDict as Checked

        hints = {**RunnableConfig.__annotations__, "callbacks": Any, "run_id": UUID | None}
        return handler(Checked("RunnableConfig", hints, total=False))

    RunnableConfig.__get_pydantic_core_schema__ = staticmethod(_pydantic_schema)


ConfigLike: TypeAlias = RunnableConfig | Mapping[str, Any]
"""What graphs take as a config: also a dict in a variable, which type checkers know as a dict of
dicts. Methods that users override (`Runnable.invoke`) name `RunnableConfig` alone."""

KNOWN_KEYS = frozenset(RunnableConfig.__annotations__)


def ensure_config(*configs: Mapping[str, Any] | None) -> RunnableConfig:
    """A complete config: the defaults, overlaid by that of the context, then by each given one.

    A key of a later config replaces that of an earlier one (see `merge_configs` for a union);
    None says nothing. Unknown keys go to `configurable`. The containers are the caller's to change.

    Raises:
        ConfigTypeError: one is no dict, or an entry of it is of another type than it has to be.

    >>> ensure_config({"tags": ["a"], "thread_id": "1"})["configurable"]
    {'thread_id': '1'}
    """
    inherited = inherited_config()
    given = [config for config in configs if config is not None]
    if given and given[0] is inherited:
        inherited = None
    return complete(inherited, *given)


def complete(*configs: Mapping[str, Any] | None) -> RunnableConfig:
    """`ensure_config` of these configs alone, whatever the context says.

    >>> complete({"tags": ["a"]})["tags"]
    ['a']
    """
    out: dict[str, Any] = {
        "tags": [],
        "metadata": {},
        "callbacks": None,
        "recursion_limit": DEFAULT_RECURSION_LIMIT,
        "configurable": {},
    }
    for config in configs:
        if config is not None:
            _overlay(out, config)
    if everywhere and not out["callbacks"]:
        out["callbacks"] = [*unasked_handlers()] or None
    configurable = out["configurable"]
    for key in COPIED_TO_METADATA:
        if key in configurable and isinstance(configurable[key], str):
            out["metadata"].setdefault(key, configurable[key])
    return out


def _overlay(out: dict[str, Any], config: Mapping[str, Any]) -> None:
    strays: list[str] = []
    try:
        entries = config.items()
    except AttributeError:
        raise no_config(config) from None
    for key, value in entries:
        if value is None:
            continue
        if key not in KNOWN_KEYS:
            strays.append(key)
        elif key == "metadata" or key == "configurable":
            try:
                out[key] = dict(value)
            except (TypeError, ValueError):
                raise no_entry(key, value) from None
        elif key == "tags":
            try:
                out[key] = list(cast("list[Any]", value))
            except TypeError:
                raise no_entry(key, value) from None
            if isinstance(value, str):  # its letters are no tags
                raise no_entry(key, value)
        elif key == "callbacks":
            try:
                own = value.copy()
            except AttributeError:
                raise no_entry(key, value) from None
            out[key] = _with_unasked(own)
        else:
            out[key] = value
    for key in strays:
        out["configurable"][key] = config[key]


def _with_unasked(callbacks: Any) -> Any:
    """A list of handlers, or a manager, with those who hear all runs of here."""
    hear_all = unasked_handlers()
    if not isinstance(callbacks, list):
        for handler in hear_all:
            callbacks.add_handler(handler)
        return callbacks
    given = cast("list[Any]", callbacks)
    if not all(map(can_hear, given)):
        raise no_entry("callbacks", given)
    return [*given, *(handler for handler in hear_all if handler not in given)]


def merge_configs(*configs: Mapping[str, Any] | None) -> RunnableConfig:
    """One config out of several: tags, metadata, configurable and callbacks united.

    Tags come sorted and once; metadata and configurable merge one level deep, the later winning;
    callbacks of all configs hear the run. Of the other keys, the last that says something wins.

    >>> merge_configs({"tags": ["b"]}, {"tags": ["a", "b"]})["tags"]
    ['a', 'b']
    """
    out: dict[str, Any] = {}
    for config in map(ensure_config, filter(_is_given, configs)):
        out["tags"] = sorted({*out.get("tags", ()), *config.get("tags", ())})
        for key in ("metadata", "configurable"):
            out[key] = {**out.get(key, {}), **config.get(key, {})}
        callbacks = config.get("callbacks")
        if callbacks is not None:
            out["callbacks"] = _merge_callbacks(out.get("callbacks"), callbacks)
        if config.get("recursion_limit") != DEFAULT_RECURSION_LIMIT:
            out["recursion_limit"] = config.get("recursion_limit")
        for key in ("run_name", "run_id", "max_concurrency"):
            if key in config:
                out[key] = config.get(key) or out.get(key)
    return out


def with_entries(config: Mapping[str, Any] | None, entries: Mapping[str, Any]) -> RunnableConfig:
    """A config with more entries, as `with_config` takes both.

    Raises:
        ConfigTypeError: `config` is no dict.
    """
    try:
        return {**(config or {}), **entries}
    except TypeError:
        raise no_config(config) from None


def _is_given(config: Mapping[str, Any] | None) -> bool:
    return config is not None


def _merge_callbacks(old: Any, new: Any) -> Any:
    """Handlers and managers united; a manager wins over a list, and keeps its place in the tree."""
    if old is None:
        return new
    if not isinstance(old, list) and not isinstance(new, list):
        return old.merge(new)
    if isinstance(old, list) and isinstance(new, list):
        return cast("list[Any]", old) + cast("list[Any]", new)
    if isinstance(old, list):
        return _with_handlers(new, cast("list[Any]", old))
    return _with_handlers(old, cast("list[Any]", new))


def with_handler(callbacks: Any, handler: Any) -> Any:
    """`callbacks` (None, a list, a manager) with one more handler that children inherit."""
    return _merge_callbacks(callbacks, [handler])


def _with_handlers(manager: Any, handlers: list[Any]) -> Any:
    merged = manager.copy()
    for handler in handlers:
        merged.add_handler(handler, inherit=True)
    return merged


def patch_config(
    config: Mapping[str, Any] | None,
    *,
    callbacks: Any = None,
    recursion_limit: int | None = None,
    max_concurrency: int | None = None,
    run_name: str | None = None,
    configurable: Mapping[str, Any] | None = None,
) -> RunnableConfig:
    """A complete config with some keys replaced (`configurable`: united).

    With new `callbacks` the config is that of another run: run name and run id are dropped.
    """
    out = ensure_config(config)
    if callbacks is not None:
        out["callbacks"] = callbacks
        out.pop("run_name", None)
        out.pop("run_id", None)
    if recursion_limit is not None:
        out["recursion_limit"] = recursion_limit
    if max_concurrency is not None:
        out["max_concurrency"] = max_concurrency
    if run_name is not None:
        out["run_name"] = run_name
    if configurable is not None:
        out["configurable"] = {**out.get("configurable", {}), **configurable}
    return out


def get_config_list(
    config: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None, length: int
) -> list[RunnableConfig]:
    """One complete config for each of `length` inputs, from one for all or one for each.

    Raises:
        ValueError: There are not as many configs as inputs, or `length` is negative.
        ConfigTypeError: what is given is no config.
    """
    if length < 0:
        raise ValueError(f"length must be >= 0, but got {length}")
    if config is not None and not isinstance(config, Mapping):
        if not hasattr(config, "__len__"):
            raise no_config(config)
        if len(config) != length:
            raise ValueError(
                f"config must be a list of the same length as inputs, but got {len(config)} "
                f"configs for {length} inputs"
            )
        return [ensure_config(one) for one in config]
    if length > 1 and config and config.get("run_id") is not None:
        warn(
            "The given run_id is used for the first input of the batch only.",
            RuntimeWarning,
            stacklevel=3,
        )
        others = {key: value for key, value in config.items() if key != "run_id"}
        return [ensure_config(config), *(ensure_config(others) for _ in range(length - 1))]
    return [ensure_config(config) for _ in range(length)]


@contextmanager
def set_config_context(config: Mapping[str, Any]) -> Generator[Context]:
    """A context of its own, in which `config` is what children inherit; run things by its `run`.

    >>> with set_config_context({"tags": ["t"]}) as context:
    ...     context.run(ensure_config)["tags"]
    ['t']
    """
    context = copy_context()
    context.run(var_child_runnable_config.set, config)
    yield context


def get_callback_manager_for_config(config: Mapping[str, Any]) -> "CallbackManager":
    """The callback manager of runs that start under `config`. Ask `has_listeners` first."""
    from plait.callbacks.manager import CallbackManager  # loads asyncio; rarely needed

    return CallbackManager.of_config(config)


def get_async_callback_manager_for_config(config: Mapping[str, Any]) -> "AsyncCallbackManager":
    """The async callback manager of runs that start under `config`."""
    from plait.callbacks.manager import AsyncCallbackManager  # loads asyncio; rarely needed

    return AsyncCallbackManager.of_config(config)


async def run_in_executor(
    executor_or_config: Any, func: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run sync `func` on a thread, with the context variables of here, and await its result.

    What a node awaits in this way runs in its turn: its questions and `@task` calls do not race.

    Args:
        executor_or_config: A `concurrent.futures.Executor`; a config or None means the event
            loop's own threads.
        func: What to call with the other arguments.

    Raises:
        RuntimeError: `func` raised StopIteration, which cannot pass through a coroutine.
    """
    import asyncio  # heavy; async callers have loaded it already

    call = partial(copy_context().run, _on_lent_thread, thread_of_control(), func, *args, **kwargs)
    executor = executor_or_config if hasattr(executor_or_config, "submit") else None
    return cast("T", await asyncio.get_running_loop().run_in_executor(executor, call))


__getattr__ = lazily(
    __name__,
    {
        "ContextThreadPoolExecutor": "plait.runnables.executors",
        "get_executor_for_config": "plait.runnables.executors",
    },
)
"""Threads, where LangChain has them: few programs ask for them, and all load this module."""


def _on_lent_thread(here: Here, func: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    lend_thread(here)
    try:
        return func(*args, **kwargs)
    except StopIteration as error:
        raise RuntimeError(f"{func!r} raised StopIteration on its thread.") from error


__all__ = [
    "DEFAULT_RECURSION_LIMIT",
    "KNOWN_KEYS",
    "ConfigLike",
    "RunnableConfig",
    "ensure_config",
    "get_async_callback_manager_for_config",
    "get_callback_manager_for_config",
    "get_config_list",
    "has_listeners",
    "merge_configs",
    "patch_config",
    "run_in_executor",
    "set_config_context",
    "var_child_runnable_config",
    "with_handler",
]
