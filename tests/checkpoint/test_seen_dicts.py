"""What changed in a dict is found, whatever its values are and however they were changed."""

from __future__ import annotations

from datetime import date
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from plait.checkpoint.log.records import DICT_PATCH, WHOLE
from plait.checkpoint.log.seen_dicts import SeenDict
from plait.checkpoint.log.versions import DictVersion
from plait.checkpoint.log.writing import encode_version
from plait.checkpoint.serde import Codec, pack_each
from plait.messages import HumanMessage

CODEC = Codec()
FIXED = [1, True, 1.0, 0, False, 0.0, -0.0, None, "a", b"a", 2**70, float("nan"), "long" * 9]
MAKERS: dict[str, Any] = {
    "fixed": lambda r: r.choice(FIXED),
    "numbers": lambda r: r.randint(0, 3),
    "dicts": lambda r: {"a": r.choice(FIXED[:10]), "b": {"c": [r.randint(0, 1)]}},
    "lists": lambda r: [r.choice(FIXED[:10])],
    "messages": lambda r: HumanMessage(r.choice("ab"), id="1"),
    "days": lambda r: date(2020, 1, r.randint(1, 3)),
    "tuples": lambda r: (1, [r.randint(0, 1)]),
    "sets": lambda r: {1, r.randint(1, 3)},
    "buffers": lambda r: r.choice([bytearray(b"a"), b"a", [1]]),
    "large": lambda r: {"text": "x" * 400, "n": r.randint(0, 1)},
    "other keys": lambda r: {r.randint(0, 1): 1},
}


def made(random: Random, kinds: list[str]) -> Any:
    return MAKERS[random.choice(kinds)](random)


def mutated(random: Random, item: Any) -> None:
    """Change an item in place, if it can be."""
    if isinstance(item, dict):
        item[random.choice("az")] = random.choice([1, True, (1,)])
    elif isinstance(item, list):
        item.append(random.choice([1, {"q": 1}]))
    elif isinstance(item, set):
        item.add(random.randint(1, 5))
    elif isinstance(item, bytearray):
        item.append(1)
    elif isinstance(item, HumanMessage):
        item.content = random.choice("ab")
    elif isinstance(item, tuple):
        item[1].append(0)


def worked_on(random: Random, value: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    """What a node makes of a dict: another one, or the same, changed in place."""
    value = value.copy() if random.random() < 0.5 else value
    for _ in range(random.choice([0, 1, 1, 2, 5])):
        names, deed = [*value], random.randint(0, 4)
        if not names or deed == 0:
            value[f"n{random.randint(0, 9999)}"] = made(random, kinds)
        elif deed == 1:
            value[random.choice(names)] = made(random, kinds)
        elif deed == 2:
            del value[random.choice(names)]
        else:
            mutated(random, value[random.choice(names)])
    return CODEC.loads(CODEC.dumps(value)) if random.random() < 0.1 else value


def bytes_of(value: dict[str, Any]) -> dict[str, bytes]:
    return {name: CODEC.dumps(item) for name, item in value.items()}


def mixtures() -> list[list[str]]:
    return [[kind] for kind in MAKERS] + [["fixed", kind] for kind in MAKERS] + [[*MAKERS]]


@pytest.mark.parametrize("kinds", mixtures(), ids=" and ".join)
def test_what_is_read_back_is_what_was_there(kinds: list[str]) -> None:
    """Every difference is put together with what was stored before, as a reader would."""
    for seed in range(40):
        random = Random(seed)
        size = random.choice([0, 1, 31, 32, 33, 100])
        value = {f"k{i}": made(random, kinds) for i in range(size)}
        stored: dict[str, bytes] = {}
        old: DictVersion | None = None
        for step in range(10):
            encoded = encode_version(CODEC, old, value, b"%08d" % step)
            if encoded is not None and encoded.kind == DICT_PATCH:
                gone, put = CODEC.loads(encoded.body)
                stored = {k: v for k, v in stored.items() if k not in gone} | bytes_of(put)
            elif encoded is not None:
                stored = bytes_of(CODEC.loads(encoded.body))
            if encoded is not None:
                assert isinstance(encoded.version, DictVersion)
                old = encoded.version
            assert [*stored.items()] == [*bytes_of(value).items()], (seed, step)
            value = worked_on(random, value, kinds)


@pytest.mark.parametrize("kinds", mixtures(), ids=" and ".join)
def test_what_holds_the_same_as_before_is_not_written(kinds: list[str]) -> None:
    for seed in range(20):
        random = Random(seed)
        value = {f"k{i}": made(random, kinds) for i in range(100)}
        seen, before = SeenDict(value, CODEC), bytes_of(value)
        for name in random.sample([*value], 5):
            value = {**value, name: made(random, kinds)}
        value = {**value, "new": made(random, kinds)}
        _, changed = seen.since(value, CODEC)
        assert changed == [k for k, data in before.items() if CODEC.dumps(value[k]) != data]


@pytest.mark.parametrize("kind", ["numbers", "fixed", "dicts", "lists"])
@pytest.mark.parametrize("count", [100, 10_000])
def test_one_changed_key_costs_python_no_more_in_a_larger_dict(kind: str, count: int) -> None:
    random = Random(1)
    value = {f"k{i}": made(random, [kind]) for i in range(count)}
    seen = SeenDict(value, CODEC)
    value["k77"] = {"another": 1}
    looks: list[Any] = []

    def look(*args: Any) -> bool:
        looks.append(args)
        return False

    def look_each(values: list[Any]) -> list[bytes]:
        looks.extend(values)
        return pack_each(values)

    with (
        patch("plait.checkpoint.log.seen_dicts._same", look),
        patch("plait.checkpoint.log.seen_dicts._same_plain", look),
        patch("plait.checkpoint.log.seen_dicts.pack_each", look_each),
    ):
        seen.since(value, CODEC)
    assert 1 <= len(looks) <= 2 * 32


def table(count: int) -> dict[str, Any]:
    return {f"k{i}": {"id": i, "text": "a note", "tags": ["a"]} for i in range(count)}


@pytest.mark.parametrize("many", [1, 40, 150, 300])
def test_what_is_looked_for_roughly_is_more_but_never_less(many: int) -> None:
    value = table(300)
    seen = SeenDict(value, CODEC)
    changed = [f"k{i}" for i in sorted(Random(many).sample(range(300), many))]
    for name in changed:
        value[name]["tags"].append("b")
    assert seen.since(value, CODEC)[1] == changed
    found = seen.since(value, CODEC, roughly=True)[1]
    assert {*changed} <= {*found}
    assert found == changed or many > 1


def test_a_dict_of_which_half_changes_is_written_whole_until_less_does() -> None:
    value = table(300)
    old = encode_version(CODEC, None, value, b"-" * 16)
    whole = len(CODEC.dumps(value))
    for step in range(20):
        assert old is not None
        many = 300 if step < 12 else 1
        for i in range(0, many, 2):
            value[f"k{i}"]["text"] = f"step {step}"
        old = encode_version(CODEC, old.version, value, step.to_bytes(16, "big"))
        assert old is not None
        if step < 12:
            assert old.kind == WHOLE
        else:
            assert len(old.payload) < whole // 50
