"""Chunks go through every combinator as soon as they can: shown by the order of events."""

import asyncio
import threading

import pytest

from plait.runnables import (
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnablePick,
)


class Source:
    """A step that tells when it is asked for each chunk."""

    def __init__(self, log, chunks="abc", as_dict=False):
        self.log, self.chunks, self.as_dict = log, chunks, as_dict

    def __call__(self, _):
        for chunk in self.chunks:
            self.log.append(f"made {chunk}")
            yield {"text": chunk} if self.as_dict else chunk
        self.log.append("source ends")


def source(log, **options):
    make = Source(log, **options)

    def chunks(inputs):
        yield from make(list(inputs))

    return RunnableGenerator(chunks)


def upper(chunks):
    for chunk in chunks:
        yield chunk.upper()


def order_of(chain, log):
    for chunk in chain.stream("go"):
        log.append(f"got {chunk}")
    return log


def alternating(wrap=lambda c: c):
    return [e for c in "abc" for e in (f"made {c}", f"got {wrap(c)}")] + ["source ends"]


def test_a_chunk_of_the_first_step_leaves_the_last_before_the_next_is_made():
    log = []
    assert order_of(source(log) | upper | upper, log) == alternating(str.upper)


def test_a_chunk_goes_through_a_passthrough_at_once():
    log = []
    assert order_of(source(log) | RunnablePassthrough() | upper, log) == alternating(str.upper)


def test_a_chunk_goes_through_a_parallel_of_one_at_once():
    log = []
    assert order_of(source(log) | {"x": upper}, log) == alternating(lambda c: {"x": c.upper()})


def test_a_chunk_goes_through_pick_at_once():
    log = []
    assert order_of(source(log, as_dict=True) | RunnablePick("text"), log) == alternating()


def test_a_chunk_goes_through_a_binding_and_a_sequence_inside_a_sequence_at_once():
    log = []
    inner = (RunnablePassthrough() | upper).with_config(tags=["inner"])
    assert order_of(source(log) | inner | upper, log) == alternating(str.upper)


def test_listeners_do_not_hold_chunks_back():
    log = []
    chain = (source(log) | upper).with_listeners(on_end=lambda run: log.append("told"))
    assert order_of(chain, log) == [*alternating(str.upper), "told"]


def test_a_step_of_a_parallel_is_not_held_back_by_a_slow_one():
    slow_may_go_on = threading.Event()

    def slow(_):
        assert slow_may_go_on.wait(20)
        return "slow"

    chunks = RunnableParallel(slow=slow, quick=RunnableGenerator(upper)).stream("x")
    assert next(chunks) == {"quick": "X"}
    slow_may_go_on.set()
    assert list(chunks) == [{"slow": "slow"}]


def test_assign_streams_its_input_while_the_new_key_is_computed():
    computed_may_go_on = threading.Event()

    def compute(given):
        assert computed_may_go_on.wait(20)
        return given["a"] + 1

    chunks = RunnablePassthrough.assign(b=compute).stream({"a": 1})
    assert next(chunks) == {"a": 1}
    computed_may_go_on.set()
    assert list(chunks) == [{"b": 2}]


def test_the_mapper_of_assign_works_while_the_input_still_comes():
    mapper_has_begun = threading.Event()

    def begin(chunks):
        for chunk in chunks:
            mapper_has_begun.set()
            yield chunk["a"]

    def inputs():
        yield {"a": "x"}
        assert mapper_has_begun.wait(20)
        yield {"c": "y"}

    chain = RunnablePassthrough.assign(b=RunnablePick("a"), d=RunnableGenerator(tap(begin)))
    keys = {key for chunk in chain.transform(inputs()) for key in chunk}
    assert keys == {"a", "b", "c", "d"}


def tap(begin):
    def run(chunks):
        yield from begin(c for c in chunks if "a" in c)

    return run


