"""Random sequences of operations of stores, in memory and in SQLite."""

from typing import Any

from tests.differential.random.dice import Dice

SPACES = (
    ("a",),
    ("a", "b"),
    ("a", "c"),
    ("b",),
    ("b", "a", "c"),
    ("users", "1", "notes"),
    ("users", "2"),
)
KEYS = ("k1", "k2", "k3", "é")
FIELDS = ("n", "t", "flag", "deep")
OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")


LIVES = (-10.0, 60, None)
"""Times to live, in minutes: the first has passed before the item was put."""


def lines(dice: Dice) -> list[str]:
    """A store, and operations on it, of which each result is noted."""
    sqlite, sync = dice.chance(0.6), dice.chance(0.5)
    calls = [operation(dice, sqlite, sync) for _ in range(dice.number(3, 14))]
    # "Namespaces of deleted items": each holds one that stays.
    put = "store.put" if sync else "await store.aput"
    seeded = f"for space in {SPACES!r}: {put}(space, 'stays', {value(dice)!r})"
    if sync:
        made = ["store = env.store()", seeded, *(f"look(lambda: {call})" for call in calls)]
    else:
        noted = [seeded, *(f"await alook({call})" for call in calls)]
        made = ["async with env.astore() as store:", *(f"    {line}" for line in noted)]
    return ["env.kind = 'sqlite'", *made] if sqlite else made


def value(dice: Dice) -> dict[str, Any]:
    """The value of an item: fields of one type each, so that every store can compare them."""
    made: dict[str, Any] = {"n": dice.one([0, 1, 2, 2.5, 10])}
    if dice.chance(0.6):
        made["t"] = dice.one(["a", "b", "ab", "", "é"])
    if dice.chance(0.4):
        made["flag"] = dice.one([True, False])
    if dice.chance(0.3):
        made["deep"] = {"x": dice.one([1, 2]), "y": ["p", {"q": 1}]}
    return made


def conditions(dice: Dice) -> dict[str, Any]:
    """A filter of values, of what every store of the peer understands."""
    made: dict[str, Any] = {}
    for _ in range(dice.number(1, 2)):
        if dice.chance(0.5):
            made["n"] = dice.one([0, 1, 2.5])
        if dice.chance(0.4):
            made["n"] = {dice.one(OPERATORS[2:]): dice.one([1, 2, 2.5])}
        if dice.chance(0.4):
            made["t"] = dice.one(["a", "b", ""])
        if dice.chance(0.2):
            made["flag"] = dice.one([True, False])
    return made


def page(dice: Dice) -> str:
    """Arguments of limits and offsets."""
    made = ""
    if dice.chance(0.4):
        made += f", limit={dice.one([1, 2, 5, 100])}"
    if dice.chance(0.3):
        made += f", offset={dice.one([0, 1, 2, 50])}"
    return made


def part(dice: Dice) -> tuple[str, ...]:
    """A prefix or suffix of a namespace, with wildcards now and then."""
    whole = dice.one(SPACES)
    cut = whole[: dice.number(1, len(whole))] if dice.chance(0.6) else whole[-1:]
    return tuple("*" if dice.chance(0.2) else label for label in cut)


def listing(dice: Dice) -> str:
    """The arguments of a list of namespaces."""
    made = []
    if dice.chance(0.5):
        made.append(f"prefix={part(dice)!r}")
    if dice.chance(0.3):
        made.append(f"suffix={part(dice)!r}")
    if dice.chance(0.4):
        made.append(f"max_depth={dice.one([1, 2, 3, 5])}")
    if dice.chance(0.3):
        made.append(f"limit={dice.one([1, 3, 100])}, offset={dice.one([0, 1, 4])}")
    return ", ".join(made)


def searching(dice: Dice, sqlite: bool) -> str:
    """The arguments of a search; SQLite leaves the order open, so that pages would differ."""
    space = dice.one([(), dice.one(SPACES), dice.one(SPACES)[:1]])
    made = repr(space)
    if dice.chance(0.6):
        made += f", filter={conditions(dice)!r}"
    return made + (", limit=100" if sqlite else page(dice))


def operation(dice: Dice, sqlite: bool, sync: bool) -> str:
    """A call of the store, and what makes its result plain."""
    space, key = dice.one(SPACES), dice.one(KEYS)
    kind = dice.weighted(
        put=8, delete=2, get=2.5, search=3, list_namespaces=2.6, batch=2.4, sweep_ttl=sqlite
    )
    refresh = f", refresh_ttl={dice.chance(0.5)}" if sqlite and dice.chance(0.4) else ""
    around = "unordered" if kind == "search" and sqlite else "plain"
    if kind == "put":
        given = f"{space!r}, {key!r}, {value(dice)!r}"
        if sqlite and dice.chance(0.4):
            given += f", ttl={dice.one(LIVES)}"
    elif kind == "delete":
        given = f"{space!r}, {key!r}"
    elif kind == "get":
        given = f"{space!r}, {key!r}{refresh}"
    elif kind == "search":
        given = searching(dice, sqlite) + refresh
    elif kind == "list_namespaces":
        given = listing(dice)
    elif kind == "batch":
        operations = [op(dice, sqlite) for _ in range(dice.number(1, 4))]
        given = f"[{', '.join(operations)}]"
    else:
        given = ""
    if sync:
        return f"{around}(store.{kind}({given}))"
    method = kind if kind == "sweep_ttl" else f"a{kind}"  # a coroutine of the async store
    return f"a{around}(store.{method}({given}))"


def op(dice: Dice, sqlite: bool) -> str:
    """An operation of a batch."""
    space, key = dice.one(SPACES), dice.one(KEYS)
    kind = dice.number(0, 4)
    if kind == 0:
        return f"GetOp({space!r}, {key!r})"
    if kind <= 2 or (kind == 3 and sqlite):
        written = dice.one([value(dice), value(dice), None])
        return f"PutOp({space!r}, {key!r}, {written!r})"
    if kind == 3:
        return f"SearchOp({searching(dice, sqlite)})"
    match = f"[MatchCondition({dice.one(['prefix', 'suffix'])!r}, {part(dice)!r})]"
    return f"ListNamespacesOp(match_conditions={match}, max_depth={dice.one([None, 1, 2])})"
