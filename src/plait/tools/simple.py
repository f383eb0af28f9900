"""`Tool`: a function of one text as a tool."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from plait.errors import ToolDefinitionError
from plait.runnables.config import run_in_executor
from plait.tools.base import BaseTool
from plait.tools.injected import ToolException

if TYPE_CHECKING:
    from plait.tools.base import ArgsSchema


class Tool(BaseTool):
    """A function of one text as a tool; models call it with the argument `__arg1`.

    Args:
        name: What the model calls it.
        func: The code; None where there is only a `coroutine`.
        description: What the model reads.

    >>> Tool("shout", str.upper, "Say it loudly.").invoke("hi")
    'HI'
    """

    description: str = ""
    func: Callable[..., Any] | None
    coroutine: Callable[..., Any] | None = None

    def __init__(
        self, name: str, func: Callable[..., Any] | None, description: str, **values: Any
    ) -> None:
        super().__init__(name=name, func=func, description=description, **values)

    @property
    def args(self) -> dict[str, Any]:
        """The JSON schema of the argument."""
        return {"tool_input": {"type": "string"}} if self.args_schema is None else super().args

    def sync_code(self) -> Callable[..., Any] | None:
        """`_run`, if there is a function."""
        if self.func is None and type(self)._run is Tool._run:
            return None
        return self._run

    def async_code(self) -> Callable[..., Any] | None:
        """`_arun`, if there is a coroutine function."""
        if self.coroutine is None and type(self)._arun is Tool._arun:
            return None
        return self._arun

    def asking(self, code: Callable[..., Any]) -> Callable[..., Any]:
        """The function itself, unless a subclass defines what runs."""
        its: Any = getattr(code, "__func__", code)
        if its is Tool._run:
            return cast("Callable[..., Any]", self.func)
        return cast("Callable[..., Any]", self.coroutine) if its is Tool._arun else code

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with the one argument, whatever it was called."""
        code = cast("Callable[..., Any]", self.func)
        wired = _wiring(code, kwargs)
        return code(self._only(args, kwargs, wired), **wired)

    async def _arun(self, *args: Any, **kwargs: Any) -> Any:
        """Await the coroutine function, else call the function on a thread."""
        if self.coroutine is None:
            return await run_in_executor(None, self._run, *args, **kwargs)
        wired = _wiring(self.coroutine, kwargs)
        return await self.coroutine(self._only(args, kwargs, wired), **wired)

    def _only(self, args: tuple[Any, ...], kwargs: dict[str, Any], wired: Mapping[str, Any]) -> Any:
        known = {*_WIRED, *wired}
        values = [*args, *(value for name, value in kwargs.items() if name not in known)]
        if len(values) != 1:
            raise ToolException(
                f"Tool {self.name!r} takes exactly one argument and was given {len(values)}. "
                "Use a StructuredTool for more."
            )
        return values[0]

    def _shown_schema(self) -> Any:
        if self.args_schema is not None:
            return super()._shown_schema()
        only = {"__arg1": {"title": "__arg1", "type": "string"}}
        shown = {"properties": only, "required": ["__arg1"], "title": self.name, "type": "object"}
        return {"description": self.description, **shown}

    @classmethod
    def from_function(
        cls,
        func: Callable[..., Any] | None,
        name: str,
        description: str,
        return_direct: bool = False,
        args_schema: "ArgsSchema | None" = None,
        coroutine: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> "Tool":
        """A tool from a function of one text, an async one, or both.

        Raises:
            ToolDefinitionError: There is neither.
        """
        if func is None and coroutine is None:
            raise ToolDefinitionError(
                f"Tool {name!r} needs a function: pass func, coroutine or both."
            )
        return cls(
            name,
            func,
            description,
            return_direct=return_direct,
            args_schema=args_schema,
            coroutine=coroutine,
            **kwargs,
        )


_WIRED = ("callbacks", "run_manager", "config")


def _wiring(code: Callable[..., Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    from plait.tools.signatures import parameters  # loads inspect

    return {
        its.name: kwargs[its.name]
        for its in parameters(code)
        if its.name in kwargs and (its.name in _WIRED or not its.is_plain)
    }
