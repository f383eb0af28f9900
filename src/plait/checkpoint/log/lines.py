"""How a long list or dict is read back through a history: from its newest version, step by step.

A history asks for the versions of a channel newest first. So the patches behind the newest are
read and applied once, and each is taken back when an older version is asked for. What is kept are
recipes (`serde.recipes`): every version that is shown is made anew of them.

Where the newest version of a list is known from before (`recent`), not even that is read: what a
patch appended is cut off again, by what its own record says.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.patching import Splices, check_splices
from plait.checkpoint.log.reading import (
    ChainReader,
    Source,
    keys_of,
    patch_recipes,
    piece_of,
    whole_dict,
    whole_of,
)
from plait.checkpoint.log.records import (
    BORROWED,
    DICT_PATCH,
    LIST_PATCH,
    WHOLE,
    Patch,
    Ref,
    damaged,
    read_manifest,
    read_patch,
)
from plait.checkpoint.log.requests import ReadValues
from plait.checkpoint.serde import Codec, KeyedRecipes, Recipes
from plait.engine.records import Unmade

_Splice: TypeAlias = "tuple[int, int, list[Any], list[Any]]"
"""Where it was, how many items came, and recipes of those that went."""
_Put: TypeAlias = "tuple[Any, bool, Any, Any]"
"""A key, whether it was there, and the recipe of what it held."""


class _Line:
    """A list or dict, at one of its versions."""

    def __init__(self, codec: Codec, at: bytes) -> None:
        self.at = at
        self._behind: set[bytes] = set()
        self._codec = codec
        self._loads = codec.loads_each

    def knows(self, version: bytes) -> bool:
        """Whether it is at a version, or can go back to it."""
        return version == self.at or version in self._behind

    def _went_on(self, version: bytes) -> None:
        self._behind.add(self.at)
        self.at = version

    def _went_back(self, version: bytes) -> None:
        self._behind.discard(version)
        self.at = version


class _ListLine(_Line):
    """A list, at one of its versions."""

    def __init__(self, codec: Codec, at: bytes, base: Recipes, last: Patch | None = None) -> None:
        super().__init__(codec, at)
        self._recipes = base
        self.last = last
        """The patch that made the version at hand, if those before it were not looked at."""
        self._undo: list[tuple[bytes, int | list[_Splice]]] = []
        """The version before each patch, and how it is taken back; of an append, the length."""

    def go_on(self, version: bytes, length: int, splices: Splices, fresh: Recipes) -> None:
        """Apply a patch."""
        hows, whats = self._recipes.hows, self._recipes.whats
        held, count = len(hows), len(fresh.hows)
        if splices == ((held, 0, count),) and held + count == length:
            hows += fresh.hows
            whats += fresh.whats
            self._undo.append((self.at, held))
            self._went_on(version)
            return
        check_splices(held, splices, count)
        undo: list[_Splice] = []
        end = len(fresh.hows)
        for start, deleted, count in reversed(splices):  # from the back: places stay true
            gone = slice(start, start + deleted)
            undo.append((start, count, hows[gone], whats[gone]))
            hows[gone], whats[gone] = fresh.hows[end - count : end], fresh.whats[end - count : end]
            end -= count
        if len(hows) != length:
            raise damaged("list")
        self._undo.append((self.at, undo))
        self._went_on(version)

    def go_back(self) -> None:
        """Take the last patch back."""
        hows, whats = self._recipes.hows, self._recipes.whats
        at, undo = self._undo.pop()
        self._went_back(at)
        if isinstance(undo, int):
            del hows[undo:], whats[undo:]
            return
        for start, count, old_hows, old_whats in reversed(undo):
            hows[start : start + count], whats[start : start + count] = old_hows, old_whats

    def brought(self) -> Recipes | None:
        """What the last patch appended; None where it did something else, or is not known."""
        patch, held = self.last, len(self._recipes.hows)
        if patch is None or len(patch.splices) != 1:
            return None
        start, deleted, count = patch.splices[0]
        if deleted or start + count != patch.length:
            return None
        if patch.length != held:
            raise damaged("list")
        return self._recipes.part(start, count)

    def leave(self, version: bytes, kind: int, payload: bytes) -> bool:
        """Go back to the version before, by what the last patch says alone. False: it does not say
        enough, or has another before it."""
        brought = self.brought()
        if self.last is None or brought is None or self.last.base != version:
            return False
        held = len(self._recipes.hows) - len(brought.hows)
        del self._recipes.hows[held:], self._recipes.whats[held:]
        self.at = version
        self.last = read_patch(kind, payload) if kind == LIST_PATCH else None
        if held != (read_manifest(payload) if self.last is None else self.last).length:
            raise damaged("list")
        return True

    def recipes(self) -> Recipes:
        """How the items at hand are made."""
        return self._recipes.copy()

    def value(self) -> Unmade:
        """The list at hand."""
        return Unmade(Recipes.made, self.recipes(), self._loads)


class _DictLine(_Line):
    """A dict, at one of its versions."""

    def __init__(self, codec: Codec, at: bytes, base: KeyedRecipes) -> None:
        super().__init__(codec, at)
        self._recipes = base
        self._undo: list[tuple[bytes, list[_Put] | KeyedRecipes]] = []

    def go_on(self, version: bytes, length: int, body: bytes) -> None:
        """Apply a patch."""
        gone, put = keys_of(body, self._codec)
        recipes = self._recipes
        if gone:  # a key that comes back must stand where it stood
            self._undo.append((self.at, recipes.copy()))
        else:
            hows, whats = recipes.hows, recipes.whats
            olds = [(key, key in whats, hows.get(key), whats.get(key)) for key in put]
            self._undo.append((self.at, olds))
        patch_recipes(recipes, gone, put, self._codec)
        if len(recipes.whats) != length:
            raise damaged("dict")
        self._went_on(version)

    def go_back(self) -> None:
        """Take the last patch back."""
        at, undo = self._undo.pop()
        self._went_back(at)
        if isinstance(undo, KeyedRecipes):
            self._recipes = undo
            return
        for key, was_there, how, what in reversed(undo):
            if was_there:
                self._recipes.put(key, how, what)
            else:
                self._recipes.drop(key)

    def value(self) -> Unmade:
        """The dict at hand."""
        return Unmade(KeyedRecipes.made, self._recipes.copy(), self._loads)


def _made_piece(brought: Recipes | bytes, ref: Ref, codec: Codec) -> Any:
    """What a task's write refers to: items of a list, or keys of a dict."""
    if isinstance(brought, Recipes):
        return piece_of(brought.made(codec.loads_each), ref)
    return keys_of(brought, codec)[1]


