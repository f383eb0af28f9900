"""`RunnableSequence`: runnables one after the other, which is what `|` makes."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Self, cast

from plait.callbacks.context import has_listeners
from plait.common.closing import aclose
from plait.objects.model_face import ComparedFields
from plait.runnables.base import Input, Output, Runnable, coerce_to_runnable
from plait.runnables.config import RunnableConfig, ensure_config
from plait.runnables.runs import (
    acall_as_run,
    acall_child,
    call_as_run,
    call_child,
    child_call,
    child_config,
    unnamed,
)
from plait.runnables.stream_runs import atransform_as_run, transform_as_run
from plait.runnables.transforming import Transforming

if TYPE_CHECKING:
    from pydantic import BaseModel

    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
    from plait.drawing import Graph
    from plait.runnables.fields import ConfigurableFieldSpec


class RunnableSequence(ComparedFields, Transforming[Input, Output]):
    """Runnables one after the other; each gets the output of the one before.

    Chunks of a step go into the next step as they come, so that a stream comes out as soon as
    every step can give something.

    Args:
        steps: Two or more runnables, functions or dicts; sequences among them are flattened.
        name: The name that handlers see.
        first: The first step, in place of `steps`.
        middle: The steps between.
        last: The last step.

    Raises:
        ValueError: There are fewer than two steps.

    >>> RunnableSequence(str.strip, str.upper).invoke(" hi ")
    'HI'
    """

    __plait_fields__ = ("name", "first", "middle", "last")

    def __init__(
        self,
        *steps: Any,
        name: str | None = None,
        first: Any = None,
        middle: Sequence[Any] | None = None,
        last: Any = None,
    ) -> None:
        self.name = name
        if not steps and first is not None and last is not None:
            steps = (first, *(middle or ()), last)
        self.steps: list[Runnable[Any, Any]] = []
        for step in map(coerce_to_runnable, steps):
            inner = cast("Any", step).steps if isinstance(step, RunnableSequence) else [step]
            self.steps.extend(inner)
        if len(self.steps) < 2:
            raise ValueError(f"RunnableSequence must have at least 2 steps, got {len(self.steps)}.")
        self._calls = [child_call(step) for step in self.steps]

    @property
    def first(self) -> Runnable[Any, Any]:
        """The first step."""
        return self.steps[0]

    @property
    def middle(self) -> list[Runnable[Any, Any]]:
        """The steps between the first and the last."""
        return self.steps[1:-1]

    @property
    def last(self) -> Runnable[Any, Any]:
        """The last step."""
        return self.steps[-1]

    def __repr__(self) -> str:
        parts = [repr(step) for step in self.steps]
        rest = ["\n".join(f"  {line}" for line in part.split("\n"))[2:] for part in parts[1:]]
        return "\n| ".join([parts[0], *rest])

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other steps, or another name."""
        made = deepcopy(self) if deep else self
        return type(self)(**{**dict(made), **(update or {})})

    def __or__(self, other: Any) -> Runnable[Input, Any]:
        return RunnableSequence(self, other, name=self.name or _name_of(other))

    def __ror__(self, other: Any) -> Runnable[Any, Output]:
        return RunnableSequence(other, self, name=_name_of(other) or self.name)

    # --- what it says about itself ---------------------------------------------------------------

    @property
    def InputType(self) -> Any:
        """That of the first step."""
        return self.first.InputType

    @property
    def OutputType(self) -> Any:
        """That of the last step."""
        return self.last.OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """That of the first step."""
        from plait.runnables.schemas import input_of_sequence  # loads pydantic

        return input_of_sequence(self.steps, config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """That of the last step."""
        from plait.runnables.schemas import output_of_sequence  # loads pydantic

        return output_of_sequence(self.steps, config)

    @property
    def config_specs(self) -> "list[ConfigurableFieldSpec]":
        """What can be configured in the steps."""
        from plait.runnables.fields import specs_of  # few programs configure

        return specs_of(self.steps)

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """The graphs of the steps, one after the other.

        Raises:
            ConfigError: a step that is a graph has no one way in.
        """
        from plait.runnables.pictures import in_sequence  # only what is drawn needs it

        return in_sequence(self.steps, config)

    # --- calls -----------------------------------------------------------------------------------

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Invoke step after step; `kwargs` go to the first."""
        config = ensure_config(config)
        if not kwargs and not has_listeners(config):
            return self.run_unheard(input, unnamed(config))

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> Any:
            value: Any = input
            given = kwargs
            for index, step in enumerate(self.steps):
                value = call_child(step, value, config, run, _tag(index), given)
                given = {}
            return value

        return call_as_run(work, self.get_name(), input, config)

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Invoke step after step; `kwargs` go to the first."""

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> Any:
            value: Any = input
            given = kwargs
            for index, step in enumerate(self.steps):
                value = await acall_child(step, value, config, run, _tag(index), given)
                given = {}
            return value

        return await acall_as_run(work, self.get_name(), input, config)

    def run_unheard(self, input: Input, config: RunnableConfig) -> Output:
        """`invoke` without listeners."""
        value: Any = input
        for call in self._calls:
            value = call(value, config)
        return value

    async def arun_unheard(self, input: Input, config: RunnableConfig) -> Output:
        """`ainvoke` without listeners."""
        value: Any = input
        for step in self.steps:
            value = await acall_child(step, value, config, None, None, {})
        return value

    def transform(
        self, input: Iterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Pass chunks from step to step."""

        def work(
            chunks: Iterator[Any], config: RunnableConfig, run: "CallbackManagerForChainRun | None"
        ) -> Iterator[Any]:
            given = kwargs
            for index, step in enumerate(self.steps):
                chunks = step.transform(chunks, child_config(config, run, _tag(index)), **given)
                given = {}
            yield from chunks  # a generator: its body runs where its chunks are made

        return transform_as_run(work, self.get_name(), input, config)

    def atransform(
        self, input: AsyncIterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Pass chunks from step to step."""

        async def work(
            chunks: AsyncIterator[Any],
            config: RunnableConfig,
            run: "AsyncCallbackManagerForChainRun | None",
        ) -> AsyncIterator[Any]:
            given = kwargs
            opened: list[Any] = []
            for index, step in enumerate(self.steps):
                chunks = step.atransform(chunks, child_config(config, run, _tag(index)), **given)
                opened.append(chunks)
                given = {}
            try:
                async for chunk in chunks:
                    yield chunk
            finally:
                for each in reversed(opened):
                    await aclose(each)

        return atransform_as_run(work, self.get_name(), input, config)


def _tag(index: int) -> str:
    return f"seq:step:{index + 1}"


def _name_of(other: Any) -> str | None:
    return other.name if isinstance(other, RunnableSequence) else None
