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


def lines(dice: Dice) -> list[str]:
    """A store, and operations on it, of which each result is noted."""
    sqlite = dice.chance(0.5)
    made = ["env.kind = 'sqlite'"] if sqlite else []
    made.append("store = env.store()")
    # "Namespaces of deleted items": each holds one that stays.
    made.append(f"for space in {SPACES!r}: store.put(space, 'stays', {value(dice)!r})")
    sync = sqlite or dice.chance(0.5)
    for _ in range(dice.number(3, 12)):
        call = operation(dice, sqlite, sync)
        made.append(f"look(lambda: {call})" if sync else f"await alook({call})")
    return made


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
    kind = dice.share()
    around = "plain"
    if kind < 0.4:
        call = f"put({space!r}, {key!r}, {value(dice)!r})"
    elif kind < 0.5:
        call = f"delete({space!r}, {key!r})"
    elif kind < 0.6:
        call = f"get({space!r}, {key!r})"
    elif kind < 0.75:
        call = f"search({searching(dice, sqlite)})"
        around = "unordered" if sqlite else "plain"
    elif kind < 0.88:
        call = f"list_namespaces({listing(dice)})"
    else:
        operations = [op(dice, sqlite) for _ in range(dice.number(1, 4))]
        call = f"batch([{', '.join(operations)}])"
    return f"{around}(store.{call})" if sync else f"aplain(store.a{call})"


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
