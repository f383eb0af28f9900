"""`RouterRunnable`: the runnable that the input names."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from plait.objects.model_face import ComparedFields
from plait.runnables.base import Output, Runnable, coerce_to_runnable
from plait.runnables.config import RunnableConfig

if TYPE_CHECKING:
    from plait.runnables.fields import ConfigurableFieldSpec


class RouterInput(TypedDict):
    """Router input."""

    key: str
    input: Any


class RouterRunnable(ComparedFields, Runnable[RouterInput, Output]):
    """Passes the input on to the runnable that it names.

    Args:
        runnables: Key to runnable or function.
        name: The name of the router.

    >>> router = RouterRunnable({"up": str.upper, "low": str.lower})
    >>> router.invoke({"key": "up", "input": "hi"})
    'HI'
    """

    __plait_fields__ = ("name", "runnables")

    def __init__(self, runnables: Mapping[str, Any], *, name: str | None = None) -> None:
        self.runnables = {key: coerce_to_runnable(one) for key, one in runnables.items()}
        self.name = name

    @property
    def InputType(self) -> Any:
        """A key and an input."""
        return RouterInput

    @property
    def OutputType(self) -> Any:
        """Anything."""
        return Any

    @property
    def config_specs(self) -> "list[ConfigurableFieldSpec]":
        """What can be configured in the runnables."""
        from plait.runnables.fields import specs_of  # few programs configure

        return specs_of(self.runnables.values())

    def _named(self, input: RouterInput) -> Runnable[Any, Output]:
        try:
            return self.runnables[input["key"]]
        except KeyError:
            raise _unknown(input, self.runnables) from None

    def invoke(
        self, input: RouterInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Invoke the named runnable.

        Raises:
            ValueError: There is none of that name.
        """
        return self._named(input).invoke(input["input"], config)

    async def ainvoke(
        self, input: RouterInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Invoke the named runnable."""
        return await self._named(input).ainvoke(input["input"], config)

    def stream(
        self, input: RouterInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Stream the named runnable."""
        return self._named(input).stream(input["input"], config)

    def astream(
        self, input: RouterInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Stream the named runnable."""
        return self._named(input).astream(input["input"], config)


def _unknown(input: RouterInput, known: Mapping[str, Any]) -> Exception:
    return ValueError(
        f"No runnable associated with key '{input['key']}'. Known: {', '.join(sorted(known))}."
    )


__all__ = ["RouterInput", "RouterRunnable"]
