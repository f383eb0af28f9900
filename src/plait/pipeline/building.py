"""From the wiring of a pipeline to a graph on the engine: one node per module, one key per value.

An output `nodes` of the module `retriever` is the key `retriever.nodes` of the state; a value that
the caller gives for its input `input` is `retriever.in.input`. Names of modules have no dots, so no
two keys meet. `retriever.in.*` names what the caller gave of its optional inputs: on a thread, what
an earlier turn gave is still in the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict, cast

from plait.constants import END, START
from plait.errors import InvalidUpdateError, nearest
from plait.graph.state import StateGraph
from plait.pipeline.components import InputComponent, QueryComponent
from plait.pipeline.wiring import Entry, Link, Wiring
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig

State = dict[str, Any]
_SHOWN = 200
"""How much of a value is printed."""


class Inputs(NamedTuple):
    """Where a module finds its inputs in the state."""

    feeds: Mapping[str, str]
    """Input to the key that holds its value."""
    optional: tuple[str, ...]
    """Inputs that the caller may leave out."""
    given: str
    """The key that names those of them that the caller has given."""

    def read(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The values, by input."""
        given = state.get(self.given, self.optional)
        left_out = [key for key in self.optional if key not in given]
        found = _picked(self.feeds, state)
        return {key: value for key, value in found.items() if key not in left_out}

    def places(self) -> list[str]:
        """The keys of the state that it reads."""
        return [*self.feeds.values(), *([self.given] if self.optional else [])]


class Blueprint:
    """What of a wiring matters when it runs: where each module finds its inputs.

    Raises:
        InvalidGraphError: the wiring is not complete (see `Wiring.entries`).
    """

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.modules = dict(wiring.modules)
        self.entries: dict[str, Entry] = wiring.entries()
        self.inputs = {name: self._inputs(name) for name in self.modules}
        self.leaves = {name: self.modules[name].output_keys for name in wiring.leaves()}
        """For each last module, its outputs."""

    def _feeds(self, name: str) -> dict[str, str]:
        feeds = {key: self.entry_key(name, key) for key in self._entry_inputs(name)}
        for link in self.wiring.links:
            if link.dest == name:
                feeds[str(link.dest_key)] = self._key(link)
        return feeds

    def _inputs(self, name: str) -> Inputs:
        entry = self.entries.get(name)
        optional = () if entry is None else entry.keys.optional
        return Inputs(self._feeds(name), optional, f"{name}.in.*")

    def _entry_inputs(self, name: str) -> tuple[str, ...]:
        entry = self.entries.get(name)
        return () if entry is None else (*entry.keys.required, *entry.keys.optional)

    def entry_key(self, name: str, key: str) -> str:
        """The key of the state for a value that the caller gives a module."""
        if isinstance(self.modules[name], InputComponent):
            return f"{name}.{key}"  # what comes in is what goes out
        return f"{name}.in.{key}"

    def _key(self, link: Link) -> str:
        return f"{link.src}.{self.wiring.source_key(link)}"

    def input_of(self, given: Mapping[str, Mapping[str, Any]]) -> State:
        """What the caller gives, by module and input, as the input of the graph."""
        made: State = {}
        for name, values in given.items():
            made |= {self.entry_key(name, key): value for key, value in values.items()}
            inputs = self.inputs[name]
            if inputs.optional:
                made[inputs.given] = [key for key in inputs.optional if key in values]
        return made

    def values_of(self, name: str, state: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs of a module, out of the state."""
        return self.inputs[name].read(state)

    def outputs_of(self, name: str, state: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs of a module, out of the state."""
        if isinstance(self.modules[name], InputComponent):
            return self.values_of(name, state)
        return _picked(_places(name, self.modules[name]), state)

    # --- the graph -------------------------------------------------------------------------------

    def graph(self, verbose: bool) -> StateGraph[Any]:
        """The graph, not compiled yet."""
        given = {where: Any for name in self.entries for where in self.inputs[name].places()}
        made = {
            where: module.output_types.get(key, Any)
            for name, module in self.modules.items()
            for key, where in _places(name, module).items()
        }
        types: dict[str, Any] = {**given, **made}
        builder = StateGraph(_schema("State", types), input_schema=_schema("Input", given))
        for name, module in self.modules.items():
            inputs = self.inputs[name]
            reads = {where: types[where] for where in inputs.places()}
            node = ModuleNode(name, module, inputs, verbose)
            builder.add_node(
                name,
                node,
                input_schema=_schema(f"Inputs of {name}", reads),
                writes=list(_places(name, module).values()),
            )
        for name in self.modules:
            self._add_edges(builder, name)
        return builder

    def _add_edges(self, builder: StateGraph[Any], name: str) -> None:
        before = self.wiring.before(name)
        if len(before) > 1:
            builder.add_edge(before, name)
        else:
            builder.add_edge(before[0] if before else START, name)
        if name in self.leaves:
            builder.add_edge(name, END)


def _places(name: str, module: QueryComponent) -> dict[str, str]:
    """Output of a module to the key of the state."""
    return {key: f"{name}.{key}" for key in module.output_keys}


def _picked(places: Mapping[str, str], state: Mapping[str, Any]) -> dict[str, Any]:
    return {key: state[where] for key, where in places.items() if where in state}


def _schema(name: str, types: dict[str, Any]) -> Any:
    return cast("Any", TypedDict)(name, types, total=False)


class ModuleNode(Runnable[State, State]):
    """A module as a node: reads its inputs from the state, runs, gives its outputs their keys."""

    def __init__(self, name: str, component: QueryComponent, inputs: Inputs, verbose: bool) -> None:
        self.name: str = name  # pyright: ignore[reportIncompatibleVariableOverride]
        self.component = component
        self.inputs = inputs
        self.verbose = verbose

    def invoke(self, input: State, config: RunnableConfig | None = None, **kwargs: Any) -> State:
        values = self._values(input)
        return self._update(self.component.run_component(**values))

    async def ainvoke(
        self, input: State, config: RunnableConfig | None = None, **kwargs: Any
    ) -> State:
        values = self._values(input)
        return self._update(await self.component.arun_component(**values))

    def _values(self, state: State) -> dict[str, Any]:
        values = self.inputs.read(state)
        if self.verbose:
            lines = [f"{key}: {_shortened(value)}" for key, value in values.items()]
            print(f"> Running module {self.name} with input:", *lines, "", sep="\n", flush=True)
        return values

    def _update(self, outputs: Any) -> State:
        """The outputs under their keys of the state.

        Raises:
            InvalidUpdateError: they are not those that the module declares.
        """
        if isinstance(self.component, InputComponent):
            return {}
        declared = self.component.output_keys
        if not isinstance(outputs, dict):
            raise InvalidUpdateError(
                f"Module {self.name!r} must return a dict of its outputs {list(declared)}, got "
                f"{outputs!r:.200}."
            )
        given = cast("dict[str, Any]", outputs)
        for key in given:
            if key not in declared:
                raise InvalidUpdateError(
                    f"Module {self.name!r} returned an output {key!r} that it does not declare. "
                    f"{nearest(key, declared)}"
                )
        for key in declared:
            if key not in given:
                raise InvalidUpdateError(
                    f"Module {self.name!r} did not return its output {key!r}, only {list(given)}."
                )
        return {where: given[key] for key, where in _places(self.name, self.component).items()}


def _shortened(value: Any) -> str:
    shown = str(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


__all__ = ["Blueprint"]
