"""Runnables do what langchain_core's do: one program, run under both import roots."""

import asyncio
import threading
from types import SimpleNamespace
from uuid import UUID

import langchain_core.callbacks
import langchain_core.runnables
import pytest

import plait.callbacks
import plait.runnables
from plait.errors import GraphRecursionError
from plait.runnables import Runnable, RunnableLambda, RunnablePassthrough, coerce_to_runnable

OURS = SimpleNamespace(**{n: getattr(plait.runnables, n) for n in plait.runnables.__all__},
                       Handler=plait.callbacks.BaseCallbackHandler,
                       dispatch=plait.callbacks.dispatch_custom_event,
                       adispatch=plait.callbacks.adispatch_custom_event)  # fmt: skip
THEIRS = SimpleNamespace(**{n: getattr(langchain_core.runnables, n, None)
                            for n in plait.runnables.__all__},
                         Handler=langchain_core.callbacks.BaseCallbackHandler,
                         dispatch=langchain_core.callbacks.dispatch_custom_event,
                         adispatch=langchain_core.callbacks.adispatch_custom_event)  # fmt: skip


def recorder(lib, events):
    """A handler that writes events with run ids replaced by the order of their appearance."""
    ids = {None: None}

    class Recorder(lib.Handler):
        raise_error = True
        run_inline = True

        def __getattribute__(self, name):
            if not name.startswith("on_"):
                return super().__getattribute__(name)

            def record(*args, run_id, parent_run_id=None, tags=None, metadata=None, **kwargs):
                values = [repr(a) if isinstance(a, BaseException) else a for a in args]
                run, parent = (ids.setdefault(i, len(ids)) for i in (run_id, parent_run_id))
                events.append((name, values, run, parent, tags, metadata, kwargs.get("name")))

            return record

    return Recorder()


def on_both(program):
    """What the program gives and what a handler hears, checked to be the same on both."""
    seen = []
    for lib in (OURS, THEIRS):
        events = []
        config = {"callbacks": [recorder(lib, events)], "tags": ["t"], "metadata": {"m": 1},
                  "run_name": "RN", "configurable": {"a": 1}}  # fmt: skip
        try:
            result = program(lib, config)
        except Exception as error:
            result = repr(error)
        seen.append((result, events))
    assert seen[0] == seen[1]
    return seen[0]


def add(x, y=1):
    return x + y


async def aadd(x):
    return x + 10


def twice(x):
    yield x
    yield x


def boom(x):
    raise KeyError(x)


