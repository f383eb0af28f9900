"""`QueryPipeline`: modules, links between them, and a graph on the engine that runs them."""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from itertools import pairwise
from operator import is_
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from plait.errors import InvalidGraphError, InvalidValueError
from plait.pipeline.building import Blueprint
from plait.pipeline.calls import Calls
from plait.pipeline.components import OUTPUT, InputComponent, InputKeys, OutputKeys
from plait.pipeline.inputs import apart, by_module, of_modules, together
from plait.pipeline.models import with_model
from plait.pipeline.modules import as_component
from plait.pipeline.wiring import Entry, Link, Wiring
from plait.runnables.base import Runnable
from plait.runnables.config import DEFAULT_RECURSION_LIMIT, ConfigLike, RunnableConfig
from plait.types import Checkpointer, Command, StateSnapshot

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
        self._filled: list[Mapping[str, Any]] = []
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
    def module_dict(self) -> Mapping[str, QueryComponent]:
        """Another name of `modules`."""
        return self.modules

    def get_root_keys(self) -> list[str]:
        """The names of the modules that no link leads to."""
        return [name for name in self.modules if not self._wiring.before(name)]

    def get_leaf_keys(self) -> list[str]:
        """The names of the modules that no link leaves."""
        return self._wiring.leaves()

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
            InvalidGraphError: a name is taken or cannot be a name, or these are no names.
            InvalidNodeError: a module is none of these.
        """
        if not isinstance(cast("Any", modules), Mapping):
            raise InvalidGraphError(
                f"Modules have names, {{name: module}}, and these have none: {modules!r:.100}. "
                "Those that follow each other are a chain: add_chain([...])."
            )
        for name, module in modules.items():
            self.add(name, module)

    def add(self, module_key: str, module: Any) -> None:
        """Add one module (see `add_modules`)."""
        self._wiring.add_module(module_key, as_component(module_key, module))
        self._changed()

    def add_link(
        self,
        src: str,
        dest: str,
        src_key: str | None = None,
        dest_key: str | None = None,
        condition_fn: Callable[[Any], Any] | None = None,
        input_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        """Let an output of one module be an input of another.

        Two modules may have several links between them. An input takes one link, or several of
        which conditions let one carry a value. A link from an `InputComponent` without `src_key`
        gives way to one with it.

        Args:
            src: the module whose output it is.
            dest: the module whose input it becomes.
            src_key: which output; needless where there is one.
            dest_key: which input; needless where one is required.
            condition_fn: tells of the value whether it goes this way. A module rests whose required
                input, or all of whose inputs, do not come; what only it leads to rests, too.
            input_fn: makes of the value what the input gets.

        Raises:
            UnknownNodeError: there is no such module.
            InvalidGraphError: a key is unknown or cannot be found, the input has a link already,
                or the link closes a circle.
        """
        self._wiring.add_link(Link(src, dest, src_key, dest_key, condition_fn, input_fn))
        self._changed()

    def add_links(self, links: Iterable[Link]) -> None:
        """Add several links (see `add_link`)."""
        for link in links:
            self._wiring.add_link(link)
        self._changed()

    def add_chain(self, chain: Sequence[Any]) -> None:
        """Add modules that follow one another; names of modules that are there stand for them.

        Raises:
            UnknownNodeError: there is no module of such a name.
            InvalidGraphError: it is no list; a module has not exactly one required input, or not
                one output.
        """
        if isinstance(chain, str) or not isinstance(cast("Any", chain), Sequence):
            raise InvalidGraphError(f"A chain is a list of modules, not {chain!r:.100}.")
        names: list[str] = []
        for place in chain:
            if isinstance(place, str):
                self._wiring.refuse_unknown(place, "A chain")
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
        filled = [module.partial_dict for module in self.modules.values()]
        if not all(map(is_, filled, self._filled)):
            self._changed()  # by partial(), which gives a component another dict
        if self._blueprint is None:
            self._filled = filled
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
        self.build()
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
    def output_keys(self) -> OutputKeys:
        """What it gives: the outputs of its last module, or the names of several."""
        leaves = self.build().leaves
        return OutputKeys(next(iter(leaves.values())) if len(leaves) == 1 else leaves)

    def _wanted(self) -> dict[str, Entry]:
        """The modules that take values of the caller."""
        entries = self.build().entries
        return {name: entry for name, entry in entries.items() if any(entry.keys)}

    def graph_input(self, input: Any) -> Any:
        """An input of the pipeline as the input of its graph. Commands and None stay as they are.

        Raises:
            InvalidValueError: a value is missing, or nothing takes it.
        """
        if isinstance(input, Command) or (input is None and self.checkpointer is not None):
            return cast("Any", input)
        return self.build().input_of(by_module(self.name, self._wanted(), input))

    def output_of(self, state: Mapping[str, Any], is_direct: bool = True) -> Any:
        """The output, out of a state of its graph: of one last module its value, or a dict of
        several (or if not `is_direct`); of several last modules by module."""
        found = self._outputs(state)
        if INTERRUPTED in state or len(found) > 1:
            return found
        only = next(iter(found.values()))
        return next(iter(only.values())) if is_direct and len(only) == 1 else only

    def _outputs(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs of each last module; or the questions."""
        if INTERRUPTED in state:
            return {INTERRUPTED: state[INTERRUPTED]}
        blueprint = self.build()
        return {name: blueprint.outputs_of(name, state) for name in blueprint.last(state)}

    def _config(self, config: ConfigLike | None) -> RunnableConfig | None:
        """The config of a call, with the pipeline's own bound of what runs at once.

        A limit of super-steps that nobody named, as those of a batch have it, is left out: a
        pipeline has no circles, so it ends.
        """
        given: dict[str, Any] = dict(config or {})
        if given.get("recursion_limit") == DEFAULT_RECURSION_LIMIT:
            del given["recursion_limit"]
        if self.max_concurrency is not None and not given.get("max_concurrency"):
            given["max_concurrency"] = self.max_concurrency
        return RunnableConfig(**given) if given else None

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
            InvalidValueError: a value is missing, or nothing takes it.
            InvalidGraphError: the pipeline is not whole (see `build`).
        """
        given = self.graph_input(input)
        return self.output_of(self.graph.invoke(given, self._config(config), **kwargs))

    async def ainvoke(self, input: Any, config: ConfigLike | None = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`."""
        given = self.graph_input(input)
        return self.output_of(await self.graph.ainvoke(given, self._config(config), **kwargs))

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

    def run(
        self,
        *args: Any,
        config: ConfigLike | None = None,
        return_values_direct: bool = True,
        batch: bool = False,
        **inputs: Any,
    ) -> Any:
        """`invoke` with the inputs as keywords, or with the only one.

        Args:
            *args: the value of the only input, whatever it is; or a Command, as of `invoke`.
            config: the config.
            return_values_direct: give the only output as it is; else `{output: value}`.
            batch: each input is a list of values; there is one run for each place in it.
            **inputs: the inputs.

        Returns:
            What `invoke` returns; of a batch, a list of that.

        Raises:
            InvalidValueError: a value is missing, or nothing takes it; the lists of a batch are not
                of one length.

        >>> QueryPipeline(chain=[lambda topic: f"All about {topic}"]).run(topic="braids")
        'All about braids'
        """
        given = self._given(args, inputs, batch)
        states = self._states(given, config)
        found = [self.output_of(state, return_values_direct) for state in states]
        return found if batch else found[0]

    async def arun(
        self,
        *args: Any,
        config: ConfigLike | None = None,
        return_values_direct: bool = True,
        batch: bool = False,
        **inputs: Any,
    ) -> Any:
        """The async twin of `run`."""
        given = self._given(args, inputs, batch)
        states = await self._astates(given, config)
        found = [self.output_of(state, return_values_direct) for state in states]
        return found if batch else found[0]

    def run_with_intermediates(
        self,
        *args: Any,
        config: ConfigLike | None = None,
        return_values_direct: bool = True,
        **inputs: Any,
    ) -> tuple[Any, dict[str, ComponentIntermediates]]:
        """`run`, and what went into each module that ran, and came out.

        >>> pipeline = QueryPipeline(chain=[str.strip, str.upper])
        >>> pipeline.run_with_intermediates(" hi ")[1]["upper"]
        ComponentIntermediates(inputs={'input': 'hi'}, outputs={'output': 'HI'})
        """
        (given,) = self._given(args, inputs, batch=False)
        state = self.state_of(given, config)
        seen = self._intermediates(state, self._unfinished(state, config))
        return self.output_of(state, return_values_direct), seen

    async def arun_with_intermediates(
        self,
        *args: Any,
        config: ConfigLike | None = None,
        return_values_direct: bool = True,
        **inputs: Any,
    ) -> tuple[Any, dict[str, ComponentIntermediates]]:
        """The async twin of `run_with_intermediates`."""
        (given,) = self._given(args, inputs, batch=False)
        state = await self.astate_of(given, config)
        seen = self._intermediates(state, await self._aunfinished(state, config))
        return self.output_of(state, return_values_direct), seen

    def run_multi(
        self,
        module_input_dict: Mapping[str, Any] | Command[Any],
        config: ConfigLike | None = None,
        batch: bool = False,
    ) -> dict[str, Any]:
        """Run a pipeline of any number of first and last modules.

        Args:
            module_input_dict: module to its inputs; or a Command, as of `invoke`.
            config: the config.
            batch: each input is a list of values; there is one run for each place in it.

        Returns:
            Last module to output to value; of a batch, to the list of values.

        Raises:
            InvalidValueError: a value is missing, or nothing takes it; the lists of a batch are not
                of one length.

        >>> pipeline = QueryPipeline(modules={"loud": str.upper, "quiet": str.lower})
        >>> pipeline.run_multi({"loud": {"input": "a"}, "quiet": {"input": "B"}})
        {'loud': {'output': 'A'}, 'quiet': {'output': 'b'}}
        """
        given = self._given_multi(module_input_dict, batch)
        states = self._states(given, config)
        found = [self._outputs(state) for state in states]
        return together(found) if batch else found[0]

    async def arun_multi(
        self,
        module_input_dict: Mapping[str, Any] | Command[Any],
        config: ConfigLike | None = None,
        batch: bool = False,
    ) -> dict[str, Any]:
        """The async twin of `run_multi`."""
        given = self._given_multi(module_input_dict, batch)
        states = await self._astates(given, config)
        found = [self._outputs(state) for state in states]
        return together(found) if batch else found[0]

    def run_multi_with_intermediates(
        self, module_input_dict: Mapping[str, Any] | Command[Any], config: ConfigLike | None = None
    ) -> tuple[dict[str, Any], dict[str, ComponentIntermediates]]:
        """`run_multi`, and what went into each module that ran, and came out."""
        (given,) = self._given_multi(module_input_dict, batch=False)
        state = self.state_of(given, config)
        seen = self._intermediates(state, self._unfinished(state, config))
        return self._outputs(state), seen

    async def arun_multi_with_intermediates(
        self, module_input_dict: Mapping[str, Any] | Command[Any], config: ConfigLike | None = None
    ) -> tuple[dict[str, Any], dict[str, ComponentIntermediates]]:
        """The async twin of `run_multi_with_intermediates`."""
        (given,) = self._given_multi(module_input_dict, batch=False)
        state = await self.astate_of(given, config)
        seen = self._intermediates(state, await self._aunfinished(state, config))
        return self._outputs(state), seen

    def state_of(self, given: Any, config: ConfigLike | None = None) -> dict[str, Any]:
        """The state of its graph after a run, from an input of the graph (see `graph_input`)."""
        return self.graph.invoke(given, self._config(config))

    async def astate_of(self, given: Any, config: ConfigLike | None = None) -> dict[str, Any]:
        """The async twin of `state_of`."""
        return await self.graph.ainvoke(given, self._config(config))

    def _states(self, given: list[Any], config: ConfigLike | None) -> list[dict[str, Any]]:
        if len(given) == 1:
            return [self.state_of(given[0], config)]
        return Calls(self.state_of, self.astate_of).batch(
            given, cast("RunnableConfig | None", config)
        )

    async def _astates(self, given: list[Any], config: ConfigLike | None) -> list[dict[str, Any]]:
        if len(given) == 1:
            return [await self.astate_of(given[0], config)]
        return await Calls(self.state_of, self.astate_of).abatch(
            given, cast("RunnableConfig | None", config)
        )

    def _given(self, args: tuple[Any, ...], inputs: dict[str, Any], batch: bool) -> list[Any]:
        """The inputs of the graph for a call of `run`: one for each run."""
        called = self._called(args, inputs)
        if not batch:
            return [self.graph_input(called)]
        wanted = self._wanted()
        rows = apart(by_module(self.name, wanted, called))
        return [self.build().input_of(row) for row in rows]

    def _given_multi(self, modules: Mapping[str, Any] | Command[Any], batch: bool) -> list[Any]:
        """The inputs of the graph for a call of `run_multi`: one for each run."""
        if isinstance(modules, Command):
            return [modules]
        given = of_modules(self.name, self._wanted(), modules)
        return [self.build().input_of(row) for row in (apart(given) if batch else [given])]

    def _called(self, args: tuple[Any, ...], inputs: dict[str, Any]) -> Any:
        """What `run` was called with, as an input of `invoke`."""
        if not args:
            return inputs
        if len(args) > 1 or inputs:
            raise InvalidValueError(
                f"{self.name}: pass one value, or the inputs as keywords, not {len(args)} values "
                f"and the keywords {list(inputs)}."
            )
        value = cast("Any", next(iter(args)))
        if isinstance(value, Command):
            return cast("Any", value)
        wanted = list(self._wanted().items())
        if len(wanted) != 1 or isinstance(self.modules[wanted[0][0]], InputComponent):
            return value
        required = wanted[0][1].keys.required
        return {required[0]: value} if len(required) == 1 else value

    def _unfinished(self, state: Mapping[str, Any], config: ConfigLike | None) -> set[str]:
        """The modules that a run has left for later, since it asks a person."""
        if self._tells_all(state):
            return self._silent(state)
        return self._held_up(self.graph.get_state(self._config(config) or {}))

    async def _aunfinished(self, state: Mapping[str, Any], config: ConfigLike | None) -> set[str]:
        """The async twin of `_unfinished`."""
        if self._tells_all(state):
            return self._silent(state)
        return self._held_up(await self.graph.aget_state(self._config(config) or {}))

    def _tells_all(self, state: Mapping[str, Any]) -> bool:
        """Whether a state says what has run: it is whole, or has no earlier turns."""
        return INTERRUPTED not in state or self.checkpointer is None

    def _silent(self, state: Mapping[str, Any]) -> set[str]:
        """The modules that have not given what they declare."""
        build = self.build()
        return {
            name
            for name, module in build.modules.items()
            if module.output_keys and not build.outputs_of(name, state)
        }

    def _held_up(self, snapshot: StateSnapshot) -> set[str]:
        """The modules that wait, and those that wait for them."""
        waiting = {task.name for task in snapshot.tasks}
        needs = self.build().wiring.needs()
        return waiting | {name for name, needed in needs.items() if needed & waiting}

    def _intermediates(
        self, state: Mapping[str, Any], unfinished: Collection[str]
    ) -> dict[str, ComponentIntermediates]:
        """What went into the modules and came out, but of those that have not run."""
        build = self.build()
        return {
            name: ComponentIntermediates(
                build.values_of(name, state), build.outputs_of(name, state)
            )
            for name in build.modules
            if name not in unfinished and build.has_run(name, state)
        }

    # --- what it says about itself ---------------------------------------------------------------

    def get_graph(self, config: ConfigLike | None = None, *, xray: bool | int = False) -> Graph:
        """The modules and links, to be drawn; edges say which output becomes which input.

        Args:
            config: the config.
            xray: True shows what is inside modules that are graphs or pipelines, a number so many
                levels of it.
        """
        drawn = self.graph.get_graph(config, xray=xray)
        labels: dict[tuple[str, str], dict[str, None]] = {}
        for link in self.links:
            source, target = self.build().wiring.source_key(link), str(link.dest_key)
            said = target if source in (OUTPUT, target) else f"{source} as {target}"
            labels.setdefault((link.src, link.dest), {})[said] = None
        certain = {(link.src, link.dest) for link in self.links if link.condition_fn is None}
        for at, edge in enumerate(drawn.edges):
            ends = _module_of(edge.source), _module_of(edge.target)
            if ends in labels:
                said = ", ".join(labels[ends])
                drawn.edges[at] = edge._replace(data=said, conditional=ends not in certain)
        return drawn

    def get_input_schema(self, config: ConfigLike | None = None) -> type[BaseModel]:
        """A pydantic model of the inputs."""
        from pydantic import create_model  # schemas alone need pydantic

        required, optional = self.input_keys
        fields: dict[str, Any] = dict.fromkeys(required, (Any, ...))
        fields.update(dict.fromkeys(optional, (Any, None)))
        return create_model(f"{self.name}Input", **fields)


def _module_of(node: str) -> str:
    """The module of a node in a picture: itself, or that which it is inside of."""
    return node.partition(":")[0]


__all__ = ["ComponentIntermediates", "QueryPipeline"]
