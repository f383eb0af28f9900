"""How a list is written as a difference against its last version.

A list is rewritten whole where that is about as small as the patch, where its pieces are so small
that their rows weigh more than they hold, where half of it or less would stay, and that in crumbs,
and where the records behind it hold four times what is left of it. Where patches pile up without
such waste, a manifest of the live pieces cuts the chain, so that a read touches a bounded number of
rows. Each rewrite is paid for by the bytes written since the last one, so that totals stay linear.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from plait.checkpoint.log.records import LIST_PATCH, MANIFEST, WHOLE, pack_frame
from plait.checkpoint.log.seen import Seen
from plait.checkpoint.log.splices import splices
from plait.checkpoint.log.versions import ROW, SMALL, Encoded, ListVersion, Run, may_keep
from plait.checkpoint.serde import Codec

_PATCHES = 16


def first_list(codec: Codec, value: list[Any], key: bytes) -> Encoded:
    """A list that has no last version."""
    return _whole(codec, value, Seen(value, codec), key)


def _whole(codec: Codec, value: list[Any], seen: Seen, key: bytes, lost: int = 0) -> Encoded:
    packed = seen.packed()
    body = codec.dumps(value) if packed is None else codec.dumps_packed(value, *packed)
    runs = [(key, 0, len(value))] if value else []
    version = ListVersion(key, key, 0, seen, runs, len(body), len(body), lost)
    return Encoded(WHOLE, body, version, value, seen.items, body)


def next_list(codec: Codec, old: ListVersion, value: list[Any], key: bytes) -> Encoded | None:
    """A list written against its last version; None where nothing changed."""
    before, length, look = old.seen, len(old.seen.items), True
    if before.grow(value):
        fresh = value[length:]
        if not fresh:
            return None
        rows, kept = [(length, 0, len(fresh))], old.size
    else:
        # To keep a piece takes a row. More pieces than that is worth are not even looked for.
        look = may_keep(old.lost)
        changes = splices(before, value, codec, old.size // ROW + 1, look=look)
        if not before.renew(value):
            old.seen = Seen(value, codec)  # perhaps the same content in new objects
        if changes is None:
            return _whole(codec, value, old.seen, key, old.lost + 1)
        if not changes:
            return None
        fresh = [*chain.from_iterable(value[each.first : each.last] for each in changes)]
        rows = [(each.start, each.deleted, each.last - each.first) for each in changes]
        kept = old.size * (len(value) - len(fresh)) // length if length else 0
    if kept <= SMALL or (not look and 2 * kept <= old.size):
        return _whole(codec, value, old.seen, key, old.lost + 1)
    return _patched(codec, old, value, fresh, rows, kept, key)


def _patched(
    codec: Codec, old: ListVersion, value: list[Any], fresh: list[Any],
    rows: list[tuple[int, int, int]], kept: int, key: bytes,
) -> Encoded:  # fmt: skip
    """The list as splices of its last version, of which about `kept` bytes stay."""
    body = codec.dumps(fresh)
    size, written = len(body) + kept, old.written + len(body)
    runs, seen = _next_runs(old.runs, rows, len(value) - len(fresh), key), old.seen
    if len(runs) * ROW > size or size * 4 < old.written:
        return _whole(codec, value, seen, key)
    depth = old.depth + 1
    if depth > 2 * len(runs) + _PATCHES:
        version = ListVersion(key, key, 0, seen, runs, size, written)
        payload = pack_frame((len(value), runs, body))
        return Encoded(MANIFEST, payload, version, value, fresh, body)
    version = ListVersion(key, old.anchor, depth, seen, runs, size, written)
    payload = pack_frame((old.id, old.anchor, depth, len(value), rows, body))
    return Encoded(LIST_PATCH, payload, version, value, fresh, body)


def _next_runs(
    runs: list[Run], rows: list[tuple[int, int, int]], kept: int, key: bytes
) -> list[Run]:
    """Where the items are stored after the changes: pieces of the old runs and of version `key`."""
    if len(rows) == 1:
        start, deleted, inserted = rows[0]
        if start == kept and not deleted:  # what is there stays, and more comes after it
            runs.append((key, 0, inserted))
            return runs
    return splice_runs(runs, rows, key)


def splice_runs(runs: list[Run], rows: list[tuple[int, int, int]], key: bytes) -> list[Run]:
    """Apply splices (start, deleted, inserted) to runs; what is inserted comes from `key`."""
    out: list[Run] = []
    rest = iter(runs)
    version, begin, left = key, 0, 0  # what is left of the run at hand
    position = taken = 0
    for start, deleted, inserted in rows:
        kept, gone = start - position, deleted
        position = start + deleted
        while kept:
            if not left:
                version, begin, left = next(rest)
            step = kept if kept < left else left
            out.append((version, begin, step))
            begin, left, kept = begin + step, left - step, kept - step
        while gone:
            if not left:
                version, begin, left = next(rest)
            step = gone if gone < left else left
            begin, left, gone = begin + step, left - step, gone - step
        if inserted:
            out.append((key, taken, inserted))
            taken += inserted
    if left:
        out.append((version, begin, left))
    out.extend(rest)
    return out
