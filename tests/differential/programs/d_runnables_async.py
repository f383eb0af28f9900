"""Runnables in coroutines: results, streams, errors."""

import asyncio

from langchain_core.runnables import (
    AddableDict,
    RouterRunnable,
    Runnable,
    RunnableBranch,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnablePick,
    chain,
)


async def one_more(x):
    await asyncio.sleep(0)
    return x + 1


def double(x):
    return x * 2


async def letters(chunks):
    async for chunk in chunks:
        for letter in chunk:
            yield letter


async def upper(chunks):
    async for chunk in chunks:
        yield chunk.upper()


async def these(*chunks):
    for chunk in chunks:
        yield chunk


async def all_of(stream):
    return [chunk async for chunk in stream]


class Sync(Runnable):
    def invoke(self, input, config=None, **kwargs):
        return input * 3


async def case_sequences(env):
    seq = RunnableLambda(one_more) | double | {"a": one_more, "b": lambda x: x}
    return [
        await seq.ainvoke(1),
        await seq.abatch([1, 2, 3]),
        await all_of((RunnableLambda(one_more) | double).astream(1)),
        await (one_more | RunnableLambda(double)).ainvoke(1),
        await (Sync() | one_more).ainvoke(1),
        await env.aerror((RunnableLambda(one_more) | (lambda x: 1 / 0)).ainvoke(1)),
        env.error(lambda: seq.invoke(1)),
    ]


async def case_streams(env):
    say = RunnableGenerator(letters)
    return [
        await all_of(say.astream("abc")),
        await all_of((say | upper).astream("abc")),
        await all_of((say | upper | (lambda text: text + "!")).astream("abc")),
        await all_of((RunnableLambda(double) | letters | upper).astream("ab")),
        await all_of(RunnablePassthrough().atransform(these("a", "b"))),
        await all_of(Sync().atransform(these("a", "b"))),
        await all_of((say | upper).atransform(these("ab", "cd"))),
        await (say | upper).ainvoke("abc"),
        sorted(str(c) for c in await all_of(RunnableParallel(a=say, b=double).astream("xy"))),
        await env.aerror(RunnableGenerator(sync_letters).ainvoke("ab")),
    ]


def sync_letters(chunks):
    for chunk in chunks:
        yield from chunk


async def case_sync_generator_functions(env):
    async def streamed():
        return await all_of(RunnableGenerator(sync_letters).astream("ab"))

    return [
        await RunnableLambda(double, afunc=one_more).ainvoke(1),
        await env.aerror(streamed()),
    ]


async def case_assign_and_pick(env):
    add_b = RunnablePassthrough.assign(b=lambda d: d["a"] + 1)
    given = {"a": 1, "c": 3}
    return [
        await add_b.ainvoke(given),
        await all_of(add_b.astream(given)),
        await all_of(add_b.atransform(these(AddableDict({"a": 1}), AddableDict({"c": 3})))),
        await all_of(RunnablePassthrough.assign().astream(given)),
        await all_of(add_b.pick(["a", "b"]).astream(given)),
        await add_b.pick("b").ainvoke(given),
        await RunnablePick("nope").ainvoke(given),
        await env.aerror(RunnablePassthrough.assign(b=one_more).ainvoke({"a": 1})),
    ]


async def case_passthrough_calls_its_function(env):
    seen = []

    async def keep(x):
        seen.append(x)

    tap = RunnablePassthrough(keep)
    return [
        await tap.ainvoke(1),
        await all_of(tap.astream(2)),
        await all_of(tap.atransform(these("a", "b"))),
        seen,
    ]


async def case_branches_routers_each(env):
    async def is_text(x):
        return isinstance(x, str)

    branch = RunnableBranch((is_text, lambda x: x.upper()), one_more)
    router = RouterRunnable({"add": one_more, "double": double})
    return [
        await branch.ainvoke("hello"),
        await branch.ainvoke(1),
        await branch.abatch(["a", 1]),
        await all_of(branch.astream("ab")),
        await all_of(RunnableBranch((is_text, letters), one_more).astream("ab")),
        await router.ainvoke({"key": "add", "input": 1}),
        await router.abatch([{"key": "add", "input": 1}, {"key": "double", "input": 4}]),
        await all_of(router.astream({"key": "double", "input": 4})),
        await env.aerror(router.ainvoke({"key": "no", "input": 1})),
        await RunnableLambda(one_more).map().ainvoke([1, 2]),
        await RunnableLambda(one_more).map().abatch([[1], [2]]),
    ]


async def case_functions(env):
    async def forever(x):
        return RunnableLambda(forever)

    async def show(x, config):
        return [x, config["tags"], config["configurable"]]

    @chain
    async def nested(x):
        return await RunnableLambda(show).ainvoke(x)

    @chain
    async def returns(x):
        return RunnableLambda(show)

    config = {"tags": ["t"], "configurable": {"c": 1}}
    return [
        await env.aerror(RunnableLambda(forever).ainvoke(1)),
        await env.aerror(all_of(RunnableLambda(forever).astream(1))),
        await RunnableLambda(show).ainvoke(1, config),
        await nested.ainvoke(1, config),
        await returns.ainvoke(1, config),
        await all_of(returns.astream(1, config)),
        nested.get_name(),
        await RunnableParallel(a=show, b=nested).ainvoke(1, config),
        await RunnableLambda(one_more).bind().ainvoke(1),
    ]


async def case_batches(env):
    async def picky(x):
        if x == 2:
            raise ValueError("two")
        return x

    r = RunnableLambda(picky)
    kinds = [type(x).__name__ for x in await r.abatch([1, 2, 3], return_exceptions=True)]
    done = [(i, x) async for i, x in r.abatch_as_completed([1, 3, 4])]
    failed = [
        (i, type(x).__name__)
        async for i, x in r.abatch_as_completed([1, 2, 3], return_exceptions=True)
    ]
    return [
        kinds,
        sorted(done),
        sorted(failed),
        await r.abatch([]),
        await env.aerror(r.abatch([1, 2])),
        await r.abatch([1, 3], {"max_concurrency": 1}),
        await RunnableLambda(one_more).abatch(list(range(50)), {"max_concurrency": 3}),
    ]


async def case_steps_run_at_once(env):
    arrived = []
    everybody = asyncio.Event()

    async def wait(x):
        arrived.append(x)
        if len(arrived) == 3:
            everybody.set()
        await asyncio.wait_for(everybody.wait(), 20)
        return x

    return await RunnableParallel(a=wait, b=wait, c=wait).ainvoke(1)


async def case_sync_steps_do_not_block_the_loop(env):
    import threading

    begun, go_on = threading.Event(), threading.Event()

    def wait(x):
        begun.set()
        go_on.wait(20)
        return x

    async def meanwhile():
        while not begun.is_set():
            await asyncio.sleep(0.001)
        go_on.set()
        return "meanwhile"

    return await asyncio.gather((RunnableLambda(wait) | double).ainvoke(1), meanwhile())
