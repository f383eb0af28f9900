"""`RunnableEach`: a runnable for each item of a list, which is what `.map()` makes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from plait.objects.model_face import ComparedFields
from plait.runnables.base import Item, Other, Runnable, coerce_to_runnable
from plait.runnables.config import RunnableConfig
from plait.runnables.runs import acall_as_run, call_as_run

if TYPE_CHECKING:
    from pydantic import BaseModel

    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
    from plait.drawing import Graph
    from plait.runnables.fields import ConfigurableFieldSpec


class RunnableEach(ComparedFields, Runnable[Sequence[Item], list[Other]]):
    """A runnable for each item of a list, as a batch.

    Args:
        bound: The runnable.
        name: The name that handlers see.

    >>> RunnableEach(str.upper).invoke(["a", "b"])
    ['A', 'B']
    """

    __plait_fields__ = ("name", "bound")

    def __init__(self, bound: Any, *, name: str | None = None) -> None:
        self.bound: Runnable[Item, Other] = coerce_to_runnable(bound)
        self.name = name

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Its own name, else one made of the bound runnable's."""
        known = name or self.name or f"RunnableEach<{self.bound.get_name()}>"
        return super().get_name(suffix, name=known)

    @property
    def InputType(self) -> Any:
        """A list of what the bound runnable takes."""
        return list[self.bound.InputType]

    @property
    def OutputType(self) -> Any:
        """A list of what the bound runnable gives."""
        return list[self.bound.OutputType]

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """A list of what the bound runnable takes."""
        from plait.runnables.schemas import root_model  # loads pydantic

        item = self.bound.get_input_schema(config)
        return root_model(self.get_name("Input"), list[item], None)

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """A list of what the bound runnable gives."""
        from plait.runnables.schemas import root_model  # loads pydantic

        return root_model(self.get_name("Output"), list[self.bound.get_output_schema(config)])

    @property
    def config_specs(self) -> "list[ConfigurableFieldSpec]":
        """What can be configured in the bound runnable."""
        return self.bound.config_specs

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """The graph of the bound runnable."""
        return self.bound.get_graph(config)

    def bind(self, **kwargs: Any) -> "RunnableEach[Item, Other]":
        """The same for the bound runnable with keyword arguments of its own."""
        return RunnableEach(self.bound.bind(**kwargs), name=self.name)

    def with_config(
        self, config: RunnableConfig | None = None, **kwargs: Any
    ) -> "RunnableEach[Item, Other]":
        """The same for the bound runnable with a config of its own."""
        return RunnableEach(self.bound.with_config(config, **kwargs), name=self.name)

    def with_listeners(self, **listeners: Any) -> "RunnableEach[Item, Other]":
        """The same for the bound runnable with listeners."""
        return RunnableEach(self.bound.with_listeners(**listeners), name=self.name)

    def with_alisteners(self, **listeners: Any) -> "RunnableEach[Item, Other]":
        """The same for the bound runnable with async listeners."""
        return RunnableEach(self.bound.with_alisteners(**listeners), name=self.name)

    def invoke(
        self, input: Sequence[Item], config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Other]:
        """The bound runnable's batch."""

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> Any:
            return self.bound.batch(list(input), config, **kwargs)

        return call_as_run(work, self.get_name(), input, config)

    async def ainvoke(
        self, input: Sequence[Item], config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Other]:
        """The bound runnable's batch."""

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> Any:
            return await self.bound.abatch(list(input), config, **kwargs)

        return await acall_as_run(work, self.get_name(), input, config)