def test_a_parallel_reads_no_more_than_its_consumer_wants():
    log = []
    chain = source(log, chunks="abcdefgh") | {
        "x": RunnablePassthrough(),
        "y": RunnablePassthrough(),
    }
    stream = chain.stream("go")
    next(stream)
    stream.close()
    assert "source ends" not in log


def test_an_error_in_the_source_reaches_the_consumer_of_a_parallel():
    def breaks(_):
        yield "a"
        raise ValueError("broken")

    chain = RunnableLambda(breaks) | {"x": RunnablePassthrough(), "y": RunnablePassthrough()}
    with pytest.raises(ValueError, match="broken"):
        list(chain.stream("go"))


def test_a_consumer_that_leaves_closes_every_step():
    log = []

    def noisy(name):
        def step(chunks):
            try:
                yield from chunks
            finally:
                log.append(f"{name} closed")

        return step

    stream = (RunnableGenerator(noisy("first")) | noisy("second")).transform(iter("abc"))
    assert next(stream) == "a"
    stream.close()
    assert sorted(log) == ["first closed", "second closed"]


# --- async ----------------------------------------------------------------------------------------


def asource(log):
    async def chunks(inputs):
        async for _ in inputs:
            pass
        for chunk in "abc":
            log.append(f"made {chunk}")
            yield chunk
        log.append("source ends")

    return RunnableGenerator(chunks)


async def aupper(chunks):
    async for chunk in chunks:
        yield chunk.upper()


@pytest.mark.parametrize("last", ["generator", "dict", "passthrough"])
async def test_async_chunks_go_through_at_once(last):
    log = []
    steps = {
        "generator": (aupper, str.upper),
        "dict": ({"x": aupper}, lambda c: {"x": c.upper()}),
        "passthrough": (RunnablePassthrough(), str.upper),
    }
    step, wrap = steps[last]
    async for chunk in (asource(log) | aupper | step).astream("go"):
        log.append(f"got {chunk}")
    if last == "dict":  # read by a task of its own, one chunk ahead at most
        assert log.index(f"got {wrap('a')}") < log.index("source ends")
    else:
        assert log == alternating(wrap)


async def test_an_async_parallel_does_not_hold_a_quick_step_back():
    slow_may_go_on = asyncio.Event()

    async def slow(_):
        await asyncio.wait_for(slow_may_go_on.wait(), 20)
        return "slow"

    chunks = RunnableParallel(slow=slow, quick=RunnableGenerator(aupper)).astream("x")
    assert await anext(chunks) == {"quick": "X"}
    slow_may_go_on.set()
    assert [chunk async for chunk in chunks] == [{"slow": "slow"}]


async def test_an_async_consumer_that_leaves_closes_every_step():
    log = []

    def noisy(name):
        async def step(chunks):
            try:
                async for chunk in chunks:
                    yield chunk
            finally:
                log.append(f"{name} closed")

        return step

    async def inputs():
        for letter in "abc":
            yield letter

    chain = RunnableGenerator(noisy("first")) | noisy("second") | {"x": RunnablePassthrough()}
    stream = chain.atransform(inputs())
    await anext(stream)
    await stream.aclose()
    assert sorted(log) == ["first closed", "second closed"]


async def test_a_task_that_leaves_a_parallel_cancels_its_steps():
    cancelled = []

    async def forever(_):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    chunks = RunnableParallel(never=forever, quick=RunnableGenerator(aupper)).astream("x")
    assert await anext(chunks) == {"quick": "X"}
    await chunks.aclose()
    assert cancelled == [True]


def test_a_loop_that_ends_closes_parallel_steps_that_are_not_read_to_their_end():
    told, closed = [], []

    async def letters(chunks):
        async for _ in chunks:
            try:
                for letter in "abc":
                    yield letter
                    await asyncio.sleep(0)
            finally:
                closed.append("letters")

    async def inputs():
        yield "x"

    async def main():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context["message"]))
        await anext(stream)

    stream = RunnableParallel(a=letters, b=letters).atransform(inputs())
    asyncio.run(main())
    assert told == []
    assert closed == ["letters", "letters"]
