"""What handlers and `astream_events` hear of every combinator: names, tags, inputs, outputs."""

import asyncio

from langchain_core.callbacks import (
    BaseCallbackHandler,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import (
    RouterRunnable,
    Runnable,
    RunnableBranch,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnablePick,
)
from langchain_core.tools import tool

CONFIG = {"tags": ["t"], "metadata": {"m": 1}, "run_name": "outer"}


class Recorder(BaseCallbackHandler):
    run_inline = True

    def __init__(self):
        self.heard = []
        self.names = {}

    def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, **rest):
        self.names[run_id] = rest["name"]
        parent = self.names.get(parent_run_id)
        self.heard.append(
            ("start", rest["name"], parent, sorted(rest["tags"]), rest["metadata"], inputs)
        )

    def on_chain_end(self, outputs, *, run_id, parent_run_id=None, **rest):
        self.heard.append(("end", self.names[run_id], outputs, rest.get("inputs")))

    def on_chain_error(self, error, *, run_id, parent_run_id=None, **rest):
        self.heard.append(("error", self.names[run_id], type(error).__name__, rest.get("inputs")))


def heard_of(env, call):
    recorder = Recorder()
    result = env.error(lambda: call({**CONFIG, "callbacks": [recorder]}))
    return [result, recorder.heard]


def one_more(x):
    return x + 1


def double(x):
    return x * 2


def fails(x):
    raise ValueError(x)


def letters(chunks):
    for chunk in chunks:
        yield from chunk


def upper(chunks):
    for chunk in chunks:
        yield chunk.upper()


class Own(Runnable):
    def invoke(self, input, config=None, **kwargs):
        return RunnableLambda(one_more).invoke(input)


def case_sequence(env):
    seq = RunnableLambda(one_more) | double | one_more
    return [
        heard_of(env, lambda c: seq.invoke(1, c)),
        heard_of(env, lambda c: list(seq.stream(1, c))),
        heard_of(env, lambda c: (RunnableLambda(one_more) | fails).invoke(1, c)),
        heard_of(env, lambda c: list((RunnableLambda(one_more) | fails).stream(1, c))),
    ]


def case_streaming_sequence(env):
    say = RunnableGenerator(letters) | upper
    return [
        heard_of(env, lambda c: list(say.stream("ab", c))),
        heard_of(env, lambda c: say.invoke("ab", c)),
        heard_of(env, lambda c: list((say | (lambda text: text)).stream("ab", c))),
    ]


def case_parallel_of_one(env):
    one = RunnableParallel(a=one_more)
    return [
        heard_of(env, lambda c: one.invoke(1, c)),
        heard_of(env, lambda c: list(one.stream(1, c))),
        heard_of(env, lambda c: (RunnableLambda(one_more) | {"a": double}).invoke(1, c)),
    ]


def case_parallel_of_two(env):
    two = RunnableParallel(a=one_more, b=double)

    def sort(heard):
        return [heard[0], sorted(heard[1], key=str)]

    return [
        sort(heard_of(env, lambda c: two.invoke(1, c))),
        sort(heard_of(env, lambda c: two.batch([1], c))),
    ]


def case_assign_and_pick(env):
    add = RunnablePassthrough.assign(b=lambda d: d["a"] + 1)
    return [
        heard_of(env, lambda c: add.invoke({"a": 1}, c)),
        heard_of(env, lambda c: RunnablePick("a").invoke({"a": 1}, c)),
        heard_of(env, lambda c: list(RunnablePick("a").stream({"a": 1}, c))),
        heard_of(env, lambda c: RunnablePassthrough().invoke(1, c)),
        heard_of(env, lambda c: list(RunnablePassthrough().stream(1, c))),
    ]


def case_branch_and_router(env):
    branch = RunnableBranch((lambda x: x > 5, one_more), (lambda x: x > 1, double), fails)
    router = RouterRunnable({"a": one_more})
    return [
        heard_of(env, lambda c: branch.invoke(2, c)),
        heard_of(env, lambda c: branch.invoke(0, c)),
        heard_of(env, lambda c: list(branch.stream(2, c))),
        heard_of(env, lambda c: router.invoke({"key": "a", "input": 1}, c)),
    ]


def case_retry(env):
    quick = {"wait_exponential_jitter": False}
    left = [1]

    def flaky(x):
        if left:
            raise ValueError(left.pop())
        return x

    return [
        heard_of(env, lambda c: RunnableLambda(flaky).with_retry(**quick).invoke(1, c)),
        heard_of(env, lambda c: RunnableLambda(fails).with_retry(**quick).invoke(1, c)),
    ]


def case_streamed_fallbacks(env):
    r = RunnableLambda(fails).with_fallbacks([RunnableLambda(one_more)])
    return heard_of(env, lambda c: list(r.stream(1, c)))


def case_fallbacks_under_a_run_name(env):
    r = RunnableLambda(fails).with_fallbacks([RunnableLambda(one_more)])
    return heard_of(env, lambda c: r.invoke(1, c))


def case_each_and_binding(env):
    return [
        heard_of(env, lambda c: RunnableLambda(one_more).map().invoke([1], c)),
        heard_of(env, lambda c: RunnableLambda(one_more).with_config(tags=["own"]).invoke(1, c)),
        heard_of(env, lambda c: RunnableLambda(one_more, name="n").invoke(1, c)),
        heard_of(env, lambda c: RunnableLambda(lambda x: RunnableLambda(one_more)).invoke(1, c)),
        heard_of(env, lambda c: (Own() | one_more).invoke(1, c)),
        heard_of(env, lambda c: RunnableLambda(lambda x: Own().invoke(x)).invoke(1, c)),
    ]


