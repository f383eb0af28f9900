"""Runnables: what every combinator returns and streams, what it refuses; sync calls."""

import threading
from operator import itemgetter

from langchain_core.runnables import (
    AddableDict,
    RouterRunnable,
    Runnable,
    RunnableBranch,
    RunnableConfig,
    RunnableGenerator,
    RunnableLambda,
    RunnableMap,
    RunnableParallel,
    RunnablePassthrough,
    RunnablePick,
    RunnableSequence,
    RunnableSerializable,
    aadd,
    add,
    chain,
)


def one_more(x):
    return x + 1


def double(x):
    return x * 2


def letters(chunks):
    for chunk in chunks:
        yield from chunk


def upper(chunks):
    for chunk in chunks:
        yield chunk.upper()


class Shout(Runnable):
    def invoke(self, input, config=None, **kwargs):
        return input.upper() + kwargs.get("end", "!")


def case_sequences(env):
    seq = RunnableLambda(one_more) | double | {"a": one_more, "b": lambda x: x}
    piped = RunnableLambda(one_more).pipe(double, one_more, name="piped")
    return [
        seq.invoke(1),
        seq.batch([1, 2, 3]),
        sorted(list(c.items()) for c in seq.transform(iter([1, 2]))),  # whichever comes first
        piped.invoke(1),
        piped.get_name(),
        (piped | one_more).name,
        len((piped | one_more).steps),
        (one_more | RunnableLambda(double)).invoke(3),
        ({"x": one_more} | RunnableLambda(itemgetter("x"))).invoke(3),
        RunnableSequence(one_more, double, name="n").name,
        RunnableSequence(first=RunnableLambda(one_more), last=RunnableLambda(double)).invoke(1),
        env.error(lambda: RunnableSequence(one_more)),
        env.error(lambda: RunnableLambda(one_more) | 5),
        env.error(lambda: 5 | RunnableLambda(one_more)),
        env.error(lambda: RunnableLambda(5)),
    ]


def case_sequence_passes_keywords_to_its_first_step(env):
    return (Shout() | Shout()).invoke("hi", end="?")


def case_names_and_texts(env):
    parts = [
        RunnableLambda(one_more),
        RunnableLambda(one_more) | double,
        RunnableParallel(a=one_more, b=double),
        RunnablePassthrough(),
        RunnablePassthrough.assign(z=one_more),
        RunnablePick("z"),
        RunnablePick(["y", "z"]),
        RunnableLambda(one_more).map(),
        RunnableBranch((one_more, double), one_more),
        RunnableGenerator(letters),
        RouterRunnable({"a": one_more}),
        Shout(),
        Shout().bind(end="?"),
        RunnableLambda(one_more).with_fallbacks([double]) if False else RunnableLambda(double),
    ]
    return [(p.get_name(), p.get_name("input"), p.get_name(name="given")) for p in parts] + [
        repr(p) for p in parts if type(p).__name__ not in ("Shout", "RunnableBinding")
    ]


def case_text_of_a_lambda(env):
    single = RunnableLambda(lambda x: x + 1)
    return [repr(single), repr(RunnableLambda(print))]


def case_parallels(env):
    steps = {"a": one_more, "b": {"c": double, "d": lambda x: -x}}
    return [
        RunnableParallel(steps).invoke(3),
        RunnableParallel(**steps).invoke(3),
        RunnableMap(steps).invoke(3),
        RunnableParallel({"a": one_more}, b=double).invoke(3),
        RunnableParallel(steps).batch([1, 2]),
        RunnableParallel({}).invoke(1),
        sorted(RunnableParallel(steps).invoke(3)),
        env.error(lambda: RunnableParallel(a=5)),
        env.error(lambda: RunnableParallel(a=one_more).invoke("x")),
    ]


def case_parallel_steps_run_at_once(env):
    meet = threading.Barrier(3, timeout=20)

    def wait(x):
        meet.wait()
        return x

    return RunnableParallel(a=wait, b=wait, c=wait).invoke(1)


def case_batch_runs_at_once(env):
    meet = threading.Barrier(3, timeout=20)

    def wait(x):
        meet.wait()
        return x

    return RunnableLambda(wait).batch([1, 2, 3], {"max_concurrency": 3})


