"""From the wiring of a pipeline to a graph on the engine: one node per module, one key per value.

An output `nodes` of the module `retriever` is the key `retriever.nodes` of the state; a value that
the caller gives for its input `input` is `retriever.in.input`. Names of modules have no dots, so no
two keys meet. `retriever.in.*` names what the caller gave of its optional inputs: on a thread, what
an earlier turn gave is still in the state.

Where conditions decide, every node runs, and a module whose inputs do not come rests: its node says
so under `retriever.*`. What a link with a condition or an `input_fn` carries is made once, by the
node that it leaves: `retriever.nodes>reranker.nodes` is a list of the one value, or of none. So an
earlier turn's values never count, and a run that goes on after a crash asks no condition again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict, cast

from plait.constants import END, START
from plait.errors import InvalidUpdateError
from plait.graph.state import StateGraph
from plait.pipeline.components import InputComponent, QueryComponent, refuse_other_outputs
from plait.pipeline.wiring import Entry, Link, Wiring
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig

State = dict[str, Any]
_SHOWN = 200
"""How much of a value is printed."""


class Way(NamedTuple):
    """How a value comes to an input."""

    place: str
    """The key of the state that holds it."""
    is_wrapped: bool = False
    """Whether the key holds a list, of the value or of none."""
    ran: str | None = None
    """The key that says whether the module ran that makes it (None: it always does)."""

    def carried(self, state: Mapping[str, Any]) -> list[Any]:
        """The value, if it has come, as a list."""
        if self.is_wrapped:
            return state.get(self.place, [])
        has_come = self.place in state and (self.ran is None or state.get(self.ran))
        return [state[self.place]] if has_come else []


class Inputs(NamedTuple):
    """Where a module finds its inputs in the state."""

    name: str
    """The module."""
    feeds: Mapping[str, Sequence[Way]]
    """Input to the ways of its value; of several, conditions let one carry it."""
    needed: Collection[str]
    """Inputs that links bring and without which the module rests."""
    optional: tuple[str, ...]
    """Inputs that the caller may leave out."""
    given: str
    """The key that names those of them that the caller has given."""
    is_linked: bool
    """Whether links lead here."""

    def read(self, state: Mapping[str, Any]) -> dict[str, Any] | None:
        """The values, by input; None: the module rests.

        Raises:
            InvalidUpdateError: several values came for one input.
        """
        given = state.get(self.given, self.optional)
        found: dict[str, Any] = {}
        for key, ways in self.feeds.items():
            values = [value for way in ways for value in way.carried(state)]
            if len(values) > 1:
                raise InvalidUpdateError(
                    f"{len(values)} values came for the input {key!r} of module {self.name!r}. The "
                    "conditions of the links to it must exclude one another."
                )
            if values and (key not in self.optional or key in given):
                found[key] = values[0]
        rests = self.is_linked and (not found or any(key not in found for key in self.needed))
        return None if rests else found

    def places(self) -> list[str]:
        """The keys of the state that it reads."""
        ways = [way for several in self.feeds.values() for way in several]
        found = [key for way in ways for key in (way.place, way.ran) if key is not None]
        return [*dict.fromkeys(found), *([self.given] if self.optional else [])]


class Blueprint:
    """What of a wiring matters when it runs: where each module finds its inputs.

    Raises:
        InvalidGraphError: the wiring is not complete (see `Wiring.entries`).
    """

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.modules = dict(wiring.modules)
        self.entries: dict[str, Entry] = wiring.entries()
        self.resting = wiring.resting()
        self.inputs = {name: self._inputs(name) for name in self.modules}
        self.leaves = {name: self.modules[name].output_keys for name in wiring.leaves()}
        """For each module that no link leaves, its outputs."""

    def _feeds(self, name: str) -> dict[str, list[Way]]:
        feeds = {key: [Way(self.entry_key(name, key))] for key in self._entry_inputs(name)}
        for link in self.wiring.links:
            if link.dest == name:
                feeds.setdefault(str(link.dest_key), []).append(self._way(link))
        return feeds

    def _way(self, link: Link) -> Way:
        if not link.carries_on:
            return Way(self.place_of(link), is_wrapped=True)
        return Way(self._key(link), ran=self.ran_key(link.src))

    def _inputs(self, name: str) -> Inputs:
        entry = self.entries.get(name)
        optional = () if entry is None else entry.keys.optional
        feeds = self._feeds(name)
        is_linked = bool(self.wiring.before(name))
        required = self.modules[name].free_input_keys.required if is_linked else ()
        return Inputs(name, feeds, required, optional, f"{name}.in.*", is_linked)

    def ran_key(self, name: str) -> str | None:
        """The key that says whether a module ran; None where it always does."""
        return f"{name}.*" if name in self.resting else None

    def place_of(self, link: Link) -> str:
        """The key for what a link with a condition or an `input_fn` carries; links that differ in
        these alone are numbered."""
        twins = [one for one in self.wiring.links if one.ends == link.ends]
        number = next(at for at, one in enumerate(twins, 1) if one is link)
        place = f"{self._key(link)}>{link.dest}.{link.dest_key}"
        return place if number == 1 else f"{place}.{number}"

    def sent(self, name: str) -> list[Link]:
        """The links that leave a module and do not just carry its value on."""
        return [one for one in self.wiring.links if one.src == name and not one.carries_on]

    def has_run(self, name: str, state: Mapping[str, Any]) -> bool:
        """Whether a module ran."""
        key = self.ran_key(name)
        return key is None or bool(state.get(key))

    def last(self, state: Mapping[str, Any]) -> list[str]:
        """The modules that ran and lead to none that ran, wherever their values went."""
        if not self.resting:
            return list(self.leaves)
        passed = {link.src for link in self.wiring.links if self.has_run(link.dest, state)}
        return [name for name in self.modules if name not in passed and self.has_run(name, state)]

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
        for name, called in given.items():
            module = self.modules[name]
            values = called
            if isinstance(module, InputComponent):  # what is left out comes from its partial values
                left_out = {
                    key: module.partial_dict[key] for key in self.entries[name].keys.optional
                }
                values = {**left_out, **called}
            made |= {self.entry_key(name, key): value for key, value in values.items()}
            inputs = self.inputs[name]
            if inputs.optional:
                made[inputs.given] = [key for key in inputs.optional if key in values]
        return made

    def values_of(self, name: str, state: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs of a module, out of the state."""
        return self.inputs[name].read(state) or {}

    def outputs_of(self, name: str, state: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs of a module, out of the state."""
        if isinstance(self.modules[name], InputComponent):
            return self.values_of(name, state)
        return _picked(_places(name, self.modules[name]), state)

    # --- the graph -------------------------------------------------------------------------------

    def graph(self, verbose: bool) -> StateGraph[Any]:
        """The graph, not compiled yet."""
        nodes = {name: ModuleNode(name, self, verbose) for name in self.modules}
        given = {where: Any for name in self.entries for where in self.inputs[name].places()}
        made = {where: Any for node in nodes.values() for where in node.writes}
        known = {
            where: module.output_types[key]
            for name, module in self.modules.items()
            for key, where in _places(name, module).items()
            if key in module.output_types
        }
        types: dict[str, Any] = {**given, **made, **known}
        builder = StateGraph(_schema("State", types), input_schema=_schema("Input", given))
        for name, node in nodes.items():
            reads = {where: types[where] for where in self.inputs[name].places()}
            schema = _schema(f"Inputs of {name}", reads)
            builder.add_node(name, node, input_schema=schema, writes=node.writes)
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

    def __init__(self, name: str, blueprint: Blueprint, verbose: bool) -> None:
        self.name: str = name  # pyright: ignore[reportIncompatibleVariableOverride]
        self.component = blueprint.modules[name]
        self.inputs = blueprint.inputs[name]
        self.verbose = verbose
        self.runnables = blueprint.modules[name].graphs()
        """The graphs that run inside, for those who look at the pipeline's states and pictures."""
        self._ran = blueprint.ran_key(name)
        self._sent = [
            Sent(link, blueprint.wiring.source_key(link), blueprint.place_of(link))
            for link in blueprint.sent(name)
        ]
        self._places = _places(name, self.component)
        marks = [] if self._ran is None else [self._ran]
        self.writes = [*self._places.values(), *(one.place for one in self._sent), *marks]
        """The keys of the state that it writes."""

    def invoke(self, input: State, config: RunnableConfig | None = None, **kwargs: Any) -> State:
        values = self._values(input)
        if values is None:
            return self._rest()
        return self._made(self.component.run_component(**values))

    async def ainvoke(
        self, input: State, config: RunnableConfig | None = None, **kwargs: Any
    ) -> State:
        values = self._values(input)
        if values is None:
            return self._rest()
        return self._made(await self.component.arun_component(**values))

    def _values(self, state: State) -> dict[str, Any] | None:
        values = self.inputs.read(state)
        if self.verbose and values is not None:
            lines = [f"{key}: {_shortened(value)}" for key, value in values.items()]
            print(f"> Running module {self.name} with input:", *lines, "", sep="\n", flush=True)
        return values

    def _rest(self) -> State:
        """What is to be known of a module that does not run."""
        return {**{one.place: [] for one in self._sent}, **self._mark(False)}

    def _mark(self, ran: bool) -> State:
        return {} if self._ran is None else {self._ran: ran}

    def _made(self, outputs: dict[str, Any]) -> State:
        """The outputs under their keys of the state, and what links make of them.

        Raises:
            InvalidOutputsError: they are not those that the module declares.
        """
        refuse_other_outputs(f"Module {self.name!r}", outputs, self._declared(outputs))
        made = {where: outputs[key] for key, where in self._places.items()}
        made |= {one.place: one.carried(outputs) for one in self._sent}
        return {**made, **self._mark(True)}

    def _declared(self, outputs: Any) -> Collection[str]:
        if isinstance(self.component, InputComponent):
            return outputs
        return self.component.output_keys


class Sent(NamedTuple):
    """What a link with a condition or an `input_fn` is to carry."""

    link: Link
    key: str
    """The output that it carries."""
    place: str
    """The key of the state for it."""

    def carried(self, outputs: Mapping[str, Any]) -> list[Any]:
        """The value that the link carries, or none."""
        if self.key not in outputs:
            return []
        value = outputs[self.key]
        condition, change = self.link.condition_fn, self.link.input_fn
        try:
            if condition is not None and not condition(value):
                return []
            return [value if change is None else change(value)]
        except Exception as error:
            error.add_note(f"In a function of {self.link}")
            raise


def _shortened(value: Any) -> str:
    shown = str(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


__all__ = ["Blueprint"]
