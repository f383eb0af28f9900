"""Long lists and dicts that change in all ways, at random: each version reads as it was committed.

They are long enough for what looks at samples, and for what looks less often after much was lost.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

import pytest

from plait.checkpoint.base.port import NewCheckpoint
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde import Codec
from plait.messages import AIMessage, HumanMessage

VERSIONS = 9
MAKERS: dict[str, Callable[[int], Any]] = {
    "dict": lambda n: {"id": n, "text": f"note {n}", "meta": {"n": n}},
    "list": lambda n: [n, [n]],
    "text": lambda n: f"text {n}" * (1 + n % 3),
    "float": lambda n: -0.0 if n % 3 == 0 else n / 2,
    "tuple": lambda n: (n,),
    "message": lambda n: HumanMessage(f"text {n}", id=str(n)),
    "blocks": lambda n: AIMessage([{"type": "text", "text": str(n)}], id=str(n)),
}
KINDS = [[kind] for kind in MAKERS] + [["dict", "text"], ["dict", "tuple"], [*MAKERS]]


def made(random: Random, kinds: list[str]) -> Any:
    return MAKERS[random.choice(kinds)](random.randrange(300))


def change(random: Random, item: Any) -> None:
    """Change an item in place, if it can be; now and then to what is no plain data."""
    if isinstance(item, dict):
        item["text"] = f"new {random.random()}"
        item["meta"]["n"] = (1,) if random.random() < 0.05 else random.random()
    elif isinstance(item, list):
        item.append(random.randrange(9))
    elif isinstance(item, AIMessage):
        item.content[0]["text"] += "?"
    elif isinstance(item, HumanMessage):
        item.content += "!"


def next_of(random: Random, items: list[Any], kinds: list[str]) -> list[Any]:
    """The next version, in new objects or not."""
    count = len(items)
    way = random.randrange(7)
    if way == 0:
        return [*items, *(made(random, kinds) for _ in range(random.choice([1, 5, 200])))]
    if way == 1:
        return random.sample(items, count)
    if way == 2:
        return items[::-1]
    if way == 3:
        share = random.choice([0.02, 0.5, 0.9])
        return [made(random, kinds) if random.random() < share else item for item in items]
    if way == 4:
        return [deepcopy(item) if n % 2 else item for n, item in enumerate(items)]
    if way == 5:
        return items[random.randrange(count // 2) :] + items[: random.randrange(count // 4)]
    for item in random.sample(items, random.choice([1, 2, count // 2, count])):
        change(random, item)
    return items


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_each_version_is_read_as_it_was_committed(kinds: list[str], seed: int) -> None:
    random, codec, saver = Random(seed), Codec(), InMemorySaver()
    items = [made(random, kinds) for _ in range(random.choice([40, 700]))]
    table = {f"key {n}": made(random, kinds) for n in range(random.choice([20, 700]))}
    session = saver.open_session("1")
    parent, stored = None, dict[str, bytes]()
    for version in range(VERSIONS):
        id = f"{version:08x}-0000-6000-8000-000000000000"
        values = {"items": items, "table": table}
        saver.run(session.commit(NewCheckpoint(id, parent, 0.0, {}, {}, values), claim=not parent))
        parent, stored[id] = id, codec.dumps(values)
        items = next_of(random, items, kinds)
        table = dict(zip(table, next_of(random, [*table.values()], kinds), strict=False))
        table[f"new {version}"] = made(random, kinds)
    for id, expected in stored.items():
        found = saver.run(saver.open_session("1").load(id))
        assert found is not None
        values = {name: found.values[name] for name in ("items", "table")}
        assert codec.dumps(values) == expected, id
