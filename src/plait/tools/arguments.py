"""From what a caller or a model supplied to the arguments of the tool's function: one plan a tool.

The plan is made when a tool first runs, and again after one of its fields was set.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from plait.errors import ToolInputError
from plait.tools.signatures import Parameter, parameters

_NONE: frozenset[str] = frozenset()


class Target:
    """The code that a tool runs, and what it asks of the program by the names of its parameters."""

    __slots__ = (
        "call",
        "call_ids",
        "configs",
        "injected",
        "names",
        "runtimes",
        "spread_args",
        "spread_kwargs",
        "wants_callbacks",
        "wants_run",
        "wired",
    )

    def __init__(self, call: Callable[..., Any], asking: Callable[..., Any] | None = None) -> None:
        self.call = call
        # What a schema was made from could be read; beside another, types may be missing here.
        its: list[Parameter] = parameters(call, lenient=True)
        asks = its if asking in (None, call) else parameters(cast("Any", asking), lenient=True)
        self.names = frozenset(one.name for one in asks)
        self.configs = tuple(one.name for one in asks if one.is_config)
        self.runtimes = tuple(one.name for one in asks if one.is_runtime)
        self.injected = frozenset(one.name for one in its if one.is_injected)
        self.call_ids = frozenset(one.name for one in its if one.is_call_id)
        self.wants_run = "run_manager" in self.names
        self.wants_callbacks = "callbacks" in self.names
        self.wired = bool(self.configs or self.runtimes or self.wants_run or self.wants_callbacks)
        self.spread_args = next((one.name for one in its if one.spread == "*"), None)
        self.spread_kwargs = next((one.name for one in its if one.spread == "**"), None)

    def spread(self, values: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments: what a schema calls `args` is spread as `*args`."""
        args: tuple[Any, ...] = ()
        if self.spread_args is not None:
            args = tuple(values.pop(self.spread_args, None) or ())
            if args:  # what comes before `*args` must then be positional too
                before = tuple(values.pop(name) for name in self._before_spread() if name in values)
                args = before + args
        if self.spread_kwargs is not None:
            more: Any = values.get(self.spread_kwargs)
            if more is None or isinstance(more, dict):
                values.pop(self.spread_kwargs, None)
                values.update(cast("dict[str, Any]", more or {}))
        return args, values

    def _before_spread(self) -> list[str]:
        names = [one.name for one in parameters(self.call, lenient=True)]
        return names[: names.index(cast("str", self.spread_args))]


class Arguments:
    """How the arguments of one tool are read, checked and completed."""

    __slots__ = ("call_ids", "hidden", "name", "only", "schema", "validate")

    def __init__(self, name: str, schema: Any, targets: list[Target]) -> None:
        self.name = name
        self.schema = schema
        self.hidden = _NONE.union(*(target.injected for target in targets))
        self.call_ids = _NONE.union(*(target.call_ids for target in targets))
        self.validate: Callable[[Any], Any] | None = None
        self.only: str | None = None
        if schema is None or isinstance(schema, dict):
            return
        from plait.tools import schema as models  # loads pydantic

        hidden, call_ids = models.injected_fields(schema)
        self.hidden |= hidden
        self.call_ids |= call_ids
        if models.is_v1(schema):
            self.validate, fields = schema.parse_obj, schema.__fields__
        else:
            self.validate = schema.__pydantic_validator__.validate_python
            fields = schema.model_fields
        self.only = next(iter(fields), None)

    def read(self, given: Any, call_id: str | None) -> Any:
        """The arguments by name; of a text the only argument itself.

        Raises:
            ValidationError: pydantic's, when they do not fit the schema.
            ToolInputError: they are neither a text nor a dict, or the tool needs a tool call.
        """
        if isinstance(given, str):
            return self._read_text(given)
        if given is None and self.validate is not None and self.only is None:
            given = {}  # of a tool without arguments, that is all of them
        if self.call_ids and isinstance(given, (dict, Mapping)):
            ids = dict.fromkeys(self.call_ids, self._check_call_id(call_id))
            given = {**cast("Mapping[str, Any]", given), **ids}
        if self.validate is None:
            if not isinstance(given, Mapping):
                raise ToolInputError(
                    f"Tool {self.name!r} takes a dict of arguments, a text or a tool call, not "
                    f"{type(given).__name__}."
                )
            return dict(cast("Mapping[str, Any]", given))
        valid = self.validate(given)
        values: dict[str, Any] = dict(valid.__dict__)
        extra = getattr(valid, "__pydantic_extra__", None)
        if extra:
            values.update(extra)
        for name in self.hidden:
            if name not in values and isinstance(given, dict) and name in given:
                values[name] = given[name]
        return values

    def _read_text(self, given: str) -> Any:
        if self.validate is None:
            if self.schema is not None:
                raise ToolInputError(
                    f"Tool {self.name!r} has a JSON schema, so a text cannot become its arguments. "
                    "Pass a dict."
                )
            return given
        if self.only is None:
            return {}
        self._check_call_id(None if self.call_ids else "")
        valid = self.validate({self.only: given})
        return getattr(valid, self.only)

    def _check_call_id(self, call_id: str | None) -> str:
        if call_id is None:
            raise ToolInputError(
                f"Tool {self.name!r} has an argument InjectedToolCallId, so it must be invoked "
                "with a tool call: {'type': 'tool_call', 'name': ..., 'id': ..., 'args': {...}}."
            )
        return call_id

    def shown(self, given: Any) -> dict[str, Any] | None:
        """What handlers are told of the arguments: what the model supplied; None for a text."""
        if not isinstance(given, dict):
            return None
        hidden = self.hidden
        items = cast("dict[str, Any]", given).items()
        return {name: value for name, value in items if name not in hidden}


def read_call(name: str, given: Any) -> tuple[Any, str | None]:
    """The arguments and the id of a tool call; anything else is the arguments themselves.

    Raises:
        ToolInputError: a tool call without an id, or whose arguments are no dict.
    """
    call = cast("dict[str, Any]", given)
    if not isinstance(given, dict) or call.get("type") != "tool_call":
        return call, None
    args = call.get("args")
    if "id" not in call or not isinstance(args, dict):
        wrong = "has no 'id'" if "id" not in call else f"has args {type(args).__name__}"
        raise ToolInputError(
            f"Tool {name!r} was invoked with a tool call that {wrong}. It must be "
            "{'type': 'tool_call', 'name': ..., 'id': ..., 'args': {...}}."
        )
    return cast("dict[str, Any]", args), call["id"]