def case_streams(env):
    say = RunnableGenerator(letters)
    both = sorted(list(c.items()) for c in RunnableParallel(a=say, b=one_more_text).stream("xyz"))
    return [
        list(say.stream("abc")),
        list((say | upper).stream("abc")),
        list((say | upper | (lambda text: text + "!")).stream("abc")),
        list((RunnableLambda(double) | letters | upper).stream("ab")),
        list(RunnableLambda(one_more).stream(1)),
        list(RunnablePassthrough().transform(iter("abc"))),
        list(Shout().transform(iter("abc"))),
        list(Shout().stream("abc")),
        both,
        list((say | upper).transform(iter(["ab", "cd"]))),
        (say | upper).invoke("abc"),
    ]


def one_more_text(text):
    return text + "+"


def case_assign_and_pick(env):
    add_b = RunnablePassthrough.assign(b=lambda d: d["a"] + 1)
    given = {"a": 1, "c": 3}
    return [
        add_b.invoke(given),
        list(add_b.stream(given)),
        list(add_b.transform(iter([AddableDict({"a": 1}), AddableDict({"c": 3})]))),
        list(RunnablePassthrough.assign(a=lambda d: 9).stream(given)),
        (RunnablePassthrough() | add_b).invoke(given),
        RunnablePassthrough().assign(b=lambda d: 2).invoke(given),
        add_b.pick("b").invoke(given),
        add_b.pick(["a", "b"]).invoke(given),
        list(add_b.pick(["a", "b"]).stream(given)),
        RunnablePick("nope").invoke(given),
        RunnablePick(["nope"]).invoke(given),
        list(RunnablePick("nope").stream(given)),
        list(RunnablePick(["a", "nope"]).stream(given)),
        RunnableLambda(lambda x: {"x": x}).assign(y=lambda d: d["x"] * 2).invoke(4),
    ]


def case_assign_of_nothing_emits_no_none(env):
    return [
        list(RunnablePassthrough.assign().stream({"a": 1})),
        list(RunnablePassthrough.assign().transform(iter([{"a": 1}, {"b": 1}]))),
        RunnablePassthrough.assign().invoke({"a": 1}),
    ]


def case_passthrough_calls_its_function(env):
    seen = []
    tap = RunnablePassthrough(seen.append)
    return [
        tap.invoke(1),
        list(tap.stream(2)),
        list(tap.transform(iter("ab"))),
        tap.batch([3]),
        seen,
    ]


def case_branches(env):
    branch = RunnableBranch(
        (lambda x: isinstance(x, str), lambda x: x.upper()),
        (lambda x: isinstance(x, int), one_more),
        lambda x: "default",
    )
    return [
        branch.invoke("hello"),
        branch.invoke(5),
        branch.invoke(None),
        branch.batch(["a", 1, None]),
        list(branch.stream("ab")),
        list(RunnableBranch((bool, letters), upper).stream("ab")),
        env.error(lambda: RunnableBranch(one_more)),
        env.error(lambda: RunnableBranch((one_more, double))),
        env.error(lambda: RunnableBranch((one_more, double), (one_more, double))),
        env.error(lambda: RunnableBranch(one_more, double)),
        env.error(lambda: RunnableBranch((one_more, double, one_more), double)),
    ]


def case_routers(env):
    router = RouterRunnable({"add": one_more, "double": double})
    return [
        router.invoke({"key": "add", "input": 1}),
        router.batch([{"key": "add", "input": 1}, {"key": "double", "input": 4}]),
        list(router.stream({"key": "double", "input": 4})),
        env.error(lambda: router.invoke({"key": "no", "input": 1})),
    ]


def case_each(env):
    return [
        RunnableLambda(one_more).map().invoke([1, 2]),
        list(RunnableLambda(one_more).map().stream([1, 2])),
        RunnableLambda(one_more).map().batch([[1], [2, 3]]),
        RunnableLambda(one_more).map().map().invoke([[1], [2, 3]]),
        RunnableLambda(one_more).map().invoke([]),
        (RunnableLambda(lambda n: list(range(n))) | RunnableLambda(double).map()).invoke(3),
        Shout().map().bind(end="?").invoke(["a"]),
    ]