class Lines:
    """The lists and dicts of one lane, read newest first.

    Args:
        source: opens the lane's records.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lines: dict[str, _ListLine | _DictLine] = {}
        """By channel."""
        self._pieces: dict[tuple[str, bytes], Recipes | bytes] = {}
        """By channel and version of a list the items that it brought; of a dict, as packed."""

    def knows(self, channel: str, version: bytes) -> bool:
        """Whether a version needs no record any more."""
        line = self._lines.get(channel)
        return line is not None and line.knows(version)

    def recalls(self, channel: str, version: bytes) -> bool:
        """Whether a version, and perhaps those before it, are read by their own records alone."""
        line, recent = self._lines.get(channel), self._source.recent
        if line is not None:
            return isinstance(line, _ListLine) and line.last is not None
        kept = None if recent is None else recent.find(self._source.lane, channel)
        return kept is not None and kept.id == version

    def read(
        self,
        channel: str,
        version: bytes,
        record: tuple[int, bytes] | None,
        proved: bytes | None = None,
    ) -> Plan[Unmade]:
        """A value.

        Args:
            channel: whose.
            version: which.
            record: kind and payload of its record, if that was read.
            proved: what tells that record from all others, if few versions are asked for.
        """
        if not self.knows(channel, version):
            if record is None:  # a fork: the line has been at older versions since it was asked
                records: list[bytes | None] = yield ReadValues(
                    self._source.lane, [(channel, version)]
                )
                record = self._source.open_value(channel, version, records[0])
                if record[0] == BORROWED:
                    record = WHOLE, (yield from whole_of(self._source, record[1]))
            if record[0] == DICT_PATCH:
                self._lines[channel] = yield from self._dict_line(channel, version, *record)
            else:
                yield from self._go_to(channel, version, record, proved)
        line = self._lines[channel]
        while line.at != version:
            line.go_back()
        return line.value()

    def piece(self, ref: Ref) -> Unmade | None:
        """What a task's write refers to; None where no line has been."""
        brought = self._pieces.get((ref.channel, ref.version))
        if brought is None:
            return None
        return Unmade(_made_piece, brought, ref, self._source.codec)

    def _go_to(
        self, channel: str, version: bytes, record: tuple[int, bytes], proved: bytes | None
    ) -> Plan[None]:
        """Have the line of a list at a version, by as little as that takes."""
        line = self._lines.get(channel)
        if not isinstance(line, _ListLine) or not line.leave(version, *record):
            chain = ChainReader(self._source, channel, remembers=True)
            recipes = None if proved is None else chain.recalled(version, proved)
            if recipes is None:
                line = yield from self._list_line(chain, version, *record, proved)
            else:
                patch = read_patch(*record) if record[0] == LIST_PATCH else None
                line = _ListLine(self._source.codec, version, recipes, patch)
            self._lines[channel] = line
        brought = line.brought()
        if brought is not None:
            self._pieces[channel, version] = brought

    def _list_line(
        self, chain: ChainReader, version: bytes, kind: int, payload: bytes, proved: bytes | None
    ) -> Plan[_ListLine]:
        codec, channel = self._source.codec, chain.channel
        walk = yield from chain.walk(version, kind, payload, None)
        base = yield from chain.list_base(walk.at, walk.kind, walk.payload)
        line = _ListLine(codec, walk.at, base.recipes)
        fresh = Recipes()
        _, counts = chain.items([patch[3] for patch in walk.trail], fresh)
        first = 0
        for (made, length, splices, _, _), count in zip(walk.trail, counts, strict=True):
            self._pieces[channel, made] = brought = fresh.part(first, count)
            line.go_on(made, length, splices, brought)
            first += count
        if proved is not None and channel not in self._lines:
            chain.remember(version, proved, walk, base, counts, line.recipes)
        return line

    def _dict_line(
        self, channel: str, version: bytes, kind: int, payload: bytes
    ) -> Plan[_DictLine]:
        codec = self._source.codec
        chain = ChainReader(self._source, channel, remembers=True)
        walk = yield from chain.walk(version, kind, payload, None)
        base = KeyedRecipes()
        patch_recipes(base, (), whole_dict(walk.kind, walk.payload, codec), codec)
        line = _DictLine(codec, walk.at, base)
        for made, length, _, body, _ in walk.trail:
            line.go_on(made, length, body)
            self._pieces[channel, made] = body
        return line
