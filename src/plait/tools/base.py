"""`BaseTool`: derive from it, define `_run` (and `_arun`), and have a tool; how tools run.

A call goes: read the arguments (`arguments`), run the code, wrap what it returns (`output`), and
tell those who listen. Nobody listening is the common case and costs nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextvars import copy_context
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal, cast

from plait.callbacks.context import (
    finds_config,
    has_listeners,
    inherited_config,
    is_heard_here,
    var_child_runnable_config,
)
from plait.callbacks.inside import inside
from plait.common.lazy import lazily
from plait.common.reflection import own_annotations
from plait.errors import ToolDefinitionError
from plait.objects.fields import AnnotatedFields, sets_plainly
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig, ensure_config, patch_config, run_in_executor
from plait.runtime import get_runtime
from plait.scope import current_scope, current_tool_call
from plait.tools import failures
from plait.tools.injected import (
    Handler,
    InjectedToolArg,
    InjectedToolCallId,
    SchemaAnnotationError,
    ToolException,
)
from plait.tools.output import as_output, as_text, split_response

if TYPE_CHECKING:
    from uuid import UUID

    from plait.tools.arguments import Arguments, Target
    from plait.tools.schema import ArgsSchema

_FORMATS = ("content", "content_and_artifact")
_KEPT_PLAN = "plait plan"
"""Where a tool keeps what was worked out of it: no name that a class of a program may have."""


class BaseTool(AnnotatedFields, Runnable[Any, Any]):
    """A function that a model may call, with a name, a description and a schema of its arguments.

    Args:
        name: What the model calls it.
        description: What the model reads to decide whether and how to call it.
        args_schema: A pydantic model class or a JSON schema; by default made from `_run`.
        return_direct: The result ends an agent's loop and is its answer.
        verbose: Print the result of each call.
        callbacks: Handlers of this tool's runs; `tags` and `metadata` are told to handlers too.
        handle_tool_error: What a `ToolException` becomes: an error that is raised (False), its
            text (True), this text, or what this function makes of it.
        handle_validation_error: The same for arguments that do not fit the schema.
        response_format: "content", or "content_and_artifact" if the code returns such a tuple.
        extras: What only some providers know of a tool. Anthropic's models are told
            `cache_control`, `defer_loading`, `input_examples`, `allowed_callers` and
            `eager_input_streaming`, OpenAI's `defer_loading`.
        on_unknown: What a `ToolNode` does, instead of running the tool again, with a call whose
            process died while it ran: "ask" a person, or a function that looks (see
            `StateGraph.add_node`). By default the call is repeated.

    >>> class Shout(BaseTool):
    ...     name: str = "shout"
    ...     description: str = "Say it loudly."
    ...     def _run(self, text: str, times: int = 1) -> str:
    ...         return text.upper() * times
    >>> Shout().invoke({"text": "hi", "times": 2})
    'HIHI'
    """

    __plait_unwritten__ = ("callbacks", "on_unknown")

    name: str  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleUnannotatedOverride]
    description: str
    args_schema: Any = None
    return_direct: bool = False
    verbose: bool = False
    callbacks: Any = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    handle_tool_error: Handler = False
    handle_validation_error: Handler = False
    response_format: Literal["content", "content_and_artifact"] = "content"
    extras: dict[str, Any] | None = None
    on_unknown: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        annotation = own_annotations(cls).get("args_schema")
        if getattr(annotation, "__name__", annotation) == "BaseModel":
            raise SchemaAnnotationError(
                f"Tool {cls.__name__}: annotate args_schema as a class: "
                "`args_schema: type[BaseModel] = ...`, not as an object of it."
            )

    def __init__(self, **values: Any) -> None:
        if type(self)._run is BaseTool._run:
            raise ToolDefinitionError(f"Tool {type(self).__name__} must define _run().")
        super().__init__(**values)
        self.__dict__.pop(_KEPT_PLAN, None)  # of whoever asked before there were fields
        failures.check_handlers(self)
        _check_schema(self.name, vars(self).get("args_schema"))
        if self.response_format not in _FORMATS:
            raise ToolDefinitionError(
                f"Tool {self.name!r}: response_format is 'content' or 'content_and_artifact', not "
                f"{self.response_format!r}."
            )

    @sets_plainly
    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__.pop(_KEPT_PLAN, None)  # made from the fields, so it goes with each of them
        object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        return _fields(self)  # a copy makes its own plan: this one is bound to this object

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    # --- what to define -------------------------------------------------------------------------

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """The code of the tool. May take `run_manager`, and a config by its annotation."""
        raise NotImplementedError(f"Tool {type(self).__name__} must define _run().")

    async def _arun(self, *args: Any, **kwargs: Any) -> Any:
        """The async code; without it, async calls run `_run` on a thread."""
        return await run_in_executor(None, self._run, *args, **kwargs)

    def sync_code(self) -> Callable[..., Any] | None:
        """The code that sync calls run; None where there is only async code."""
        return self._run

    def async_code(self) -> Callable[..., Any] | None:
        """The code that async calls run; None where it is the sync code, on a thread."""
        return None if type(self)._arun is BaseTool._arun else self._arun

    def asking(self, code: Callable[..., Any]) -> Callable[..., Any]:
        """The function whose parameters say what `code` asks of the program, such as the config."""
        return code

    def _parse_input(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> str | dict[str, Any]:
        """The arguments that a call supplies, checked. A subclass may read them otherwise."""
        return self.__plans().arguments.read(tool_input, tool_call_id)

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What `_run` is called with for what a call supplies. A subclass may change it."""
        values = self._parse_input(tool_input, tool_call_id)
        return ((), values) if isinstance(values, dict) else ((values,), {})

    # --- schemas --------------------------------------------------------------------------------

    @property
    def args(self) -> dict[str, Any]:
        """The JSON schema of each argument that a model supplies."""
        return deepcopy(self.shown_json_schema.get("properties", {}))

    @property
    def injected_args(self) -> frozenset[str]:
        """The arguments that the program fills; what a model supplies for them must not count."""
        return self.__plans().arguments.hidden

    @property
    def is_single_input(self) -> bool:
        """Whether there is one argument, so that a text can be it."""
        return len([name for name in self.args if name != "kwargs"]) == 1

    @property
    def tool_call_schema(self) -> Any:
        """What a model is shown: the schema without the arguments that the program fills."""
        plan = self.__plans()
        if plan.shown is None:
            plan.shown = self._shown_schema()
        return plan.shown

    @property
    def shown_json_schema(self) -> dict[str, Any]:
        """`tool_call_schema` as a JSON schema; kept, so do not change it."""
        plan = self.__plans()
        if plan.shown_json is None:
            plan.shown_json = self._described_json()
        return plan.shown_json

    @property
    def is_inferred(self) -> bool:
        """Whether its arguments are its function's, and nobody holds its schema, to change it."""
        return False

    def _described_json(self) -> dict[str, Any]:
        """`tool_call_schema` as a JSON schema."""
        shown = self.tool_call_schema
        if isinstance(shown, dict):
            return cast("dict[str, Any]", shown)
        from plait.tools.schema import json_schema  # loads pydantic

        return json_schema(shown)

    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        """The schema of all arguments as a pydantic model class.

        Of a tool with a JSON schema it is that of whatever a tool may be invoked with.
        """
        if isinstance(self.args_schema, dict):
            return super().get_input_schema(config)
        if self.args_schema is not None:
            return self.args_schema
        from plait.tools.schema import create_schema_from_function  # loads pydantic

        code = self.sync_code() or self.async_code()
        return create_schema_from_function(self.name, cast("Callable[..., Any]", code))

    def _shown_schema(self) -> Any:
        if isinstance(self.args_schema, dict):
            described = {"description": self.description} if self.description else {}
            return {**cast("dict[str, Any]", self.args_schema), **described}
        from plait.tools.schema import without_injected  # loads pydantic

        model = self.get_input_schema()
        return without_injected(self.name, model, self.description or model.__doc__)

    # --- running --------------------------------------------------------------------------------

    @finds_config
    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the tool with a dict of arguments, a text as its one argument, or a tool call.

        Returns:
            What the tool returned; for a tool call the `ToolMessage` that answers it.

        Raises:
            ValidationError: pydantic's, when the arguments do not fit the schema.
            ToolInputError: the input is nothing that a tool takes.
            ToolException: the tool failed, and `handle_tool_error` is False.
        """
        given, call_id = self.__plans().read_call(self.name, input)
        return self.__call(given, call_id, config, kwargs, self.verbose)

    @finds_config
    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`; sync code runs on a thread."""
        given, call_id = self.__plans().read_call(self.name, input)
        return await self.__acall(given, call_id, config, kwargs, self.verbose)

    def run(
        self,
        tool_input: str | dict[str, Any],
        verbose: bool | None = None,
        start_color: str | None = "green",
        color: str | None = "green",
        callbacks: Any = None,
        *,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        run_name: str | None = None,
        run_id: "UUID | None" = None,
        config: RunnableConfig | None = None,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """`invoke` with the parts of the config and the tool call's id as arguments.

        Args:
            verbose: Print the result, as for a tool whose field `verbose` is True.
            color: Told to handlers, and the color of what is printed; `start_color` has no use.
        """
        del start_color
        config = _with_parts(config, callbacks, tags, metadata, run_name, run_id)
        told = {"color": color, **kwargs}
        return self.__call(tool_input, tool_call_id, config, told, self.verbose or bool(verbose))

    async def arun(
        self,
        tool_input: str | dict[str, Any],
        verbose: bool | None = None,
        start_color: str | None = "green",
        color: str | None = "green",
        callbacks: Any = None,
        *,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        run_name: str | None = None,
        run_id: "UUID | None" = None,
        config: RunnableConfig | None = None,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """The async twin of `run`."""
        del start_color
        config = _with_parts(config, callbacks, tags, metadata, run_name, run_id)
        told = {"color": color, **kwargs}
        loud = self.verbose or bool(verbose)
        return await self.__acall(tool_input, tool_call_id, config, told, loud)

    def __call(
        self,
        given: Any,
        call_id: str | None,
        config: RunnableConfig | None,
        told: dict[str, Any],
        loud: bool,
    ) -> Any:
        plan = self.__plans()
        target = plan.sync
        if target is None:
            raise NotImplementedError(
                f"Tool {self.name!r} has only async code, so it does not support sync invocation. "
                "Use ainvoke."
            )
        heard, config = self.__heard(config, loud)
        if not heard:
            return self.__attempt(plan, target, given, call_id, config, None)
        from plait.callbacks import CallbackManager  # loads asyncio; only where somebody listens

        config = ensure_config(config)
        manager = CallbackManager.configure(*self.__listeners(config, loud))
        about, started = self.__started(plan, given, call_id, config, told)
        run = manager.on_tool_start(*about, **started)
        child = patch_config(config, callbacks=run.get_child())
        try:
            with inside(run):
                output = self.__attempt(plan, target, given, call_id, child, run)
        except BaseException as error:
            run.on_tool_error(error, tool_call_id=call_id)
            raise
        run.on_tool_end(output, color=started["color"], name=self.name)
        return output

    async def __acall(
        self,
        given: Any,
        call_id: str | None,
        config: RunnableConfig | None,
        told: dict[str, Any],
        loud: bool,
    ) -> Any:
        plan = self.__plans()
        heard, config = self.__heard(config, loud)
        if not heard:
            return await self.__aattempt(plan, given, call_id, config, None)
        from plait.callbacks import AsyncCallbackManager  # only where somebody listens

        config = ensure_config(config)
        manager = AsyncCallbackManager.configure(*self.__listeners(config, loud))
        about, started = self.__started(plan, given, call_id, config, told)
        run = await manager.on_tool_start(*about, **started)
        child = patch_config(config, callbacks=run.get_child())
        try:
            with inside(run):
                output = await self.__aattempt(plan, given, call_id, child, run)
        except BaseException as error:
            await run.on_tool_error(error, tool_call_id=call_id)
            raise
        await run.on_tool_end(output, color=started["color"], name=self.name)
        return output

    def __heard(
        self, config: RunnableConfig | None, loud: bool
    ) -> tuple[bool, RunnableConfig | None]:
        """Whether anybody listens, and the config of children (None: the one they inherit).

        Args:
            config: Of the call.
            loud: Whether the result is printed.
        """
        if config is None:
            return loud or bool(self.callbacks) or is_heard_here(), None
        if config is inherited_config():
            return loud or bool(self.callbacks) or has_listeners(config), None
        config = ensure_config(config)
        if loud or self.callbacks or has_listeners(config):
            return True, config
        config.pop("run_name", None)
        config.pop("run_id", None)
        return False, config

    def __listeners(self, config: RunnableConfig, loud: bool) -> tuple[Any, ...]:
        """What a callback manager is configured with for a run of this tool."""
        inherited, local = config.get("callbacks"), self.callbacks
        tags, metadata = config.get("tags"), config.get("metadata")
        return inherited, local, loud, tags, self.tags, metadata, self.metadata

    def __started(
        self,
        plan: "_Plan",
        given: Any,
        call_id: str | None,
        config: RunnableConfig,
        told: dict[str, Any],
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What handlers are told at the start: positional and keyword arguments of the event."""
        shown = plan.arguments.shown(given)
        about = {"name": self.name, "description": self.description}
        text = given if isinstance(given, str) else as_text(shown if shown is not None else given)
        return (about, text, config.get("run_id")), {
            "inputs": shown,
            "name": config.get("run_name"),
            "tool_call_id": call_id,
            "color": "green",
            **told,
        }

    def __attempt(
        self,
        plan: "_Plan",
        target: "Target",
        given: Any,
        call_id: str | None,
        config: RunnableConfig | None,
        run: Any,
    ) -> Any:
        artifact, status = None, "success"
        try:
            args, kwargs = _bound(plan, target, given, call_id, config, run)
            context = copy_context()
            if config is not None:
                context.run(var_child_runnable_config.set, config)
            if call_id and current_scope.get() is not None:
                context.run(current_tool_call.set, call_id)
            response = context.run(target.call, *args, **kwargs)
            content, artifact = split_response(response, self.response_format, self.name)
        except Exception as error:
            content, status = failures.handled(self, error), "error"
        return as_output(content, artifact, call_id, self.name, status)

    async def __aattempt(
        self,
        plan: "_Plan",
        given: Any,
        call_id: str | None,
        config: RunnableConfig | None,
        run: Any,
    ) -> Any:
        target = plan.aio
        if target is None:
            sync_run = None if run is None else run.get_sync()
            code = cast("Target", plan.sync)
            return await run_in_executor(
                None, self.__attempt, plan, code, given, call_id, config, sync_run
            )
        artifact, status = None, "success"
        outer_call = current_tool_call.set(call_id or current_tool_call.get())
        outer_config = None if config is None else var_child_runnable_config.set(config)
        try:
            args, kwargs = _bound(plan, target, given, call_id, config, run)
            response = await target.call(*args, **kwargs)
            content, artifact = split_response(response, self.response_format, self.name)
        except Exception as error:
            content, status = failures.handled(self, error), "error"
        finally:
            if outer_config is not None:
                var_child_runnable_config.reset(outer_config)
            current_tool_call.reset(outer_call)
        return as_output(content, artifact, call_id, self.name, status)

    def __plans(self) -> "_Plan":
        """What is worked out once, until a field is set."""
        plan = self.__dict__.get(_KEPT_PLAN)
        if plan is None:
            plan = self.__dict__[_KEPT_PLAN] = _Plan(self)
        return plan


class _Plan:
    """What a model is shown of a tool; its targets, and how their arguments are read.

    The latter need the schema as a model class of pydantic's: that is made for the first call.
    """

    __slots__ = (
        *("_tool", "aio", "arguments", "read_call", "reads_itself"),
        *("shown", "shown_json", "spreads", "sync"),
    )

    sync: "Target | None"
    aio: "Target | None"
    arguments: "Arguments"
    read_call: Any
    reads_itself: Any
    spreads: bool

    def __init__(self, tool: BaseTool) -> None:
        self._tool = tool
        self.shown: Any = None
        self.shown_json: dict[str, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        # Only for what is not there yet.
        if name not in ("aio", "arguments", "read_call", "reads_itself", "spreads", "sync"):
            raise AttributeError(name)
        self._prepare()
        return getattr(self, name)

    def _prepare(self) -> None:
        from plait.tools.arguments import Arguments, Target, read_call  # loads inspect

        tool = self._tool
        sync, aio = tool.sync_code(), tool.async_code()
        self.read_call = read_call
        self.sync = None if sync is None else Target(sync, tool.asking(sync))
        self.aio = None if aio is None else Target(aio, tool.asking(aio))
        self.reads_itself = tool if _reads_itself(type(tool)) else None
        targets = [target for target in (self.sync, self.aio) if target is not None]
        # Only a schema made from the signature has fields for `*args` and `**kwargs` themselves.
        self.spreads = "_inferred" in vars(tool)
        self.arguments = Arguments(tool.name, tool.args_schema, targets)


def _reads_itself(kind: type[BaseTool]) -> bool:
    """Whether a class of the program's reads the arguments in a way of its own."""
    names = ("_parse_input", "_to_args_and_kwargs")
    return any(getattr(kind, name) is not getattr(BaseTool, name) for name in names)


def _bound(
    plan: _Plan,
    target: "Target",
    given: Any,
    call_id: str | None,
    config: RunnableConfig | None,
    run: Any,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of the code: what was supplied, and what it asks of the program."""
    args: tuple[Any, ...] = ()
    if plan.reads_itself is not None:
        args, values = plan.reads_itself._to_args_and_kwargs(given, call_id)
        values = dict(values)
    else:
        values = plan.arguments.read(given, call_id)
    if not isinstance(values, dict):
        args, values = (values,), dict[str, Any]()
    elif plan.spreads and (target.spread_args or target.spread_kwargs):
        args, values = target.spread(cast("dict[str, Any]", values))
    kwargs = cast("dict[str, Any]", values)
    if target.wired:
        _wire(target, kwargs, config, run)
    return args, kwargs


def _wire(
    target: "Target", kwargs: dict[str, Any], config: RunnableConfig | None, run: Any
) -> None:
    for name in target.configs:
        kwargs[name] = ensure_config(config)
    for name in target.runtimes:
        kwargs[name] = get_runtime()
    if target.wants_callbacks:
        kwargs["callbacks"] = failures.unheard_children() if run is None else run.get_child()
    if target.wants_run:
        kwargs["run_manager"] = failures.unheard(target.call) if run is None else run


class BaseToolkit(AnnotatedFields, ABC, init=False):
    """Tools that share something, such as a connection. Derive from it and define `get_tools`."""

    @abstractmethod
    def get_tools(self) -> list[BaseTool]:
        """The tools."""


def _check_schema(name: str, schema: Any) -> None:
    if schema is None or isinstance(schema, dict):
        return
    if isinstance(schema, type) and (
        hasattr(schema, "model_fields") or hasattr(schema, "__fields__")
    ):
        return
    raise ToolDefinitionError(
        f"Tool {name!r}: args_schema must be a pydantic model class or a JSON schema (a dict), "
        f"not {schema!r}."
    )


def _fields(tool: BaseTool) -> dict[str, Any]:
    return {name: value for name, value in vars(tool).items() if name != _KEPT_PLAN}


def _with_parts(
    config: RunnableConfig | None,
    callbacks: Any,
    tags: Any,
    metadata: Any,
    run_name: Any,
    run_id: Any,
) -> RunnableConfig | None:
    """A config and the parts of it that were given as arguments."""
    parts = {
        "callbacks": callbacks,
        "tags": tags,
        "metadata": metadata,
        "run_name": run_name,
        "run_id": run_id,
    }
    given = {name: value for name, value in parts.items() if value is not None}
    return {**(config or {}), **given} or None


# What programs import from here; made elsewhere, and only when asked for.
__getattr__ = lazily(
    __name__,
    dict.fromkeys(
        ("ArgsSchema", "create_schema_from_function", "get_all_basemodel_annotations"),
        "plait.tools.schema",
    ),
)

__all__ = [
    "ArgsSchema",
    "BaseTool",
    "BaseToolkit",
    "InjectedToolArg",
    "InjectedToolCallId",
    "SchemaAnnotationError",
    "ToolException",
]
