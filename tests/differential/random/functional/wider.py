"""Wider programs of the functional API: futures in every form, tasks under graphs and tools."""

from tests.differential.random.dice import Dice

from .programs import HEAD, RETRIES, Writer, indented

MORE_HEAD = """\
import concurrent.futures
import operator
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import StreamWriter


class Log(TypedDict, total=False):
    log: Annotated[list, operator.add]


"""
RESULTS = ("brief([{name!r}, x])", "x", "None", "0", "{{'of': {name!r}, 'x': brief(x)}}", "[x]")
PROVIDED = {
    "config: RunnableConfig": "sorted(config['configurable'].get('thread_id') or '')",
    "runtime: Runtime": "runtime.context",
    "writer: StreamWriter": "writer({'told': brief(x)})",
    "store": "store is not None",
    "previous": "brief(previous)",
}
"""What a task may ask of its run, and what it does with it."""
GRAPH_INPUTS = ("{'log': ['in']}", "{'log': []}", "{'log': [1, {'a': 2}]}")


def text(dice: Dice) -> str:
    """A program; its one case is `case_random`."""
    return _Wider(dice).program()


class _Wider(Writer):
    """Writes programs whose tasks take more, give more, and are called from more places."""

    head = HEAD + MORE_HEAD

    def __init__(self, dice: Dice) -> None:
        super().__init__(dice)
        self._rooted = dice.chance(0.3)
        """Whether the root is a graph, whose nodes call tasks."""
        if self._rooted:
            self.inputs = GRAPH_INPUTS
        self._sync: set[str] = set()
        self._around: list[str] = []
        """Statements that call a tool or a graph whose code calls a task."""
        self._failing: list[str] = []

    def lines(self) -> list[str]:
        dice = self._dice
        lines: list[str] = []
        for number in range(dice.number(2, 4)):
            lines += [*self._task(f"t{number}"), ""]
        if dice.chance(0.25):
            lines += [*self._inner(), ""]
        if self._calm and dice.chance(0.3):
            lines += [*self._tool(), ""]
        if self._calm and dice.chance(0.3):
            lines += [*self._graph_inside(), ""]
        lines += self._root_graph() if self._rooted else self._entrypoint()
        return [*lines, "return root"]

    # --- code ------------------------------------------------------------------------------------

    def _task(self, name: str) -> list[str]:
        dice = self._dice
        options: list[str] = []
        body: list[str] = []
        parameters = "x"
        calm = True
        sync = self._aio and dice.chance(0.2)
        if not self._asks and not self._trouble and dice.chance(0.5):
            self._trouble, calm = True, False
            self._failing.append(name)
            body.append(self._fails(name, sync))
            if dice.chance(0.3):
                options.append(f"retry_policy={RETRIES}")
        elif self._calm and not sync and dice.chance(0.35):
            body += self._calls_others()
            calm = False
        if self._asks and dice.chance(0.4):
            for number in range(dice.number(1, 2)):
                body += [self._ask(f"answer{number}", repr(name)), f"x = [x, answer{number}]"]
            calm = False
        if dice.chance(0.2):
            parameters += ", by=2"
            body.append("x = [brief(x), by]")
        if dice.chance(0.3):
            provided = dice.one(list(PROVIDED))
            parameters += f", *, {provided}"
            body.append(f"x = [brief(x), {PROVIDED[provided]}]")
        if dice.chance(0.15):
            body.append(f"get_stream_writer()(['{name}', brief(x)])")
        if calm and dice.chance(0.15):
            options.append("cache_policy=CachePolicy(key_func=lambda *a, **k: brief([a, k]))")
        body.append(f"return {dice.one(RESULTS).format(name=name)}")
        self._tasks.append(name)
        if calm:
            self._calm.append(name)
        if sync:
            self._sync.add(name)
        aio = "async " if self._aio and not sync else ""
        return [f"@task({', '.join(options)})", f"{aio}def {name}({parameters}):", *indented(body)]

    def _fails(self, name: str, sync: bool) -> str:
        """One call of a task fails: what it gave is an argument of others, and would be another
        when the run goes on ("Other arguments on replay")."""
        maybe = "await trouble.amaybe" if self._aio and not sync else "trouble.maybe"
        return f"{maybe}({name!r}, {self._dice.number(1, 4)})"

    def _calls_others(self) -> list[str]:
        """Statements of a task that calls another, once or several times at once."""
        name = self._dice.one(self._calm)
        if self._dice.chance(0.6):
            return [f"x = {self._wait(f'{name}(x)')}"]
        return self._gathered("x", f"[{name}([n, brief(x)]) for n in range(2)]")

    def _tool(self) -> list[str]:
        aio, name = ("async " if self._aio else ""), self._dice.one(self._calm)
        run = "await lookup.ainvoke" if self._aio else "lookup.invoke"
        self._around.append(f"v = {run}({{'x': brief(v)}})")
        return [
            "@tool",
            f"{aio}def lookup(x: str) -> str:",
            '    """Looks up."""',
            f"    return brief({self._wait(f'{name}(x)')})",
        ]

    def _graph_inside(self) -> list[str]:
        aio, name = ("async " if self._aio else ""), self._dice.one(self._calm)
        run = "await inside.ainvoke" if self._aio else "inside.invoke"
        self._around.append(f"v = {run}({{'log': [brief(v)]}})['log']")
        return [
            f"{aio}def step(state):",
            f"    return {{'log': [brief({self._wait(name + '(state)')})]}}",
            "",
            "inside = StateGraph(Log).add_sequence([step])",
            "inside = inside.add_edge(START, 'step').compile()",
        ]

    def _root_graph(self) -> list[str]:
        lines: list[str] = []
        names = [f"node{number}" for number in range(self._dice.number(1, 3))]
        for name in names:
            body = ["v = state['log']"]
            for _ in range(self._dice.number(1, 3)):
                body += self._statement()
            aio = "async " if self._aio else ""
            body.append("return {'log': [brief(v)]}")
            lines += [f"{aio}def {name}(state):", *indented(body), ""]
        return [
            *lines,
            "root = StateGraph(Log)",
            f"root.add_sequence([{', '.join(names)}])",
            "root.add_edge(START, 'node0')",
            "root = root.compile(checkpointer=saver, store=store, cache=InMemoryCache())",
        ]

    def _statement(self) -> list[str]:
        dice = self._dice
        kind = dice.weighted(
            plain=6,
            around=3 * bool(self._around),
            named=1,
            completed=1,
            kept=1,
            looked=2 * bool(self._failing),
            together=2 * bool(self._failing),
            beside=1,
            nested=1,
        )
        if kind == "around":
            return [dice.one(self._around)]
        if kind == "named" and self._tasks:
            return [f"v = {self._wait(f'{dice.one(self._tasks)}(x=v)')}"]
        if kind == "completed" and self._calm:
            return self._completed(dice.one(self._calm))
        if kind == "kept" and len(self._calm) > 1:
            first, second = dice.mixed(self._calm, 2, 2)
            calls = [f"one = {first}(brief(v))", f"two = {second}([brief(v)])"]
            wait = ("await two", "await one") if self._aio else ("two.result()", "one.result()")
            return [*calls, f"v = [{wait[0]}, {wait[1]}]"]
        if kind == "looked":
            return self._looked(dice.one(self._failing))
        if kind == "together":
            return self._together(dice.one(self._failing))
        if kind == "beside" and self._calm:
            begun = [f"one = {dice.one(self._calm)}(brief(v))"]
            wait = "await one" if self._aio else "one.result()"
            return [*begun, *super()._statement(), f"v = [brief(v), {wait}]"]
        if kind == "nested":
            inside = self._statement()
            return ["for n in range(2):", *indented(inside), "    v = [n, brief(v)]"]
        return super()._statement()

    def _gathered(self, name: str, calls: str) -> list[str]:
        if self._aio:
            return [f"{name} = list(await asyncio.gather(*{calls}))"]
        return [f"{name} = [each.result() for each in {calls}]"]

    def _completed(self, name: str) -> list[str]:
        """Tasks heard as they end; sorted, for that is any order."""
        calls = f"[{name}([n, brief(v)]) for n in range({self._dice.number(1, 3)})]"
        if self._aio:
            of = f"[brief(await each) for each in asyncio.as_completed({calls})]"
        else:
            of = f"[brief(each.result()) for each in concurrent.futures.as_completed({calls})]"
        return [f"v = sorted({of})"]

    def _looked(self, name: str) -> list[str]:
        """A future whose error is looked at."""
        wait = "await asyncio.wait([each])" if self._aio else "concurrent.futures.wait([each])"
        return [
            f"each = {name}(brief(v))",
            wait,
            "v = [type(each.exception()).__name__] if each.exception() else each.result()",
        ]

    def _together(self, name: str) -> list[str]:
        """A task that may fail, and whose error is a result."""
        if self._aio:
            return [f"v = brief(await asyncio.gather({name}(brief(v)), return_exceptions=True))"]
        calls = f"[{name}(brief(v))]"
        return [f"v = brief([each.exception() or each.result() for each in {calls}])"]