def case_generators(env):
    def count(chunks):
        yield sum(len(c) for c in chunks)

    return [
        RunnableGenerator(letters).invoke("abc"),
        RunnableGenerator(letters).batch(["ab", "c"]),
        RunnableGenerator(count).invoke("abc"),
        list(RunnableGenerator(count).transform(iter(["a", "bc"]))),
        (RunnableLambda(double) | count).invoke("ab"),
        RunnableGenerator(letters) == RunnableGenerator(letters),
        env.error(lambda: RunnableGenerator(5)),
    ]


def case_functions_that_return_runnables(env):
    def choose(x):
        return RunnableLambda(one_more) | double if x > 1 else double

    def forever(x):
        return RunnableLambda(forever)

    def stream_it(x):
        return RunnableGenerator(letters)

    return [
        RunnableLambda(lambda x: RunnableLambda(one_more)).invoke(1),
        list(RunnableLambda(stream_it).stream("ab")),
        RunnableLambda(choose).invoke(3),
        env.error(lambda: RunnableLambda(forever).invoke(1)),
        env.error(lambda: list(RunnableLambda(forever).stream(1))),
        env.error(lambda: RunnableLambda(forever).invoke(1, {"recursion_limit": 3})),
    ]


def case_functions_that_take_a_config(env):
    def show(x, config: RunnableConfig):
        return [x, sorted(config), config["tags"], config["metadata"], config["configurable"]]

    config = {"tags": ["t"], "metadata": {"m": 1}, "configurable": {"c": 1}, "run_name": "n"}
    return [
        RunnableLambda(show).invoke(1, config),
        (RunnableLambda(one_more) | show).invoke(1, config),
        RunnableParallel(a=show).invoke(1, config),
        RunnableLambda(lambda x: RunnableLambda(show).invoke(x)).invoke(1, config),
        RunnableLambda(lambda x: RunnableLambda(show).invoke(x, {"tags": ["own"]})).invoke(
            1, config
        ),
        RunnableLambda(show).batch([1, 2], [{"tags": ["1"]}, {"tags": ["2"]}]),
        list((RunnableLambda(one_more) | show).stream(1, config)),
        RunnableLambda(lambda x: RunnableLambda(show).batch([x, x])).invoke(1, config),
        RunnableLambda(lambda x: RunnableParallel(a=show, b=show).invoke(x)).invoke(1, config),
        RunnableLambda(lambda x: list(RunnableParallel(a=show).stream(x))).invoke(1, config),
    ]


def case_functions_with_bound_arguments(env):
    def power(x, n=2, *, plus=0):
        return x**n + plus

    return [
        RunnableLambda(power).bind(n=3).invoke(2),
        RunnableLambda(power).invoke(2, n=4, plus=1),
        list(RunnableLambda(power).bind(n=3).stream(2)),
        RunnableLambda(power).bind(n=3).bind(plus=1).batch([1, 2]),
        RunnableLambda(power).bind(n=3, plus=1).kwargs,
    ]


def case_chain_decorator(env):
    @chain
    def shout(text):
        return text.upper()

    @chain
    def spell(chunks):
        yield from chunks

    return [
        shout.invoke("a"),
        shout.get_name(),
        list(spell.stream("ab")),
        (shout | spell).invoke("ab"),
    ]


def case_batches(env):
    def picky(x):
        if x == 2:
            raise ValueError("two")
        return x

    r = RunnableLambda(picky)
    kinds = [type(x).__name__ for x in r.batch([1, 2, 3], return_exceptions=True)]
    seq = [type(x).__name__ for x in (r | one_more).batch([1, 2, 3], return_exceptions=True)]
    done = sorted(
        (i, type(x).__name__) for i, x in r.batch_as_completed([1, 2, 3], return_exceptions=True)
    )
    return [
        kinds,
        seq,
        done,
        r.batch([]),
        list(r.batch_as_completed([])),
        sorted(r.batch_as_completed([1, 3, 4])),
        env.error(lambda: r.batch([1, 2])),
        env.error(lambda: list(r.batch_as_completed([1, 2]))),
        env.error(lambda: r.batch([1, 3], [{}])),
        r.batch([1, 3], {"max_concurrency": 1}),
        RunnableLambda(one_more).batch(list(range(100)), {"max_concurrency": 3}),
    ]


