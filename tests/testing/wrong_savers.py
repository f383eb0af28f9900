"""A saver in dicts that keeps every promise, and many that break one each.

`RIGHT` has LangGraph's port, with a hook for each thing that can be done wrong; `WRONG` says by
what is wrong which hooks do it. `WRONG_NATIVE` are savers of plait's in memory that do one storage
request otherwise than they should.
"""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncIterator, Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from time import sleep
from typing import Any

from plait.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from plait.checkpoint.base.model import WRITES_IDX_MAP
from plait.checkpoint.log.requests import (
    DropLanes,
    ListLanes,
    ListThreads,
    ReadLane,
    ReadWrites,
    Refused,
    Renew,
    Transact,
)
from plait.checkpoint.memory import InMemorySaver

Key = tuple[str, str, Any]


def config_of(key: Key) -> Any:
    """The config that names a checkpoint."""
    return {
        "configurable": dict(
            zip(("thread_id", "checkpoint_ns", "checkpoint_id"), key, strict=False)
        )
    }


class RightSaver(BaseCheckpointSaver[Any]):
    """Checkpoints and writes in dicts; what is given and kept is copied."""

    keep_writes_when_put_again = True
    put_again = True
    limit_first = False
    match: Any = all
    last = staticmethod(lambda keys: max(keys, key=lambda key: key[2], default=None))
    on_put: Any = staticmethod(lambda checkpoint, metadata, new: (checkpoint, metadata))
    on_get: Any = staticmethod(lambda found: found)
    on_list: Any = staticmethod(lambda found: found)
    on_names: Any = staticmethod(lambda thread, ns: (thread, ns))
    writes_at: Any = staticmethod(lambda key: key)
    in_order: Any = staticmethod(lambda writes: sorted(writes.items()))
    copy_in = copy_out = copy_metadata = copy_metadata_out = staticmethod(deepcopy)
    asked: Any = staticmethod(lambda config: config)
    before_is_over: Any = staticmethod(lambda id, before: id < before)
    doomed: Any = staticmethod(lambda key, thread: key[0] == thread)
    deleted_with = ("rows", "writes")

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[Key, Any] = {}
        self.writes: dict[Key, dict[tuple[str, int], Any]] = {}

    def key(self, config: Any) -> Key:
        at = config["configurable"]
        return *self.on_names(at["thread_id"], at.get("checkpoint_ns", "")), at.get("checkpoint_id")

    def found(self, key: Key) -> CheckpointTuple:
        checkpoint, metadata, parent = self.rows[key]
        writes = [
            (task, channel, self.copy_out(value))
            for (task, _), (channel, value) in self.in_order(
                self.writes.get(self.writes_at(key), {})
            )
        ]
        above = config_of((*key[:2], parent)) if parent else None
        made = CheckpointTuple(
            config_of(key), deepcopy(checkpoint), self.copy_metadata_out(metadata), above, writes
        )
        return self.on_get(made)

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        key = self.key(config)
        if key[2] is None:
            key = self.last([each for each in self.rows if each[:2] == key[:2]])
        return self.found(key) if key in self.rows else None

    def list(
        self, config: Any, *, filter: Any = None, before: Any = None, limit: Any = None
    ) -> Iterator[CheckpointTuple]:
        asked = {} if (of := self.asked(config)) is None else of["configurable"]
        wanted = {
            place: asked[name]
            for place, name in enumerate(("thread_id", "checkpoint_ns", "checkpoint_id"))
            if name in asked
        }
        keys = [key for key in self.rows if all(key[at] == want for at, want in wanted.items())]
        old = before and before["configurable"]["checkpoint_id"]
        for key in sorted(keys, key=lambda key: key[2], reverse=True):
            if old and not self.before_is_over(key[2], old):
                continue
            fits = self.match(
                [self.rows[key][1].get(k) == v for k, v in (filter or {}).items()] or [1]
            )
            if not fits and not self.limit_first:
                continue
            if limit is not None:
                if limit <= 0:
                    return
                limit -= 1
            if fits:
                yield self.on_list(self.found(key))

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        thread, ns, parent = self.key(config)
        key = thread, ns, checkpoint["id"]
        if self.put_again or key not in self.rows:
            kept, facts = self.on_put(
                deepcopy(checkpoint), self.copy_metadata(metadata), new_versions
            )
            self.rows[key] = kept, facts, parent
        if not self.keep_writes_when_put_again:
            self.writes.pop(key, None)
        return config_of(key)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        into = self.writes.setdefault(self.writes_at(self.key(config)), {})
        for at, (channel, value) in enumerate(writes):
            place = self.place(channel, at)
            if not self.stays(place) or (task_id, place) not in into:
                into[task_id, place] = channel, self.copy_in(value)

    place: Any = staticmethod(lambda channel, at: WRITES_IDX_MAP.get(channel, at))
    stays: Any = staticmethod(lambda place: place >= 0)

    def delete_thread(self, thread_id: str) -> None:
        for name in self.deleted_with:
            kept: dict[Key, Any] = getattr(self, name)
            for key in [key for key in kept if self.doomed(key, thread_id)]:
                del kept[key]

    async def aget_tuple(self, config: Any) -> Any:
        return self.get_tuple(config)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[Any]:
        for each in self.list(config, **options):
            yield each

    async def aput(self, *args: Any) -> Any:
        return self.put(*args)

    async def aput_writes(self, *args: Any) -> None:
        self.put_writes(*args)

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)


