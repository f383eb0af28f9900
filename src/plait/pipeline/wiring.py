"""The modules of a pipeline and the links between them: added one by one, each checked at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

from plait.errors import InvalidGraphError, UnknownNodeError, nearest
from plait.pipeline.components import InputComponent, InputKeys, QueryComponent

ONLY_VALUE = "input"
"""What the one value of an `InputComponent` is called when no link names it."""


@dataclass(frozen=True, slots=True)
class Link:
    """A value's way from an output of one module to an input of another.

    Args:
        src: the module whose output it is.
        dest: the module whose input it becomes.
        src_key: which output (None: its only one).
        dest_key: which input (None: its only one).
        condition_fn: tells of the value whether it goes this way (None: it always does).
        input_fn: makes of the value what arrives (None: it arrives as it is).
    """

    src: str
    dest: str
    src_key: str | None = None
    dest_key: str | None = None
    condition_fn: Callable[[Any], Any] | None = None
    input_fn: Callable[[Any], Any] | None = None

    @property
    def ends(self) -> tuple[str, str, str | None, str | None]:
        """The output and the input that it links."""
        return self.src, self.dest, self.src_key, self.dest_key

    @property
    def carries_on(self) -> bool:
        """Whether it always carries the value as it is."""
        return self.condition_fn is None and self.input_fn is None

    def __str__(self) -> str:
        keys = [f"{name}={key!r}" for name, key in self._keys() if key is not None]
        return f"add_link({', '.join([repr(self.src), repr(self.dest), *keys])})"

    def _keys(self) -> Iterator[tuple[str, str | None]]:
        yield "src_key", self.src_key
        yield "dest_key", self.dest_key


class Entry(NamedTuple):
    """What one module wants from the caller."""

    keys: InputKeys
    any_name: bool = False
    """Whether its only value may come under any name."""


@dataclass(slots=True)
class Wiring:
    """Modules and links. What it refuses, it refuses before it changes."""

    modules: dict[str, QueryComponent] = field(default_factory=dict[str, QueryComponent])
    links: list[Link] = field(default_factory=list[Link])

    # --- adding ----------------------------------------------------------------------------------

    def add_module(self, name: str, component: QueryComponent) -> None:
        """Add a module.

        Raises:
            InvalidGraphError: the name is taken or cannot be a name.
        """
        if name in self.modules:
            raise InvalidGraphError(f"Module {name!r} is already in the pipeline.")
        is_text = isinstance(cast("Any", name), str)
        if not is_text or not name or any(c in name for c in ".|:") or name.startswith("__"):
            raise InvalidGraphError(
                f"{name!r} cannot be the name of a module: it must be a text, not be empty, start "
                "with '__' or contain '.', '|' or ':'."
            )
        self.modules[name] = component

    def add_link(self, link: Link) -> None:
        """Add a link; keys that it does not name are found.

        A link from an `InputComponent` that names no `src_key` gives way to one that does.

        Raises:
            UnknownNodeError: a module is not there.
            InvalidGraphError: it is no link, a key is unknown or cannot be found, the input has a
                link already, the link closes a circle, or its functions are none.
        """
        if not isinstance(cast("Any", link), Link):
            raise InvalidGraphError(f"A link is a Link(src, dest, ...), not {link!r:.100}.")
        for name in (link.src, link.dest):
            self.refuse_unknown(name, str(link))
        for function in (link.condition_fn, link.input_fn):
            if function is not None and not callable(function):
                raise InvalidGraphError(
                    f"{link}: condition_fn and input_fn are functions of the value, got "
                    f"{function!r:.100}."
                )
        link = replace(link, src_key=self._src_key(link), dest_key=self._dest_key(link))
        rival = self._into(link.dest, link.dest_key)
        if rival is not None and not self._is_vaguer(rival, link):
            if self._is_vaguer(link, rival):
                return
            self._refuse_second(link, rival)
            rival = None
        self._refuse_circle(link)
        if rival is None:
            self.links.append(link)
        else:
            self.links[self.links.index(rival)] = link

    def refuse_unknown(self, name: str, where: str) -> None:
        """See that there is such a module.

        Raises:
            UnknownNodeError: there is not.
        """
        if name not in self.modules:
            raise UnknownNodeError(
                f"{where}: there is no module {name!r}. {nearest(name, self.modules)} Add "
                "modules before links: add_modules({name: module})."
            )

    def _refuse_second(self, link: Link, rival: Link) -> None:
        """See that of two links into one input conditions decide which counts."""
        resting = self.resting()
        if all(one.condition_fn is not None or one.src in resting for one in (link, rival)):
            return
        raise InvalidGraphError(
            f"{link}: input {link.dest_key!r} of module {link.dest!r} already gets its value by "
            f"{rival}. An input takes one link, unless conditions decide which of several carries "
            "a value: add the links with condition_fn= before the links that join their ways. "
            "Otherwise join several values in a function."
        )

    def _src_key(self, link: Link) -> str | None:
        source = self.modules[link.src]
        if isinstance(source, InputComponent):
            return link.src_key
        known = source.output_keys
        if link.src_key is None:
            if len(known) != 1:
                raise InvalidGraphError(
                    f"{link}: module {link.src!r} has {_count(known, 'output')}; say which one: "
                    "src_key=..."
                )
            return known[0]
        if link.src_key not in known:
            raise InvalidGraphError(
                f"{link}: module {link.src!r} has no output {link.src_key!r}. "
                f"{nearest(link.src_key, known)}"
            )
        return link.src_key

    def _dest_key(self, link: Link) -> str:
        target = self.modules[link.dest]
        if isinstance(target, InputComponent):
            raise InvalidGraphError(
                f"{link}: {link.dest!r} is an InputComponent, where values of the caller come in. "
                "Nothing can lead into it."
            )
        if target.takes_any:
            return link.src if link.dest_key is None else link.dest_key
        required, optional = target.free_input_keys
        if link.dest_key is None:
            only = required or optional
            if len(only) != 1:
                raise InvalidGraphError(
                    f"{link}: module {link.dest!r} has {_count(only, 'input')}; say which one: "
                    "dest_key=..."
                )
            return only[0]
        if link.dest_key in (*required, *optional):
            return link.dest_key
        if link.dest_key in target.partial_dict:
            raise InvalidGraphError(
                f"{link}: input {link.dest_key!r} of module {link.dest!r} has a value by "
                "partial(). Leave out one of the two."
            )
        raise InvalidGraphError(
            f"{link}: module {link.dest!r} has no input {link.dest_key!r}. "
            f"{nearest(link.dest_key, [*required, *optional])}"
        )

    def _into(self, dest: str, dest_key: str | None) -> Link | None:
        for link in self.links:
            if link.dest == dest and link.dest_key == dest_key:
                return link
        return None

    @staticmethod
    def _is_vaguer(link: Link, other: Link) -> bool:
        """Whether a link says the same as another, less exactly."""
        return link.src == other.src and link.src_key is None and other.src_key is not None

    def _refuse_circle(self, link: Link) -> None:
        path = self._path(link.dest, link.src)
        if path is not None:
            circle = " -> ".join(repr(name) for name in [link.src, *path])
            raise InvalidGraphError(
                f"{link} closes a circle: {circle}. A pipeline runs each module once. For a loop "
                "build a plait.graph.StateGraph, whose add_conditional_edges() may lead back; a "
                "pipeline can be one of its nodes."
            )

    def _path(self, start: str, end: str) -> list[str] | None:
        """The modules on a way along the links, if there is one."""
        ways = [[start]]
        seen = {start}
        while ways:
            way = ways.pop()
            if way[-1] == end:
                return way
            for after in self.after(way[-1]):
                if after not in seen:
                    seen.add(after)
                    ways.append([*way, after])
        return None

    # --- conditions ------------------------------------------------------------------------------

    def resting(self) -> set[str]:
        """The modules that conditions may let rest: there may be runs in which they do not run."""
        found: set[str] = set()
        if all(link.condition_fn is None for link in self.links):
            return found
        while more := {name for name in self.modules if self._may_rest(name, found)} - found:
            found |= more
        return found

    def _may_rest(self, name: str, resting: set[str]) -> bool:
        """Whether a required input, or all that links bring, may be missing."""
        into = [link for link in self.links if link.dest == name]
        required = {link.dest_key for link in into} & set(self.modules[name].input_keys.required)
        fails = [link for link in into if link.condition_fn is not None or link.src in resting]
        certain = {link.dest_key for link in into if link not in fails}
        return bool(into) and (not certain or bool(required - certain))

    # --- what follows ----------------------------------------------------------------------------

    def after(self, name: str) -> list[str]:
        """The modules that a module leads to."""
        return list(dict.fromkeys(link.dest for link in self.links if link.src == name))

    def before(self, name: str) -> list[str]:
        """The modules that lead to a module."""
        return list(dict.fromkeys(link.src for link in self.links if link.dest == name))

    def needs(self) -> dict[str, set[str]]:
        """For each module, all that must have run before it."""
        found: dict[str, set[str]] = {}

        def needed(name: str) -> set[str]:
            if name not in found:
                before = self.before(name)
                found[name] = {*before, *(one for other in before for one in needed(other))}
            return found[name]

        return {name: needed(name) for name in self.modules}

    def is_uneven(self) -> bool:
        """Whether super-steps would let a module wait for one whose outputs it does not need."""
        needs = self.needs()
        step: dict[str, int] = {}
        for name in sorted(needs, key=lambda name: len(needs[name])):
            step[name] = 1 + max((step[one] for one in self.before(name)), default=0)
        return any(
            step[other] < step[name] and other not in needs[name] for name in step for other in step
        )

    def leaves(self) -> list[str]:
        """The modules whose outputs are the pipeline's."""
        return [name for name in self.modules if not self.after(name)]

    def entries(self) -> dict[str, Entry]:
        """The modules that take values of the caller: those that nothing leads to.

        Raises:
            InvalidGraphError: a module that something leads to lacks another input, or links do
                not say what an `InputComponent` takes.
        """
        if not self.modules:
            raise InvalidGraphError("The pipeline is empty: add_modules({name: module}).")
        found: dict[str, Entry] = {}
        for name, component in self.modules.items():
            if isinstance(component, InputComponent):
                found[name] = self._entry_of_input(name)
            elif not self.before(name):
                found[name] = Entry(component.free_input_keys)
            else:
                self._check_filled(name, component)
        return found

    def _entry_of_input(self, name: str) -> Entry:
        leaving = [link for link in self.links if link.src == name]
        named = tuple(dict.fromkeys(link.src_key for link in leaving if link.src_key is not None))
        vague = [link for link in leaving if link.src_key is None]
        if not leaving:
            raise InvalidGraphError(
                f"Nothing leaves InputComponent {name!r}: add_link({name!r}, ...)."
            )
        if vague and len(named) > 1:
            raise InvalidGraphError(
                f"{vague[0]}: {name!r} takes {_count(named, 'value')}; say which one: src_key=..."
            )
        filled = self.modules[name].partial_dict
        names = named or (ONLY_VALUE,)
        keys = InputKeys(
            tuple(key for key in names if key not in filled),
            tuple(key for key in names if key in filled),
        )
        return Entry(keys, any_name=not named and bool(keys.required))

    def _check_filled(self, name: str, component: QueryComponent) -> None:
        filled = {link.dest_key for link in self.links if link.dest == name}
        for key in component.free_input_keys.required:
            if key not in filled:
                raise InvalidGraphError(
                    f"Module {name!r} needs a value for its input {key!r}: "
                    f"add_link(..., {name!r}, dest_key={key!r}), or component.partial({key}=...)."
                )

    def source_key(self, link: Link) -> str:
        """The output that a link carries, where it is an only one too."""
        if link.src_key is not None:
            return link.src_key
        required, optional = self._entry_of_input(link.src).keys
        return (required or optional)[0]


def _count(keys: tuple[str, ...], noun: str) -> str:
    """`2 inputs ('a', 'b')`, or `no output`."""
    listed = ", ".join(repr(key) for key in keys)
    return f"{len(keys)} {noun}s ({listed})" if keys else f"no {noun}"


__all__ = ["Entry", "Link", "Wiring"]