PROGRAMS = {
    "lambda": lambda r, c: r.RunnableLambda(add).invoke(1, c),
    "lambda async": lambda r, c: asyncio.run(r.RunnableLambda(add).ainvoke(1, c)),
    "lambda afunc": lambda r, c: asyncio.run(r.RunnableLambda(add, aadd).ainvoke(1, c)),
    "sequence": lambda r, c: (r.RunnableLambda(add) | add | r.RunnableLambda(str)).invoke(1, c),
    "sequence async": lambda r, c: asyncio.run((r.RunnableLambda(add) | aadd).ainvoke(1, c)),
    "function first": lambda r, c: (add | r.RunnableLambda(str)).invoke(1, c),
    "pipe": lambda r, c: r.RunnableLambda(add).pipe(add, add).invoke(1, c),
    "error": lambda r, c: (r.RunnableLambda(add) | boom).invoke(1, c),
    "error async": lambda r, c: asyncio.run((r.RunnableLambda(add) | boom).ainvoke(1, c)),
    "nested": lambda r, c: r.RunnableLambda(lambda x: r.RunnableLambda(add).invoke(x)).invoke(1, c),
    "nested async": lambda r, c: asyncio.run(
        r.RunnableLambda(lambda x: r.RunnableLambda(add).invoke(x)).ainvoke(1, c)
    ),
    "returns runnable": lambda r, c: r.RunnableLambda(lambda x: r.RunnableLambda(add)).invoke(1, c),
    "passthrough": lambda r, c: r.RunnablePassthrough().invoke(1, c),
    "passthrough func": lambda r, c: r.RunnablePassthrough(lambda x: None).invoke(1, c),
    "with_config": lambda r, c: r.RunnableLambda(add)
    .with_config(tags=["w"], run_name="W", metadata={"q": 1})
    .invoke(1, {"callbacks": c["callbacks"], "tags": ["t"]}),
    "bind": lambda r, c: r.RunnableLambda(add).bind(y=5).invoke(1, c),
    "custom event": lambda r, c: r.RunnableLambda(lambda x: r.dispatch("e", {"x": x})).invoke(1, c),
    "config argument": lambda r, c: r.RunnableLambda(
        lambda x, config: sorted(config["configurable"])
    ).invoke(1, c),
    "run id": lambda r, c: r.RunnableLambda(add).invoke(1, {**c, "run_id": UUID(int=1)}),
    "generator": lambda r, c: r.RunnableLambda(twice).invoke(1, c),
    "batch": lambda r, c: r.RunnableLambda(add).batch([1, 2], {**c, "max_concurrency": 1}),
    "batch errors": lambda r, c: repr(
        r.RunnableLambda(lambda x: 1 / x).batch([1, 0], return_exceptions=True)
    ),
    "batch error": lambda r, c: r.RunnableLambda(lambda x: 1 / x).batch([1, 0]),
    "empty batch": lambda r, c: r.RunnableLambda(add).batch([]),
    "abatch": lambda r, c: asyncio.run(r.RunnableLambda(add).abatch([1, 2], c | {"callbacks": []})),
    "names": lambda r, c: [
        r.RunnableLambda(add).get_name(),
        r.RunnableLambda(lambda x: x).get_name(),
        r.RunnableLambda(lambda x: x, name="q").get_name(),
        (r.RunnableLambda(add) | add).get_name(),
        r.RunnableLambda(add).bind(y=1).get_name(),
        r.RunnablePassthrough().get_name("Input"),
        r.RunnableLambda(add).get_name("Input", name="N"),
        r.RunnableLambda(add).get_name("Input"),
    ],
    "equality": lambda r, c: r.RunnableLambda(add) == r.RunnableLambda(add),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_and_tells_what_the_peer_does(name):
    on_both(PROGRAMS[name])


def test_streams_give_the_chunks_of_the_peer():
    def numbers(x):
        yield x
        yield x + 1

    async def anumbers(x):
        yield x
        yield x + 10

    async def collect(stream):
        return [chunk async for chunk in stream]

    def program(lib, config):
        one = lib.RunnableLambda(numbers, anumbers)
        two = lib.RunnableLambda(add) | one
        return [
            list(one.stream(1)),
            list(two.stream(1)),
            list(lib.RunnableLambda(add).stream(1)),
            asyncio.run(collect(one.astream(1))),
            asyncio.run(collect(lib.RunnableLambda(add).astream(1))),
        ]

    on_both(program)


def test_a_run_that_nobody_hears_still_hands_its_config_to_its_children():
    inner = RunnableLambda(lambda x, config: (config["tags"], config["configurable"]))
    outer = RunnableLambda(lambda x: inner.invoke(x))
    config = {"tags": ["t"], "configurable": {"a": 1}, "run_name": "n"}
    assert outer.invoke(1, config) == (["t"], {"a": 1})
    assert asyncio.run(outer.ainvoke(1, config)) == (["t"], {"a": 1})
    assert plait.runnables.config.var_child_runnable_config.get() is None


def test_the_config_of_a_generator_does_not_leak_to_its_reader():
    async def agen(x):
        yield plait.runnables.ensure_config()["tags"]
        yield plait.runnables.ensure_config()["tags"]

    async def read():
        outside, inside = [], []
        async for tags in RunnableLambda(agen).astream(1, {"tags": ["in"]}):
            inside.append(tags)
            outside.append(plait.runnables.ensure_config()["tags"])
        return inside, outside

    assert asyncio.run(read()) == ([["in"], ["in"]], [[], []])

    def gen(x):
        yield plait.runnables.ensure_config()["tags"]

    for tags in RunnableLambda(gen).stream(1, {"tags": ["in"]}):
        assert tags == ["in"]
        assert plait.runnables.ensure_config()["tags"] == []


def test_custom_events_outside_a_run_are_refused_and_inside_an_unheard_one_cost_nothing():
    with pytest.raises(RuntimeError, match="inside a run"):
        plait.callbacks.dispatch_custom_event("e", 1)
    assert RunnableLambda(lambda x: OURS.dispatch("e", x)).invoke(1) is None


def test_an_async_function_cannot_be_invoked_synchronously():
    with pytest.raises(TypeError, match="Use `ainvoke`"):
        RunnableLambda(aadd).invoke(1)


def test_what_is_neither_runnable_nor_callable_is_refused():
    with pytest.raises(TypeError, match="Expected a Runnable, callable or dict"):
        coerce_to_runnable(3)
    with pytest.raises(TypeError, match="Expected a callable"):
        RunnableLambda(3)
    with pytest.raises(ValueError, match="at least 2 steps"):
        plait.runnables.RunnableSequence(add)


def test_runnables_that_return_runnables_forever_are_stopped():
    forever = RunnableLambda(lambda x: forever)
    with pytest.raises(GraphRecursionError):
        forever.invoke(1, {"recursion_limit": 5})


def test_a_batch_never_runs_more_than_max_concurrency_at_once_and_keeps_order():
    running, most, lock, full = 0, 0, threading.Lock(), threading.Event()

    def watch(x):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if running == 3:
                full.set()
        full.wait(10)
        with lock:
            running -= 1
        return x

    inputs = list(range(30))
    assert RunnableLambda(watch).batch(inputs, {"max_concurrency": 3}) == inputs
    assert most == 3


async def test_an_abatch_never_runs_more_than_max_concurrency_at_once():
    running, most = 0, 0

    async def watch(x):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return x

    inputs = list(range(30))
    assert await RunnableLambda(watch).abatch(inputs, {"max_concurrency": 3}) == inputs
    assert most == 3


async def test_a_failing_abatch_cancels_the_others_and_raises():
    ended, all_run = [], asyncio.Barrier(3)

    async def work(x):
        await all_run.wait()
        if x == 1:
            raise KeyError(x)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(x)
            raise

    with pytest.raises(KeyError):
        await RunnableLambda(work).abatch([0, 1, 2])
    assert sorted(ended) == [0, 2]


def test_the_error_of_the_earliest_input_is_raised_whichever_failed_first():
    second_failed = threading.Event()

    def work(x):
        if x == 0:
            second_failed.wait(10)
        else:
            second_failed.set()
        raise KeyError(x)

    with pytest.raises(KeyError, match="0"):
        RunnableLambda(work).batch([0, 1], {"max_concurrency": 2})


def test_a_subclass_with_slots_has_no_dict():
    class Slim(Runnable):
        __slots__ = ("value",)

        def invoke(self, input, config=None, **kwargs):
            return input

    assert not hasattr(Slim(), "__dict__")
    assert Slim().get_name() == "Slim"
    assert asyncio.run(Slim().ainvoke(1)) == 1


def test_langchain_runnables_are_steps_of_ours():
    theirs = langchain_core.runnables.RunnableLambda(add)
    assert (RunnableLambda(add) | theirs).invoke(1) == 3
    assert (RunnablePassthrough() | theirs | add).batch([1, 2]) == [3, 4]
    events = []
    (RunnableLambda(add) | theirs).invoke(1, {"callbacks": [recorder(OURS, events)]})
    assert [(event[0], event[2]) for event in events] == [
        ("on_chain_start", 1),
        ("on_chain_start", 2),
        ("on_chain_end", 2),
        ("on_chain_start", 3),
        ("on_chain_end", 3),
        ("on_chain_end", 1),
    ]
