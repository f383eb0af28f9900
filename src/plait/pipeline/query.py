"""`QueryPipeline`: modules, links between them, and a graph on the engine that runs them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from plait.errors import InvalidInputError
from plait.pipeline.building import Blueprint
from plait.pipeline.components import OUTPUT, InputKeys
from plait.pipeline.inputs import by_module
from plait.pipeline.models import with_model
from plait.pipeline.modules import as_component
from plait.pipeline.wiring import Entry, Link, Wiring
from plait.runnables.base import Runnable
from plait.runnables.config import ConfigLike, RunnableConfig, merge_configs
from plait.types import Checkpointer, Command

if TYPE_CHECKING:
    from pydantic import BaseModel

    from plait.drawing import Graph
    from plait.graph.compile import CompiledStateGraph
    from plait.pipeline.components import QueryComponent
    from plait.store.base import BaseStore

INTERRUPTED = "__interrupt__"


class ComponentIntermediates(NamedTuple):
    """What went into a module and what came out, in one run."""

    inputs: dict[str, Any]
    outputs: dict[str, Any]


class QueryPipeline(Runnable[Any, Any]):
    """A declared pipeline: modules, and links that carry values from outputs to inputs.

    It has no circles, so each module runs once, as soon as its inputs are there; modules that do
    not wait for each other run at once. It runs as a graph on plait's engine.

    Args:
        chain: modules that follow one another, each into the only input of the next.
        modules: name to module (see `add_modules`).
        links: links between them.
        verbose: print each module and its inputs when it runs.
        llm: the model of modules that need one and have none: a chat model or "provider:name".
        max_concurrency: how many modules may run at once; 1 runs them one by one.
        checkpointer: the saver that keeps its threads.
        store: long-term memory that modules find in `get_store()`.
        name: the pipeline's name, in traces.

    >>> from plait.pipeline import InputComponent
    >>> pipeline = QueryPipeline()
    >>> pipeline.add_modules(
    ...     {
    ...         "input": InputComponent(),
    ...         "count": len,
    ...         "tell": lambda text, size: f"{text!r} has {size} letters",
    ...     }
    ... )
    >>> pipeline.add_link("input", "count")
    >>> pipeline.add_link("input", "tell", dest_key="text")
    >>> pipeline.add_link("count", "tell", dest_key="size")
    >>> pipeline.run("plait")
    "'plait' has 5 letters"
    """

    def __init__(
        self,
        chain: Sequence[Any] | None = None,
        modules: Mapping[str, Any] | None = None,
        links: Iterable[Link] | None = None,
        *,
        verbose: bool = False,
        llm: Any = None,
        max_concurrency: int | None = None,
        checkpointer: Checkpointer = None,
        store: BaseStore | None = None,
        name: str | None = None,
    ) -> None:
        self.verbose = verbose
        self.llm = llm
        self.max_concurrency = max_concurrency
        self.checkpointer = checkpointer
        self.store = store
        self.name: str = name or "QueryPipeline"  # pyright: ignore[reportIncompatibleVariableOverride]
        self._wiring = Wiring()
        self._blueprint: Blueprint | None = None
        self._graph: CompiledStateGraph | None = None
        self.add_modules(modules or {})
        if chain is not None:
            self.add_chain(chain)
        self.add_links(links or ())

    def __repr__(self) -> str:
        return f"{self.name}(modules={list(self.modules)}, links={len(self.links)})"

    # --- building --------------------------------------------------------------------------------

    @property
    def modules(self) -> Mapping[str, QueryComponent]:
        """The modules by name, as components."""
        return self._wiring.modules

    @property
    def links(self) -> Sequence[Link]:
        """The links, with the keys that they carry."""
        return tuple(self._wiring.links)

    def add_modules(self, modules: Mapping[str, Any]) -> None:
        """Add modules by name.

        A module is a component, a function (its parameters are the inputs), a prompt (its
        variables are), a tool (its arguments are), another pipeline, or any other runnable, which
        takes `input`. All but components give `output`.

        Raises:
            InvalidGraphError: a name is taken or cannot be a name.
            InvalidNodeError: a module is none of these.
        """
        for name, module in modules.items():
            self.add(name, module)

    def add(self, module_key: str, module: Any) -> None:
        """Add one module (see `add_modules`)."""
        self._wiring.add_module(module_key, as_component(module_key, module))
        self._changed()

    def add_link(
        self, src: str, dest: str, src_key: str | None = None, dest_key: str | None = None
    ) -> None:
        """Let an output of one module be an input of another.

        Two modules may have several links between them. An input takes one link. A link from an
        `InputComponent` without `src_key` gives way to one with it.

        Args:
            src: the module whose output it is.
            dest: the module whose input it becomes.
            src_key: which output; needless where there is one.
            dest_key: which input; needless where one is required.

        Raises:
            UnknownNodeError: there is no such module.
            InvalidGraphError: a key is unknown or cannot be found, the input has a link already,
                or the link closes a circle.
        """
        self._wiring.add_link(Link(src, dest, src_key, dest_key))
        self._changed()

    def add_links(self, links: Iterable[Link]) -> None:
        """Add several links (see `add_link`)."""
        for link in links:
            self.add_link(link.src, link.dest, link.src_key, link.dest_key)

    def add_chain(self, chain: Sequence[Any]) -> None:
        """Add modules that follow one another; names of modules that are there stand for them.

        Raises:
            InvalidGraphError: a module has not exactly one required input, or not one output.
        """
        names: list[str] = []
        for place in chain:
            if isinstance(place, str):
                names.append(place)
            else:
                names.append(self._name_of(place))
                self.add(names[-1], place)
        for before, after in pairwise(names):
            self.add_link(before, after)

    def _name_of(self, module: Any) -> str:
        """A name for a module of a chain: its own, or its class's, with a number where needed."""
        own = getattr(module, "__name__", None) or getattr(module, "name", None)
        base = own if isinstance(own, str) and own.isidentifier() else type(module).__name__
        names = (base if count == 1 else f"{base}_{count}" for count in range(1, 10**6))
        return next(name for name in names if name not in self.modules)

    def _changed(self) -> None:
        self._blueprint = self._graph = None

    def build(self) -> Blueprint:
        """Check that the pipeline is whole. Running it does so too.

        Raises:
            InvalidGraphError: it is empty, a module lacks an input or a model, or links do not say
                which of several values they carry.
        """
        if self._blueprint is None:
            made = {
                name: with_model(name, module, self.llm) for name, module in self.modules.items()
            }
            self._blueprint = Blueprint(Wiring(made, list(self.links)))
        return self._blueprint

    def compile(
        self,
        checkpointer: Checkpointer = None,
        *,
        store: BaseStore | None = None,
        cache: Any = None,
        interrupt_before: Sequence[str] | str | None = None,
        interrupt_after: Sequence[str] | str | None = None,
        name: str | None = None,
        schedule: Literal["superstep", "eager"] | None = None,
    ) -> CompiledStateGraph:
        """The graph that the pipeline runs as, with the arguments of `StateGraph.compile`.

        The schedule is eager where a module would else wait for one that it does not need.

        Its state has a key for each value: `retriever.nodes` for an output, `retriever.in.input`
        for a value that the caller gives. `graph_input` makes its input.

        Raises:
            InvalidGraphError: the pipeline is not whole (see `build`).
        """
        blueprint = self.build()
        schedule = schedule or ("eager" if blueprint.wiring.is_uneven() else "superstep")
        return blueprint.graph(self.verbose).compile(
            checkpointer,
            store=store,
            cache=cache,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            name=name or self.name,
            schedule=schedule,
        )

    @property
    def graph(self) -> CompiledStateGraph:
        """The graph that it runs as, compiled with its checkpointer and store."""
        if self._graph is None:
            self._graph = self.compile(self.checkpointer, store=self.store)
        return self._graph

    # --- what goes in and out --------------------------------------------------------------------

    @property
    def input_keys(self) -> InputKeys:
        """What it takes: the inputs of its first module, or the names of several."""
        entries = self._wanted()
        if len(entries) == 1:
            return next(iter(entries.values())).keys
        required = [name for name, entry in entries.items() if entry.keys.required]
        return InputKeys.of(required, [name for name in entries if name not in required])

    @property
    def output_keys(self) -> tuple[str, ...]:
        """What it gives: the outputs of its last module, or the names of several."""
        leaves = self.build().leaves
        return next(iter(leaves.values())) if len(leaves) == 1 else tuple(leaves)

    def _wanted(self) -> dict[str, Entry]:
        """The modules that take values of the caller."""
        entries = self.build().entries
        return {name: entry for name, entry in entries.items() if any(entry.keys)}

    def graph_input(self, input: Any) -> Any:
        """An input of the pipeline as the input of its graph. Commands and None stay as they are.

        Raises:
            InvalidInputError: a value is missing, or nothing takes it.
        """
        if isinstance(input, Command) or (input is None and self.checkpointer is not None):
            return cast("Any", input)
        return self.build().input_of(by_module(self.name, self._wanted(), input))

    def _output(self, state: Mapping[str, Any]) -> Any:
        """The output: of one last module its value, or a dict of several; else by module."""
        if INTERRUPTED in state:
            return {INTERRUPTED: state[INTERRUPTED]}
        blueprint = self.build()
        found = {name: blueprint.outputs_of(name, state) for name in blueprint.leaves}
        if len(found) > 1:
            return found
        only = next(iter(found.values()))
        return next(iter(only.values())) if len(only) == 1 else only

    def _config(self, config: ConfigLike | None) -> RunnableConfig | None:
        if self.max_concurrency is None or (config and config.get("max_concurrency")):
            return cast("RunnableConfig | None", config)
        return merge_configs(config, {"max_concurrency": self.max_concurrency})

    # --- running ---------------------------------------------------------------------------------

    def invoke(self, input: Any, config: ConfigLike | None = None, **kwargs: Any) -> Any:
        """Run the pipeline.

        Args:
            input: of a pipeline with one first module a dict of its inputs, or the value of its
                only required one; of one with several, a dict of these by module. With a
                checkpointer, None goes on with a stored run and a Command answers it.
            config: the config.
            kwargs: passed on to the graph's `invoke` (`context=`, `durability=`, ...).

        Returns:
            The value of the last module; a dict if it has several outputs, or if there are several
            last modules (by module, then by output). Questions stand under "__interrupt__".

        Raises:
            InvalidInputError: a value is missing, or nothing takes it.
            InvalidGraphError: the pipeline is not whole (see `build`).
        """
        given = self.graph_input(input)
        return self._output(self.graph.invoke(given, self._config(config), **kwargs))

    async def ainvoke(self, input: Any, config: ConfigLike | None = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`."""
        given = self.graph_input(input)
        return self._output(await self.graph.ainvoke(given, self._config(config), **kwargs))

    def stream(self, input: Any, config: ConfigLike | None = None, **kwargs: Any) -> Iterator[Any]:
        """Yield the output; with `stream_mode=`, the parts of the graph's stream instead."""
        if "stream_mode" not in kwargs:
            yield self.invoke(input, config, **kwargs)
        else:
            yield from self.graph.stream(self.graph_input(input), self._config(config), **kwargs)

    async def astream(
        self, input: Any, config: ConfigLike | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """The async twin of `stream`."""
        if "stream_mode" not in kwargs:
            yield await self.ainvoke(input, config, **kwargs)
            return
        parts = self.graph.astream(self.graph_input(input), self._config(config), **kwargs)
        async for part in parts:
            yield part

    def run(self, *args: Any, config: ConfigLike | None = None, **inputs: Any) -> Any:
        """`invoke` with the inputs as keywords, or with the only one.

        >>> QueryPipeline(chain=[lambda topic: f"All about {topic}"]).run(topic="braids")
        'All about braids'
        """
        return self.invoke(self._called(args, inputs), config)

    async def arun(self, *args: Any, config: ConfigLike | None = None, **inputs: Any) -> Any:
        """The async twin of `run`."""
        return await self.ainvoke(self._called(args, inputs), config)

    def run_with_intermediates(
        self, *args: Any, config: ConfigLike | None = None, **inputs: Any
    ) -> tuple[Any, dict[str, ComponentIntermediates]]:
        """`run`, and what went into each module and came out.

        >>> pipeline = QueryPipeline(chain=[str.strip, str.upper])
        >>> pipeline.run_with_intermediates(" hi ")[1]["upper"]
        ComponentIntermediates(inputs={'input': 'hi'}, outputs={'output': 'HI'})
        """
        given = self.graph_input(self._called(args, inputs))
        state = self.graph.invoke(given, self._config(config))
        return self._output(state), self._intermediates(state)

    async def arun_with_intermediates(
        self, *args: Any, config: ConfigLike | None = None, **inputs: Any
    ) -> tuple[Any, dict[str, ComponentIntermediates]]:
        """The async twin of `run_with_intermediates`."""
        given = self.graph_input(self._called(args, inputs))
        state = await self.graph.ainvoke(given, self._config(config))
        return self._output(state), self._intermediates(state)

    def _called(self, args: tuple[Any, ...], inputs: dict[str, Any]) -> Any:
        if not args:
            return inputs
        if len(args) > 1 or inputs:
            raise InvalidInputError(
                f"{self.name}: pass one value, or the inputs as keywords, not {len(args)} values "
                f"and the keywords {list(inputs)}."
            )
        return next(iter(args))

    def _intermediates(self, state: Mapping[str, Any]) -> dict[str, ComponentIntermediates]:
        build = self.build()
        return {
            name: ComponentIntermediates(
                build.values_of(name, state), build.outputs_of(name, state)
            )
            for name in build.modules
        }

    # --- what it says about itself ---------------------------------------------------------------

    def get_graph(self, config: ConfigLike | None = None, *, xray: bool | int = False) -> Graph:
        """The modules and links, to be drawn; edges say which output becomes which input."""
        drawn = self.graph.get_graph(config, xray=xray)
        labels: dict[tuple[str, str], list[str]] = {}
        for link in self.links:
            source, target = self.build().wiring.source_key(link), str(link.dest_key)
            said = target if source in (OUTPUT, target) else f"{source} as {target}"
            labels.setdefault((link.src, link.dest), []).append(said)
        drawn.edges = [
            edge._replace(data=", ".join(labels[edge[:2]])) if edge[:2] in labels else edge
            for edge in drawn.edges
        ]
        return drawn

    def get_input_schema(self, config: ConfigLike | None = None) -> type[BaseModel]:
        """A pydantic model of the inputs."""
        from pydantic import create_model  # schemas alone need pydantic

        required, optional = self.input_keys
        fields: dict[str, Any] = dict.fromkeys(required, (Any, ...))
        fields.update(dict.fromkeys(optional, (Any, None)))
        return create_model(f"{self.name}Input", **fields)


__all__ = ["ComponentIntermediates", "QueryPipeline"]
