"""Which programs of the functional API are generated, as text: tasks, an entrypoint, a script."""

from collections.abc import Sequence

from tests.differential.random.dice import Dice

HEAD = """\
import asyncio

from langgraph.cache.memory import InMemoryCache
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.types import CachePolicy, Command, RetryPolicy, interrupt

from tests.differential.random.functional.prelude import brief
from tests.differential.random.graphs.prelude import Planned, play, play_async
"""
MODES = ("values", "updates", "custom", "tasks", "checkpoints", "debug")
INPUTS = ("1", "0", "'in'", "{'a': 1}", "[1, 2]", "True")
RETRIES = "RetryPolicy(max_attempts=2, initial_interval=0, jitter=False, retry_on=Planned)"


def text(dice: Dice) -> str:
    """A program; its one case is `case_random`."""
    return Writer(dice).program()


class Writer:
    """Writes one program.

    It either asks or fails: what the peer lists of a failed task that asked has a row ("Answered
    questions of a failed task").
    """

    head = HEAD
    inputs: Sequence[str] = INPUTS

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._aio = dice.chance(0.5)
        self._saved = dice.chance(0.93)
        self._asks = dice.chance(0.6)
        self._bare = self._asks and dice.chance(0.4)
        """Whether answers name no question: nothing else is done ("Answers after an answer")."""
        self._trouble = False
        self._tasks: list[str] = []
        self._calm: list[str] = []
        """Tasks that neither fail, ask nor call: several may run at once, in any order."""
        self._asked = 0
        self._has_inner = False

    def lines(self) -> list[str]:
        """The body of `build`: tasks, maybe an inner entrypoint, and the root."""
        dice = self._dice
        lines: list[str] = []
        for number in range(dice.number(1, 3)):
            lines += [*self._task(f"t{number}"), ""]
        if dice.chance(0.25):
            lines += [*self._inner(), ""]
        return [*lines, *self._entrypoint(), "return root"]

    def program(self) -> str:
        """The whole program."""
        lines = self.lines()
        aio = ("async ", "await ", "_async") if self._aio else ("", "", "")
        return "\n".join(
            [
                self.head,
                "",
                "def build(saver, store, trouble):",
                *indented(lines),
                "",
                "",
                "async def script(do):",
                *indented(self._script()),
                "",
                "",
                f"{aio[0]}def case_random(env):",
                f"    return {aio[1]}play{aio[2]}(env, build, script, Command, "
                f"saved={self._saved})",
                "",
            ]
        )

    # --- code ------------------------------------------------------------------------------------

    def _task(self, name: str) -> list[str]:
        dice = self._dice
        options: list[str] = []
        body: list[str] = []
        calm = True
        fails = not self._asks and not self._trouble and dice.chance(0.5)
        if fails:
            self._trouble, calm = True, False
            body.append(self._maybe(name))
        inner = dice.one(self._tasks) if self._tasks and dice.chance(0.3) else None
        if inner is not None:
            body.append(f"x = {self._wait(f'{inner}(x)')}")
            calm = False
        elif dice.chance(0.3):
            options.append(f"retry_policy={RETRIES}")
        if self._asks and dice.chance(0.35):
            body += [self._ask("answer", repr(name)), "x = [x, answer]"]
            calm = False
        if dice.chance(0.15):
            body.append(f"get_stream_writer()(['{name}', brief(x)])")
        if calm and inner is None and dice.chance(0.15):
            options.append("cache_policy=CachePolicy()")
        if dice.chance(0.1):
            options.append(f"name='named_{name}'")
        body.append(f"return {dice.one([f'brief([{name!r}, x])', 'x', 'None', '0'])}")
        self._tasks.append(name)
        if calm:
            self._calm.append(name)
        aio = "async " if self._aio else ""
        return [f"@task({', '.join(options)})", f"{aio}def {name}(x):", *indented(body)]

    def _inner(self) -> list[str]:
        """An entrypoint that the other one calls; with memory it has a `previous` of its own."""
        remembers = not (self._asks or self._trouble) and self._dice.chance(0.4)
        parameters = "given, *, previous=None" if remembers else "given"
        body = ["v = [given, previous]" if remembers else "v = given"]
        outside, self._tasks = self._tasks, self._calm  # "Questions of tasks in graphs inside"
        for _ in range(self._dice.number(1, 2)):
            body += self._statement()
        self._tasks, self._has_inner = outside, True
        aio = "async " if self._aio else ""
        return [
            f"@entrypoint({'checkpointer=True' if remembers else ''})",
            f"{aio}def inner({parameters}):",
            *indented([*body, "return brief(v)"]),
        ]

    def _entrypoint(self) -> list[str]:
        dice = self._dice
        previous = dice.chance(0.4)
        body = ["v = [given, previous]" if previous else "v = given"]
        for _ in range(dice.number(1, 4)):
            body += self._statement()
        value = "brief(v)"
        if dice.chance(0.3):
            save = dice.one(["v", "'saved'", "[previous, 1]" if previous else "None"])
            value = f"entrypoint.final(value={value}, save=brief({save}))"
        body.append(f"return {value}")
        aio = "async " if self._aio else ""
        parameters = "given, *, previous=None" if previous else "given"
        return [
            "@entrypoint(checkpointer=saver, store=store, cache=InMemoryCache())",
            f"{aio}def root({parameters}):",
            *indented(body),
        ]

    def _statement(self) -> list[str]:
        dice = self._dice
        kind = dice.weighted(
            call=5,
            fan=2,
            ask=2 * self._asks,
            fail=1,
            custom=0.6,
            attempt=1,
            loop=1,
            choice=1,
            inner=4 * self._has_inner,
        )
        if kind == "inner":
            run = "await inner.ainvoke" if self._aio else "inner.invoke"
            return [f"v = {run}(brief(v))"]
        if kind == "fan" and self._calm:
            calls = f"[{dice.one(self._calm)}([n, brief(v)]) for n in range({dice.number(2, 3)})]"
            if self._aio:
                return [f"v = list(await asyncio.gather(*{calls}))"]
            return [f"v = [each.result() for each in {calls}]"]
        if kind == "ask":
            self._asked += 1
            return [self._ask("answer", str(self._asked)), "v = [brief(v), answer]"]
        if kind == "fail" and not self._asks and not self._trouble:
            self._trouble = True
            return [self._maybe("root")]
        if kind == "custom":
            return ["get_stream_writer()({'v': brief(v)})"]
        if not self._tasks:
            return ["v = [v]"]
        call = f"v = {self._wait(f'{dice.one(self._tasks)}(v)')}"
        if kind == "attempt":
            return ["try:", f"    {call}", "except Planned:", "    v = [brief(v), 'caught']"]
        if kind == "loop":
            return [f"for n in range({dice.number(1, 3)}):", f"    {call}", "    v = [n, brief(v)]"]
        if kind == "choice":
            return ["if len(brief(v)) % 2:", *indented(self._statement())]
        return [call]

    def _wait(self, call: str) -> str:
        return f"await {call}" if self._aio else f"{call}.result()"

    def _maybe(self, name: str) -> str:
        calls = sorted(self._dice.some([1, 2, 3, 4], 1, 2))
        maybe = "await trouble.amaybe" if self._aio else "trouble.maybe"
        return f"{maybe}({name!r}, {', '.join(map(str, calls))})"

    def _ask(self, name: str, of: str) -> str:
        seen = "v" if of.isdigit() else "x"
        return f"{name} = interrupt({{'of': {of}, 'seen': brief({seen})}})"

    # --- script ----------------------------------------------------------------------------------

    def _script(self) -> list[str]:
        if not self._saved:
            return [self._run() for _ in range(self._dice.number(1, 2))]
        return [self._run(), *(self._action() for _ in range(self._dice.number(1, 5)))]

    def _run(self, value: str | None = None, more: str = "") -> str:
        dice = self._dice
        given = value or dice.one(self.inputs)
        if dice.chance(0.4):
            return f"await do.invoke({given}{more})"
        return f"await do.stream({given}, {self._modes()}{more})"

    def _modes(self) -> str:
        dice = self._dice
        return repr(dice.one(MODES) if dice.chance(0.3) else dice.some(MODES, 1, 4))

    def _action(self) -> str:
        dice = self._dice
        also = 0 if self._bare else 1
        kind = dice.weighted(
            run=2.5 * also, resume=5, go_on=3 * also, replay=also, history=0.7, other=0.7 * also
        )
        if kind == "run":
            return self._run()
        if kind == "other":
            return self._run(more=", thread='u'")
        if kind == "go_on":
            return self._run("None")
        if kind == "replay":
            return f"await do.invoke(None, at={dice.number(0, 4)})"
        if kind == "history":
            return f"await do.history(limit={dice.number(1, 3)}, before={dice.number(0, 4)})"
        mapped = not self._bare
        answers = [f"yes{i}" for i in range(dice.number(1, 3) if mapped else 1)]
        modes = f", modes={self._modes()}" if dice.chance(0.4) else ""
        return f"await do.resume({answers}{', mapped=True' if mapped else ''}{modes})"


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]