def case_an_early_end_of_a_stream(env):
    def call(c):
        stream = (RunnableGenerator(letters) | upper).stream("abc", c)
        first = next(stream)
        stream.close()
        return first

    return heard_of(env, call)


def case_inheritance_in_threads(env):
    def inner(x):
        return RunnableLambda(one_more, name="inside").batch([x])

    def outer(x):
        return RunnableParallel(a=inner).invoke(x)

    return heard_of(env, lambda c: RunnableLambda(outer).invoke(1, c))


# --- astream_events -------------------------------------------------------------------------------


async def events_of(runnable, given, **options):
    out = []
    version = options.pop("version", "v2")
    async for event in runnable.astream_events(given, CONFIG, version=version, **options):
        data = (
            {
                key: repr(value) if isinstance(value, BaseException) else value
                for key, value in event["data"].items()
            }
            if isinstance(event["data"], dict)
            else event["data"]
        )
        out.append(
            (event["event"], event["name"], sorted(event["tags"]), data, len(event["parent_ids"]))
        )
    return out


async def case_events_of_a_sequence(env):
    async def later(x):
        return x + 1

    seq = RunnableLambda(later) | RunnableLambda(later, name="second")
    return await events_of(seq, 1)


async def case_events_of_streams(env):
    async def spell(chunks):
        async for chunk in chunks:
            for letter in chunk:
                yield letter

    async def shout(chunks):
        async for chunk in chunks:
            yield chunk.upper()

    return await events_of(RunnableGenerator(spell) | shout, "ab")


async def case_events_of_assign_and_pick(env):
    chain = RunnablePassthrough.assign(b=RunnableLambda(lambda d: d["a"])) | RunnablePick("b")
    return sorted(await events_of(chain, {"a": 1}), key=str)


async def case_events_of_a_branch(env):
    async def big(x):
        return x > 1

    async def later(x):
        return x + 1

    return await events_of(RunnableBranch((big, later), double), 5)


async def case_events_of_fallbacks_and_retries(env):
    async def bad(x):
        raise ValueError(x)

    async def good(x):
        return x

    return await events_of(RunnableLambda(bad).with_fallbacks([RunnableLambda(good)]), 1)


async def case_events_of_a_model(env):
    model = GenericFakeChatModel(messages=iter([AIMessage("hello you")]))

    async def text(messages):
        async for message in messages:
            yield message.content

    found = await events_of(RunnableLambda(lambda x: x) | model | text, "hi")
    return [(e, name, tags, depth) for e, name, tags, _, depth in found]


async def case_events_that_programs_send(env):
    async def sends(x):
        await adispatch_custom_event("mine", {"x": x})
        return x

    def sends_too(x):
        dispatch_custom_event("sync", x)
        return x

    return await events_of(RunnableLambda(sends) | RunnableLambda(sends_too), 1)


async def case_filters_of_events(env):
    async def later(x):
        return x + 1

    seq = RunnableLambda(later, name="a") | RunnableLambda(later, name="b").with_config(
        tags=["own"]
    )
    options = [
        {"include_names": ["b"]},
        {"include_tags": ["own"]},
        {"exclude_names": ["a"]},
        {"include_types": ["tool"]},
        {"exclude_tags": ["seq:step:1"]},
    ]
    return [[event[:3] for event in await events_of(seq, 1, **chosen)] for chosen in options]


async def case_first_version(env):
    async def spell(chunks):
        async for chunk in chunks:
            for letter in chunk:
                yield letter

    async def later(x):
        return x

    return [
        await events_of(RunnableGenerator(spell), "ab", version="v1"),
        await events_of(RunnableLambda(later) | later, 1, version="v1"),
    ]


async def case_events_of_an_error(env):
    async def bad(x):
        raise ValueError(x)

    out = []
    try:
        async for event in (RunnableLambda(bad)).astream_events(1, version="v2"):
            out.append((event["event"], event["name"]))
    except ValueError as error:
        out.append(repr(error))
    return out


async def case_unknown_version(env):
    async def read():
        return [e async for e in RunnableLambda(one_more).astream_events(1, version="v9")]

    return await env.aerror(read())


async def case_concurrent_runs_keep_their_parents(env):
    async def inner(x):
        await asyncio.sleep(0)
        return x

    async def outer(x):
        return await RunnableLambda(inner).ainvoke(x)

    recorder = Recorder()
    chain = RunnableParallel(a=outer, b=outer, c=outer)
    await chain.ainvoke(1, {"callbacks": [recorder]})
    return sorted(recorder.heard, key=str)


async def case_failed_tools(env):
    @tool
    def share(parts: int) -> float:
        """A share."""
        return 1 / parts

    told = []
    call = {"name": "share", "args": {"parts": 0}, "id": "c1", "type": "tool_call"}
    for runnable in (share, RunnableLambda(lambda x: x) | share):
        for given in ({"parts": 0}, {"parts": "x"}, call):
            try:
                async for event in runnable.astream_events(given, version="v2"):
                    if event["event"].startswith("on_tool"):
                        told.append((event["event"], event["data"]))
            except (ValueError, ZeroDivisionError) as error:
                told.append(type(error).__name__)
    return told
