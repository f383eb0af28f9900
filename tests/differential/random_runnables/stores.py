"""Random sequences of operations of stores, in memory and in SQLite."""

from random import Random
from typing import Any

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


def lines(choose: Random) -> list[str]:
    """A store, and operations on it, of which each result is noted."""
    sqlite = choose.random() < 0.5
    made = ["env.kind = 'sqlite'"] if sqlite else []
    made.append("store = env.store()")
    # "Namespaces of deleted items": each holds one that stays.
    made.append(f"for space in {SPACES!r}: store.put(space, 'stays', {value(choose)!r})")
    sync = sqlite or choose.random() < 0.5
    for _ in range(choose.randint(3, 12)):
        call = operation(choose, sqlite, sync)
        made.append(f"look(lambda: {call})" if sync else f"await alook({call})")
    return made


def value(choose: Random) -> dict[str, Any]:
    """The value of an item: fields of one type each, so that every store can compare them."""
    made: dict[str, Any] = {"n": choose.choice([0, 1, 2, 2.5, 10])}
    if choose.random() < 0.6:
        made["t"] = choose.choice(["a", "b", "ab", "", "é"])
    if choose.random() < 0.4:
        made["flag"] = choose.choice([True, False])
    if choose.random() < 0.3:
        made["deep"] = {"x": choose.choice([1, 2]), "y": ["p", {"q": 1}]}
    return made


def conditions(choose: Random) -> dict[str, Any]:
    """A filter of values, of what every store of the peer understands."""
    made: dict[str, Any] = {}
    for _ in range(choose.randint(1, 2)):
        if choose.random() < 0.5:
            made["n"] = choose.choice([0, 1, 2.5])
        if choose.random() < 0.4:
            made["n"] = {choose.choice(OPERATORS[2:]): choose.choice([1, 2, 2.5])}
        if choose.random() < 0.4:
            made["t"] = choose.choice(["a", "b", ""])
        if choose.random() < 0.2:
            made["flag"] = choose.choice([True, False])
    return made


def page(choose: Random) -> str:
    """Arguments of limits and offsets."""
    made = ""
    if choose.random() < 0.4:
        made += f", limit={choose.choice([1, 2, 5, 100])}"
    if choose.random() < 0.3:
        made += f", offset={choose.choice([0, 1, 2, 50])}"
    return made


def part(choose: Random) -> tuple[str, ...]:
    """A prefix or suffix of a namespace, with wildcards now and then."""
    whole = choose.choice(SPACES)
    cut = whole[: choose.randint(1, len(whole))] if choose.random() < 0.6 else whole[-1:]
    return tuple("*" if choose.random() < 0.2 else label for label in cut)


def listing(choose: Random) -> str:
    """The arguments of a list of namespaces."""
    made = []
    if choose.random() < 0.5:
        made.append(f"prefix={part(choose)!r}")
    if choose.random() < 0.3:
        made.append(f"suffix={part(choose)!r}")
    if choose.random() < 0.4:
        made.append(f"max_depth={choose.choice([1, 2, 3, 5])}")
    return ", ".join(made)


def searching(choose: Random, sqlite: bool) -> str:
    """The arguments of a search; SQLite leaves the order open, so that pages would differ."""
    space = choose.choice([(), choose.choice(SPACES), choose.choice(SPACES)[:1]])
    made = repr(space)
    if choose.random() < 0.6:
        made += f", filter={conditions(choose)!r}"
    return made + (", limit=100" if sqlite else page(choose))


def operation(choose: Random, sqlite: bool, sync: bool) -> str:
    """A call of the store, and what makes its result plain."""
    space, key = choose.choice(SPACES), choose.choice(KEYS)
    kind = choose.random()
    around = "plain"
    if kind < 0.4:
        call = f"put({space!r}, {key!r}, {value(choose)!r})"
    elif kind < 0.5:
        call = f"delete({space!r}, {key!r})"
    elif kind < 0.6:
        call = f"get({space!r}, {key!r})"
    elif kind < 0.75:
        call = f"search({searching(choose, sqlite)})"
        around = "unordered" if sqlite else "plain"
    elif kind < 0.88:
        call = f"list_namespaces({listing(choose)})"
    else:
        operations = [op(choose, sqlite) for _ in range(choose.randint(1, 4))]
        call = f"batch([{', '.join(operations)}])"
    return f"{around}(store.{call})" if sync else f"aplain(store.a{call})"


def op(choose: Random, sqlite: bool) -> str:
    """An operation of a batch."""
    space, key = choose.choice(SPACES), choose.choice(KEYS)
    kind = choose.randint(0, 4)
    if kind == 0:
        return f"GetOp({space!r}, {key!r})"
    if kind <= 2 or (kind == 3 and sqlite):
        written = choose.choice([value(choose), value(choose), None])
        return f"PutOp({space!r}, {key!r}, {written!r})"
    if kind == 3:
        return f"SearchOp({searching(choose, sqlite)})"
    match = f"[MatchCondition({choose.choice(['prefix', 'suffix'])!r}, {part(choose)!r})]"
    return f"ListNamespacesOp(match_conditions={match}, max_depth={choose.choice([None, 1, 2])})"