def _stored(change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """What it stores of a checkpoint is changed."""
    return {"on_put": staticmethod(lambda kept, facts, _: ({**kept, **change(kept)}, facts))}


def _values(change: Callable[[Any], Any]) -> dict[str, Any]:
    """Each value inside of values is changed; not what plait hands over as bytes of its own."""

    def deep(value: Any) -> Any:
        if isinstance(value, dict):
            return change({key: deep(each) for key, each in value.items()})
        if isinstance(value, list):
            return change([deep(each) for each in value])
        return change(value)

    def all_of(kept: dict[str, Any]) -> dict[str, Any]:
        values = kept["channel_values"]
        own = any(isinstance(each, dict) and "__plait__" in each for each in values.values())
        return {} if own else {"channel_values": {key: deep(each) for key, each in values.items()}}

    return _stored(all_of)


def _without(test: Callable[[Any], bool]) -> dict[str, Any]:
    """Values that are so are not stored."""
    return _stored(
        lambda kept: {
            "channel_values": {k: v for k, v in kept["channel_values"].items() if not test(v)}
        }
    )


def _listed(**change: Any) -> dict[str, Any]:
    """What it lists is changed."""
    return {"on_list": staticmethod(lambda found: found._replace(**change))}


def _names(change: Callable[[str], str]) -> dict[str, Any]:
    return {"on_names": staticmethod(lambda thread, ns: (change(thread), change(ns)))}


def _asked(change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Another history is listed than was asked for."""
    return {
        "asked": staticmethod(
            lambda config: config and {"configurable": change(config["configurable"])}
        )
    }


def _but(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda given: {key: value for key, value in given.items() if key != name}


def _alias() -> Any:
    return staticmethod(lambda given: given)


def _racy(self: Any, *args: Any) -> Any:
    rows = dict(self.rows)
    sleep(0.002)
    self.rows = rows
    return RightSaver.put(self, *args)


async def _forgets(self: Any, config: Any, checkpoint: Any, *_: Any) -> Any:
    return config_of((*self.key(config)[:2], checkpoint["id"]))


class _Apart(RightSaver):
    """Its async methods have rows of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.other = RightSaver()

    async def aget_tuple(self, config: Any) -> Any:
        return self.other.get_tuple(config)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[Any]:
        for each in self.other.list(config, **options):
            yield each

    async def aput(self, *args: Any) -> Any:
        return self.other.put(*args)

    async def aput_writes(self, *args: Any) -> None:
        self.other.put_writes(*args)

    async def adelete_thread(self, thread_id: str) -> None:
        self.other.delete_thread(thread_id)


def _deletes_unknown(self: Any, thread_id: str) -> None:
    if not any(key[0] == thread_id for key in self.rows):
        raise KeyError(thread_id)
    RightSaver.delete_thread(self, thread_id)


def _once(self: Any, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
    if all(task != task_id for task, _ in self.writes.get(self.key(config), {})):
        RightSaver.put_writes(self, config, writes, task_id, task_path)


def _of_newest(self: Any, config: Any, *args: Any) -> None:
    thread, ns, _ = self.key(config)
    newest = max(key for key in self.rows if key[:2] == (thread, ns))
    RightSaver.put_writes(self, config_of(newest), *args)


def _newest_anywhere(self: Any, config: Any) -> Any:
    thread, ns, id = self.key(config)
    if id is None:
        id = max((key[2] for key in self.rows if key[0] == thread), default=None)
        ns = next((key[1] for key in self.rows if key[::2] == (thread, id)), ns)
    return self.found((thread, ns, id)) if (thread, ns, id) in self.rows else None


def _keeps_three(self: Any, config: Any, *args: Any) -> Any:
    at = RightSaver.put(self, config, *args)
    lane = sorted(key for key in self.rows if key[:2] == self.key(at)[:2])
    for key in lane[:-3]:
        del self.rows[key]
    return at


def _needs_a_namespace(self: Any, config: Any) -> Any:
    config["configurable"]["checkpoint_ns"]  # else it raises a KeyError
    return RightSaver.get_tuple(self, config)


def _newest_else(self: Any, config: Any) -> Any:
    at = config["configurable"]
    newest = {"configurable": {**at, "checkpoint_id": None}}
    return RightSaver.get_tuple(self, config) or RightSaver.get_tuple(self, newest)


def _only_of_checkpoints(self: Any, config: Any, *args: Any) -> None:
    if self.key(config) in self.rows:
        RightSaver.put_writes(self, config, *args)


def _filters(fits: Callable[[Any, str, Any], bool]) -> dict[str, Any]:
    """A filter takes other checkpoints."""

    def list_(self: Any, config: Any, *, filter: Any = None, limit: Any = None, **of: Any) -> Any:
        found = [
            each
            for each in RightSaver.list(self, config, **of)
            if all(fits(each.metadata, key, wanted) for key, wanted in (filter or {}).items())
        ]
        yield from found[:limit]

    return {"list": list_}


def _on_path(metadata: Any, key: str, wanted: Any) -> bool:
    for part in key.split("."):
        metadata = metadata.get(part) if isinstance(metadata, dict) else None
    return metadata == wanted


def _texts(change: Callable[[str], str]) -> dict[str, Any]:
    return _values(lambda value: change(value) if isinstance(value, str) else value)


def _writes(change: Callable[[Any], Any]) -> dict[str, Any]:
    """The writes of a task are changed."""
    return {
        "put_writes": lambda self, config, writes, *args: RightSaver.put_writes(
            self, config, change(writes), *args
        )
    }


WRONG: dict[str, dict[str, Any]] = {
    "a namespace must be named": {"get_tuple": _needs_a_namespace},
    "an unknown checkpoint is the newest": {"get_tuple": _newest_else},
    "writes that come first are lost": {"put_writes": _only_of_checkpoints},
    "a filter compares texts": _filters(lambda facts, k, want: str(facts.get(k)) == str(want)),
    "a filter folds case": _filters(
        lambda facts, k, want: repr(facts.get(k)).lower() == repr(want).lower()
    ),
    "a filter follows paths": _filters(_on_path),
    "a filter takes what lacks its key": _filters(
        lambda facts, k, want: facts.get(k, want) == want
    ),
    "a filter finds no dicts": _filters(
        lambda facts, k, want: not isinstance(want, dict) and facts.get(k) == want
    ),
    "a limit of nothing is none": {
        "list": lambda self, config, *, limit=None, **of: RightSaver.list(
            self, config, limit=limit or None, **of
        )
    },
    "the first has a parent": {
        "on_get": staticmethod(
            lambda found: found._replace(parent_config=found.parent_config or {})
        )
    },
    "what nodes have seen is lost": _stored(lambda kept: {"versions_seen": {}}),
    "metadata of None is cut": {
        "copy_metadata": staticmethod(
            lambda facts: {k: v for k, v in facts.items() if v is not None}
        )
    },
    "names of metadata are changed": {
        "copy_metadata": staticmethod(lambda facts: {k.replace(".", "_"): facts[k] for k in facts})
    },
    "long values are cut": _values(
        lambda value: value[:65_535] if isinstance(value, (str, bytes)) else value
    ),
    "text is stripped": _texts(str.strip),
    "text is normalised": _texts(lambda text: unicodedata.normalize("NFC", text)),
    "ends of lines are folded": _texts(lambda text: text.replace("\r\n", "\n")),
    "text ends at a NUL": _texts(lambda text: text.partition("\0")[0]),
    "names are in one line": _names(lambda name: name.replace("\n", " ")),
    "bytes of writes become text": {
        "copy_in": staticmethod(
            lambda value: value.decode("latin1") if isinstance(value, bytes) else deepcopy(value)
        )
    },
    "keys of writes become text": {
        "copy_in": staticmethod(
            lambda value: (
                {str(k): v for k, v in value.items()}
                if isinstance(value, dict)
                else deepcopy(value)
            )
        )
    },
    "writes of None are lost": _writes(
        lambda writes: [each for each in writes if each[1] is not None]
    ),
    "a channel is written once": _writes(lambda writes: [*dict(writes).items()]),
    "the newest is the last that was put": {
        "last": staticmethod(lambda keys: keys[-1] if keys else None)
    },
    "the newest is of any namespace": {"get_tuple": _newest_anywhere},
    "what is put again is ignored": {"put_again": False},
    "what is put again loses its writes": {"keep_writes_when_put_again": False},
    "put names the parent": {
        "put": lambda self, config, *args: (RightSaver.put(self, config, *args), config)[1]
    },
    "only three are kept": {"put": _keeps_three},
    "a list has no writes": _listed(pending_writes=[]),
    "a list has no parents": _listed(parent_config=None),
    "a list has no metadata": _listed(metadata={}),
    "a list names the thread only": {
        "on_list": staticmethod(
            lambda found: found._replace(config={"configurable": {"thread_id": "t"}})
        )
    },
    "a list has no values": {
        "on_list": staticmethod(
            lambda found: found._replace(checkpoint={**found.checkpoint, "channel_values": {}})
        )
    },
    "versions are lost": _stored(lambda kept: {"channel_versions": {}}),
    "versions become text": _stored(
        lambda kept: {"channel_versions": {k: str(v) for k, v in kept["channel_versions"].items()}}
    ),
    "only new values are stored": {
        "on_put": staticmethod(
            lambda kept, facts, new: (
                {
                    **kept,
                    "channel_values": {
                        k: kept["channel_values"][k] for k in new if k in kept["channel_values"]
                    },
                },
                facts,
            )
        )
    },
    "what a task says of itself stays": {"stays": staticmethod(lambda place: True)},
    "what a task says of itself takes a place": {"place": staticmethod(lambda channel, at: at)},
    "a later write replaces": {"stays": staticmethod(lambda place: False)},
    "a task writes once": {"put_writes": _once},
    "writes go to the newest": {"put_writes": _of_newest},
    "writes are of any namespace": {"writes_at": staticmethod(lambda key: (key[0], "", key[2]))},
    "writes are of any thread": {"writes_at": staticmethod(lambda key: ("", *key[1:]))},
    "writes come in no order": {
        "in_order": staticmethod(lambda writes: sorted(writes.items(), reverse=True))
    },
    "a limit counts what a filter leaves out": {"limit_first": True},
    "a filter takes what one of its keys fits": {"match": staticmethod(any)},
    "before includes": {"before_is_over": staticmethod(lambda id, before: id <= before)},
    "nothing is listed of all threads": {
        "asked": staticmethod(lambda config: config or {"configurable": {"thread_id": None}})
    },
    "a list is of any namespace": _asked(_but("checkpoint_ns")),
    "a list is of one namespace always": _asked(lambda given: {"checkpoint_ns": "", **given}),
    "a list is of any checkpoint": _asked(_but("checkpoint_id")),
    "deleting keeps writes": {"deleted_with": ("rows",)},
    "deleting takes what begins like it": {
        "doomed": staticmethod(lambda key, thread: key[0].startswith(thread))
    },
    "deleting takes what differs by case": {
        "doomed": staticmethod(lambda key, thread: key[0].lower() == thread.lower())
    },
    "deleting what is not there fails": {"delete_thread": _deletes_unknown},
    "names are folded": _names(str.casefold),
    "names are normalised": _names(lambda name: unicodedata.normalize("NFC", name)),
    "names are stripped": _names(str.rstrip),
    "names are cut": _names(lambda name: name[:500]),
    "names are joined": {"on_names": staticmethod(lambda thread, ns: (f"{thread}|{ns}", ""))},
    "metadata is kept as it is": {"copy_metadata": _alias()},
    "metadata is given as it is": {"copy_metadata_out": _alias()},
    "writes are kept as they are": {"copy_in": _alias()},
    "writes are given as they are": {"copy_out": _alias()},
    "keys become text": _values(
        lambda v: {str(k): each for k, each in v.items()} if isinstance(v, dict) else v
    ),
    "keys are sorted": _values(
        lambda v: {k: v[k] for k in sorted(v, key=str)} if isinstance(v, dict) else v
    ),
    "bytes become text": _values(lambda v: v.decode("latin1") if isinstance(v, bytes) else v),
    "whole floats become integers": _values(
        lambda v: int(v) if isinstance(v, float) and v.is_integer() else v
    ),
    "truth becomes a number": _values(lambda v: int(v) if isinstance(v, bool) else v),
    "None is not stored": _without(lambda value: value is None),
    "what is empty is not stored": _without(lambda value: value in ([], {}, "", b"")),
    "time is told anew": {
        "on_get": staticmethod(
            lambda found: found._replace(checkpoint={**found.checkpoint, "ts": "2030-01-01"})
        )
    },
    "metadata is cut": {
        "on_put": staticmethod(
            lambda kept, facts, _: (kept, {k: facts[k] for k in ("source", "step") if k in facts})
        )
    },
    "versions stay": {"get_next_version": lambda self, current, channel: 1},
    "versions sort as text": {
        "get_next_version": lambda self, current, channel: str(int(current or 0) + 1)
    },
    "async puts are lost": {"aput": _forgets},
    "puts beside each other are lost": {"put": _racy},
}
"""What is wrong, and the hooks that do it."""


def wrong_saver(name: str) -> type[RightSaver]:
    """The saver that does one thing wrong."""
    return type("WrongSaver", (RightSaver,), WRONG[name])


APART = _Apart


class NativeSaver(InMemorySaver):
    """As right as its base; each storage request goes through one method."""

    drain = None  # pyright: ignore[reportAssignmentType, reportIncompatibleVariableOverride]

    def do(self, request: Any) -> Any:
        return super().execute(request)

    def execute(self, request: Any) -> Any:
        return self.do(request)

    async def aexecute(self, request: Any) -> Any:
        return self.do(request)


def _otherwise(kind: type, change: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Requests of a kind are changed."""

    def do(self: Any, request: Any) -> Any:
        return NativeSaver.do(self, change(self, request) if type(request) is kind else request)

    return do


def _transact(change: Callable[[Transact], dict[str, Any]]) -> Callable[[Any, Any], Any]:
    return _otherwise(Transact, lambda self, request: replace(request, **change(request)))


def _believes(*names: str) -> Callable[[Any, Any], Any]:
    """What a claim says of the lane is not compared."""

    def change(self: Any, request: Transact) -> Transact:
        row = NativeSaver.do(self, ReadLane(request.thread_id, ""))
        if request.claim is None or row is None:
            return request
        seen = {name: getattr(row, name) for name in names}
        return replace(request, claim=replace(request.claim, **seen))

    return _otherwise(Transact, change)


def _any_fence(self: Any, request: Renew) -> Renew:
    fences = {row.lane: row.fence for row in NativeSaver.do(self, ListLanes(None))}
    return replace(request, lanes=[(lane, fences.get(lane, 0)) for lane, _ in request.lanes])


def _renews_what_is_free(self: Any, request: Any) -> Any:
    answer = NativeSaver.do(self, request)
    if type(request) is Renew:
        self.renewed = [lane for lane, _ in request.lanes]
    elif type(request) is ReadLane and answer is not None and answer.lease is None:
        return answer._replace(lease=9e9 if answer.lane in vars(self).get("renewed", ()) else None)
    return answer


def _stores_refused(part: Callable[[Transact], Transact]) -> Callable[[Any, Any], Any]:
    def do(self: Any, request: Any) -> Any:
        answer = NativeSaver.do(self, request)
        if type(answer) is Refused and type(request) is Transact:
            NativeSaver.do(self, part(request))
        return answer

    return do


def _keeps_writes(self: Any, request: Any) -> Any:
    if type(request) is not Transact or not request.drop_checkpoints:
        return NativeSaver.do(self, request)
    lane = NativeSaver.do(self, ReadLane(request.thread_id, request.ns)).lane
    writes = [
        (row.checkpoint, row.task, row.path, row.record)
        for id in request.drop_checkpoints
        for row in NativeSaver.do(self, ReadWrites(lane, id))
    ]
    answer = NativeSaver.do(self, request)
    NativeSaver.do(self, Transact(request.thread_id, request.ns, writes=writes))
    return answer


def _roots(self: Any, request: Any) -> Any:
    answer = NativeSaver.do(self, request)
    if type(request) is ListLanes and request.thread_id is not None:
        return [row for row in answer if row.ns == ""]
    return answer


WRONG_NATIVE: dict[str, Callable[[Any, Any], Any]] = {
    "no fence is looked at": _transact(lambda _: {"fence": None}),
    "no fence is looked at for writes alone": _transact(
        lambda asked: {} if asked.checkpoints else {"fence": None}
    ),
    "a claim is not compared": _believes("fence", "lease"),
    "the lease of a claim is not compared": _believes("lease"),
    "whoever gives back is believed": _transact(
        lambda asked: {"fence": None} if asked.release and not asked.checkpoints else {}
    ),
    "nothing is given back": _transact(lambda _: {"release": False}),
    "whoever renews is believed": _otherwise(Renew, _any_fence),
    "what nobody holds is renewed": _renews_what_is_free,
    "nothing is renewed": lambda self, request: (
        None if type(request) is Renew else NativeSaver.do(self, request)
    ),
    "whoever drops lanes is believed": _otherwise(
        DropLanes, lambda self, request: replace(request, fence=None)
    ),
    "values are not dropped": _transact(lambda _: {"drop_values": ()}),
    "checkpoints are not dropped": _transact(lambda _: {"drop_checkpoints": ()}),
    "writes of dropped checkpoints stay": _keeps_writes,
    "what is refused is stored": _stores_refused(
        lambda asked: replace(asked, fence=None, claim=None, head=None, release=False)
    ),
    "values of what is refused are stored": _stores_refused(
        lambda asked: Transact(asked.thread_id, asked.ns, values=asked.values)
    ),
    "writes of a commit are lost": _transact(
        lambda asked: {"writes": ()} if asked.checkpoints else {}
    ),
    "heads of inner lanes do not move": _transact(
        lambda asked: {"head": None} if asked.ns and not asked.checkpoints else {}
    ),
    "inner lanes are not listed": _roots,
    "a page of threads leaves one out": _otherwise(
        ListThreads,
        lambda self, request: replace(request, after=request.after + bool(request.after)),
    ),
    "a page of threads has all": _otherwise(
        ListThreads, lambda self, request: replace(request, limit=10**6)
    ),
}
"""What is wrong, and how requests are done."""


def wrong_native_saver(name: str) -> type[NativeSaver]:
    """The saver that does one thing wrong."""
    return type("WrongNativeSaver", (NativeSaver,), {"do": WRONG_NATIVE[name]})
