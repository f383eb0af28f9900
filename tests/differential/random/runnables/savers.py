"""Random sequences of calls of a saver, in memory and in SQLite: what is put is found again."""

from typing import Any

from tests.differential.random.dice import Dice

THREADS = ("t", "u", "t/u")
SPACES = ("", "", "", "child:1", "child:1|deep:2")
CHANNELS = ("x", "items", "msgs", "é", "__start__", "branch:to:a")
SPECIAL = ("__error__", "__interrupt__", "__resume__", "__scheduled__", "__no_writes__")
TASKS = {"task1": "~b", "task2": "", "task3": "~a"}
"""Tasks and their paths."""
VALUES = (
    *("0", "1", "-2", "2.5", "True", "None", "''", "'hi'", "'é \\x00'", "b'\\x00\\xff'"),
    *("[]", "[1, 'two', None]", "{'a': [1, {'b': 2}]}", "{}", "{1, 2}"),
    *("[HumanMessage('hi', id='1')]", "[AIMessage('yo', id='2'), HumanMessage('hi', id='1')]"),
    *("Document(page_content='d', metadata={'k': 1})", "Send('a', {'x': 1})"),
)
FACTS = (
    *({"source": one} for one in ("input", "loop", "update", "fork")),
    *({"step": one} for one in (-1, 0, 1, 2, 3)),
    *({"user": one} for one in ("ann", "bob", "it's", "", "é")),
    *({"flag": one} for one in (True, False)),
    *({"ratio": one} for one in (0.5, 2.5)),
    {"run_id": "r1"},
)
"""What metadata say and filters ask for: of one type each ("Filters of metadata")."""
MORE_FACTS = (*FACTS, {"user": None}, {"deep": {"a": [1, None]}})


def lines(dice: Dice) -> list[str]:
    """A saver, and calls of it, of which each result is noted."""
    desk = Desk(dice)
    kind = dice.one(["memory", "sqlite"])
    calls = [desk.put() for _ in range(dice.number(1, 4))]
    calls += [desk.call() for _ in range(dice.number(4, 16))]
    if dice.chance(0.5):
        return [
            f"env.kind = {kind!r}",
            "async with env.asaver() as saver:",
            *(f"    await alook(a{call})" for call in calls),
        ]
    # Another saver on the same database finds what this one put.
    again = ["saver = env.saver()", *(f"look(lambda: {desk.look()})" for _ in range(2))]
    return [
        f"env.kind = {kind!r}",
        "saver = env.saver()",
        *(f"look(lambda: {call})" for call in calls),
        *again,
    ]


class Desk:
    """Draws calls, and knows what the checkpoints hold: each goes on from one before it."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._known: dict[tuple[str, str], dict[int, dict[str, tuple[str, int]]]] = {}
        """Of each lane, the channels of its checkpoints: value and version."""
        self._newest = 0
        self._built_on: set[int] = set()
        """The checkpoints that others were made from: their values are shared."""
        self._written: set[Any] = set()
        """Which tasks of which checkpoints have written: a task writes once."""

    def call(self) -> str:
        """One call, and what makes its result plain."""
        kind = self._dice.weighted(put=4, writes=4, look=6, delete=0.3)
        if kind == "put":
            return self.put()
        if kind == "writes":
            return self._writes()
        if kind == "delete":
            thread = self._dice.one(THREADS)
            for lane in [lane for lane in self._known if lane[0] == thread]:
                del self._known[lane]
            return f"delete_thread(saver, {thread!r})"
        return self.look()

    def put(self) -> str:
        """A checkpoint after one of its lane, or the first of it."""
        dice = self._dice
        lane = self._lane()
        parents = self._known.setdefault(lane, {})
        parent = dice.one([*parents][-2:]) if parents else None
        again = parent is not None and parent not in self._built_on and dice.chance(0.1)
        self._newest += 1
        number = parent if again and parent else self._newest
        channels = dict(parents[parent]) if parent is not None else {}
        changed = dice.some(CHANNELS, 0, 3)
        for channel in changed:
            channels[channel] = (dice.one(VALUES), self._newest)
        parents[number] = channels
        if parent is not None and not again:
            self._built_on.add(parent)
        held = ", ".join(f"{k!r}: ({v}, {version})" for k, (v, version) in channels.items())
        facts: dict[str, Any] = {"source": "loop", "step": number, "parents": {}}
        for fact in dice.some(MORE_FACTS, 0, 3):
            facts |= fact
        at = None if again else parent
        return f"put(saver, {self._config(lane, at)}, {number}, {{{held}}}, {changed}, {facts})"

    def look(self) -> str:
        """A checkpoint that is read, or several."""
        dice = self._dice
        lane = self._lane()
        if dice.chance(0.5):
            return f"found(saver, {self._config(lane, self._some(lane))})"
        options = ""
        if dice.chance(0.4):
            wanted: dict[str, Any] = {}
            for fact in dice.some(FACTS, 1, 2):
                wanted |= fact
            options += f", filter={wanted}"
        if dice.chance(0.15):  # of several lanes the order is open, and so is where a page ends
            several = dice.one(["None", f"{{'configurable': {{'thread_id': {lane[0]!r}}}}}"])
            return f"unordered_list(saver, {several}{options})"
        if dice.chance(0.3):
            before = dice.number(1, self._newest + 1)
            options += f", before={self._config(lane, before)}"
        if dice.chance(0.4):
            options += f", limit={dice.one([1, 2, 5])}"
        at = self._some(lane) if dice.chance(0.15) else None
        return f"saved_ones(saver, {self._config(lane, at)}{options})"

    def _writes(self) -> str:
        """What a task wrote, or what became of it, which may be said again."""
        dice = self._dice
        lane = self._lane(known=True)
        known = [*self._known.get(lane, ())]
        if not known:
            return self.look()
        number, task = dice.one(known), dice.one([*TASKS])
        special = dice.chance(0.3)
        if not special and (lane, number, task) in self._written:
            return self.look()
        if not special:
            self._written.add((lane, number, task))
        channels = [dice.one(SPECIAL)] if special else dice.mixed(CHANNELS, 1, 3)
        writes = ", ".join(f"({channel!r}, {dice.one(VALUES)})" for channel in channels)
        place = self._config(lane, number)
        return f"put_writes(saver, {place}, [{writes}], {task!r}, {TASKS[task]!r})"

    def _lane(self, *, known: bool = False) -> tuple[str, str]:
        dice = self._dice
        if self._known and (known or dice.chance(0.8)):
            return dice.one([*self._known])
        return dice.one(THREADS) if dice.chance(0.3) else "t", dice.one(SPACES)

    def _some(self, lane: tuple[str, str]) -> int | None:
        """One of the checkpoints of a lane, or one that is in none."""
        if self._dice.chance(0.5):
            return None
        return self._dice.one([*self._known.get(lane, ()), 999])

    def _config(self, lane: tuple[str, str], number: int | None) -> str:
        return f"at({lane[0]!r}, {lane[1]!r}, {number})"