def case_sums(env):
    d = AddableDict({"a": "x", "n": None})
    return [
        d + AddableDict({"a": "y", "b": 1}),
        AddableDict({"b": 1}) + {"b": 2},
        {"a": "x"} + d,
        AddableDict({"a": {}}) + {"a": None},
        AddableDict({"a": [1]}) + {"a": 5} if False else None,
        add(["a", "b"]),
        add([]),
        type(d + d).__name__,
    ]


def case_equality(env):
    f = RunnableLambda(one_more)
    return [
        f == RunnableLambda(one_more),
        f == RunnableLambda(double),
        RunnableParallel(a=one_more) == RunnableParallel(a=one_more),
        (f | double) == (f | double),
        RunnablePassthrough() == RunnablePassthrough(),
        RunnablePick("a") == RunnablePick("a"),
        f.bind(a=1) == f.bind(a=1),
        f.bind(a=1) == f.bind(a=2),
    ]


def case_serializable_bases(env):
    class Repeat(RunnableSerializable[str, str]):
        times: int = 2

        def invoke(self, input, config=None, **kwargs):
            return input * self.times

    r = Repeat(times=3)
    return [
        r.invoke("a"),
        (r | Repeat()).invoke("a"),
        r.get_name(),
        r.InputType,
        r.model_dump(),
        repr(r),
        env.error(lambda: Repeat(times="x")),
        Repeat(name="own").get_name(),
        list(r.stream("a")),
        r.batch(["a", "b"]),
    ]


def case_async_functions_in_sync_calls(env):
    async def later(x):
        return x

    async def agen(chunks):
        async for c in chunks:
            yield c

    return [
        env.error(lambda: RunnableLambda(later).invoke(1)),
        env.error(lambda: list(RunnableLambda(later).stream(1))),
        env.error(lambda: RunnableGenerator(agen).invoke(1)),
        env.error(lambda: RunnableLambda(later, later)),
    ]


def case_graph_of_a_chain(env):
    chain = (
        RunnableLambda(one_more) | {"a": double, "b": one_more} | RunnablePassthrough.assign(c=len)
    )
    return [len(chain.get_graph().nodes), len(chain.get_graph().edges), chain.get_prompts()]


async def case_async_sums(env):
    async def many():
        yield AddableDict({"a": "x"})
        yield AddableDict({"a": "y"})

    return await aadd(many())


WRONG_CONFIGS = (
    *([], [1], 5, "x", {"configurable": 5}, {"metadata": 5}, {"tags": 5}, {"tags": "abc"}),
    {"callbacks": 5},
)


def case_configs_that_are_none(env):
    one = RunnableLambda(lambda x: x)
    several = one | RunnableLambda(lambda x: x)
    return [
        (
            env.error(lambda c=c: one.invoke(1, c)),
            env.error(lambda c=c: several.invoke(1, c)),
            env.error(lambda c=c: list(one.stream(1, c))),
        )
        for c in WRONG_CONFIGS
    ]


def case_configs_of_batches_that_are_none(env):
    one = RunnableLambda(lambda x: x)
    given = ([], [1], [{}, 5], 5, {"configurable": 5})
    return [env.error(lambda c=c: one.batch([1, 2], c)) for c in given]


def case_configs_bound_that_are_none(env):
    one = RunnableLambda(lambda x: x)
    bound = one.with_config(tags=["a"])
    return [env.error(lambda o=o, c=c: o.with_config(c)) for o in (one, bound) for c in ([1], 5)]


async def case_configs_that_are_none_async(env):
    one = RunnableLambda(lambda x: x)
    return [await env.aerror(one.ainvoke(1, c)) for c in WRONG_CONFIGS]


async def case_chunks_that_do_not_add(env):
    def pairs(chunks):
        for chunk in chunks:
            yield {"a": chunk}
            yield {"b": chunk}

    async def apairs(chunks):
        async for chunk in chunks:
            yield {"a": chunk}
            yield {"b": chunk}

    sync, both = RunnableGenerator(pairs), RunnableGenerator(pairs, apairs)
    return (
        env.error(lambda: sync.invoke("x")),
        await env.aerror(both.ainvoke("x")),
        list(sync.stream("x")),
        [chunk async for chunk in both.astream("x")],
        env.error(lambda: (sync | RunnableLambda(len)).invoke("x")),
    )
