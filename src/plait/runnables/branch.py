"""`RunnableBranch`: the first runnable whose condition holds."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from plait.common.closing import aclose
from plait.objects.model_face import ComparedFields
from plait.runnables.base import Input, Output, Runnable, coerce_to_runnable
from plait.runnables.config import RunnableConfig
from plait.runnables.runs import acall_as_run, acall_child, call_as_run, call_child, child_config
from plait.runnables.stream_runs import astream_as_run, stream_as_run

if TYPE_CHECKING:
    from pydantic import BaseModel

    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
    from plait.runnables.fields import ConfigurableFieldSpec


class RunnableBranch(ComparedFields, Runnable[Input, Output]):
    """Runs the first runnable whose condition holds, else the default.

    Args:
        branches: Pairs of (condition, runnable), and last the default.
        name: The name that handlers see.

    Raises:
        ValueError: There are fewer than two branches, or a pair is no pair.
        TypeError: A branch is no pair, or something in it is no runnable.

    >>> branch = RunnableBranch((lambda n: n < 0, lambda n: "below"), lambda n: "above")
    >>> branch.batch([-1, 1])
    ['below', 'above']
    """

    __plait_fields__ = ("name", "branches", "default")

    def __init__(self, *branches: Any, name: str | None = None) -> None:
        self.name = name
        if len(branches) < 2:
            raise ValueError("RunnableBranch requires at least two branches: a pair and a default.")
        *pairs, default = branches
        if isinstance(default, (tuple, list)):
            raise TypeError(
                "RunnableBranch default must be Runnable, callable or mapping, not a pair."
            )
        self.default: Runnable[Input, Output] = coerce_to_runnable(default)
        self.branches: list[tuple[Runnable[Input, bool], Runnable[Input, Output]]] = []
        for pair in pairs:
            if not isinstance(pair, (tuple, list)):
                raise TypeError(
                    f"RunnableBranch branches must be tuples or lists, not {type(pair)}"
                )
            both = cast("Sequence[Any]", pair)
            if len(both) != 2:
                raise ValueError(
                    f"RunnableBranch branches must be pairs (condition, runnable), got {len(both)}"
                )
            self.branches.append((coerce_to_runnable(both[0]), coerce_to_runnable(both[1])))

    @property
    def InputType(self) -> Any:
        """The input type of the first part that has one, else of `RunnableBranch[...]`."""
        types = [part.InputType for part in self._parts()]
        return next((one for one in types if one is not Any), super().InputType)

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """That of the first part that takes something in particular."""
        from plait.runnables.schemas import first_particular_input  # loads pydantic

        return first_particular_input(self._parts()) or super().get_input_schema(config)

    @property
    def config_specs(self) -> "list[ConfigurableFieldSpec]":
        """What can be configured in the parts."""
        from plait.runnables.fields import specs_of  # few programs configure

        return specs_of(self._parts())

    def _parts(self) -> list[Runnable[Any, Any]]:
        bodies = [body for _, body in self.branches]
        return [self.default, *bodies, *(condition for condition, _ in self.branches)]

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Ask the conditions in order; invoke the chosen runnable."""

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> Any:
            chosen, tag = self._choose(input, config, run)
            return call_child(chosen, input, config, run, tag, kwargs)

        return call_as_run(work, self.get_name(), input, config)

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Ask the conditions in order; invoke the chosen runnable."""

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> Any:
            chosen, tag = await self._achoose(input, config, run)
            return await acall_child(chosen, input, config, run, tag, kwargs)

        return await acall_as_run(work, self.get_name(), input, config)

    def stream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Ask the conditions in order; stream the chosen runnable."""

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> Iterator[Any]:
            chosen, tag = self._choose(input, config, run)
            yield from chosen.stream(input, child_config(config, run, tag), **kwargs)

        return stream_as_run(work, self.get_name(), input, config)

    def astream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Ask the conditions in order; stream the chosen runnable."""

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> AsyncIterator[Any]:
            chosen, tag = await self._achoose(input, config, run)
            chunks = chosen.astream(input, child_config(config, run, tag), **kwargs)
            try:
                async for chunk in chunks:
                    yield chunk
            finally:
                await aclose(chunks)

        return astream_as_run(work, self.get_name(), input, config)

    def _choose(
        self, input: Any, config: RunnableConfig, run: Any
    ) -> tuple[Runnable[Any, Any], str]:
        for number, (condition, body) in enumerate(self.branches, 1):
            if call_child(condition, input, config, run, f"condition:{number}", {}):
                return body, f"branch:{number}"
        return self.default, "branch:default"

    async def _achoose(
        self, input: Any, config: RunnableConfig, run: Any
    ) -> tuple[Runnable[Any, Any], str]:
        for number, (condition, body) in enumerate(self.branches, 1):
            if await acall_child(condition, input, config, run, f"condition:{number}", {}):
                return body, f"branch:{number}"
        return self.default, "branch:default"
