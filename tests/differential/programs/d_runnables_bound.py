"""Runnables with something of their own: config, retries, fallbacks, listeners, alternatives."""

import json

from langchain_core.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import (
    ConfigurableField,
    ConfigurableFieldMultiOption,
    ConfigurableFieldSingleOption,
    ConfigurableFieldSpec,
    Runnable,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnableSerializable,
    RunnableWithMessageHistory,
)
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict


class Counted(TypedDict):
    n: int


QUICK = {"wait_exponential_jitter": False}


def show(x, config):
    return [
        x,
        config["tags"],
        config["metadata"],
        config["configurable"],
        config.get("max_concurrency"),
    ]


def one_more(x):
    return x + 1


def fails(x):
    raise ValueError(x)


class Repeat(RunnableSerializable[str, str]):
    times: int = 2
    words: tuple = ()

    def invoke(self, input, config=None, **kwargs):
        return f"{input * self.times} {self.words}"


def case_config_is_merged(env):
    r = RunnableLambda(show).with_config(tags=["b", "a"], metadata={"x": 1, "y": 1})
    both = r.with_config({"metadata": {"y": 2}, "configurable": {"c": 1}}, tags=["z"])
    call = {"tags": ["call"], "metadata": {"x": 9}, "max_concurrency": 2, "configurable": {"d": 1}}
    return [
        r.invoke(1),
        r.invoke(1, call),
        both.invoke(1, call),
        both.config,
        list(both.stream(1, call)),
        r.batch([1, 2], [call, {"tags": ["other"]}]),
        r.batch([1, 2], call),
        (r | show).invoke(1, call),
        RunnableParallel(a=r, b=show).invoke(1, call),
        r.with_config({"recursion_limit": 3}).invoke(1),
        r.with_config(run_name="named").bind().config["run_name"],
    ]


async def case_config_is_merged_async(env):
    r = RunnableLambda(show).with_config(tags=["b", "a"], metadata={"x": 1, "y": 1})
    call = {"tags": ["call"], "metadata": {"x": 9}}
    return [
        await r.ainvoke(1, call),
        [c async for c in r.astream(1, call)],
        await r.abatch([1, 2], [call, {"tags": ["other"]}]),
        await (r | show).ainvoke(1, call),
    ]


class Flaky:
    """Fails until it has been called so often."""

    def __init__(self, times, kind=ValueError):
        self.left, self.calls, self.kind = times, [], kind

    def __call__(self, x):
        self.calls.append(x)
        if self.left > 0:
            self.left -= 1
            raise self.kind("flaky")
        return x


def case_retries(env):
    def tried(times, kind=ValueError, **options):
        flaky = Flaky(times, kind)
        r = RunnableLambda(flaky, name="flaky").with_retry(**{**QUICK, **options})
        return [env.error(lambda: r.invoke(5)), flaky.calls]

    return [
        tried(1),
        tried(2),
        tried(3),
        tried(1, stop_after_attempt=1),
        tried(1, KeyError, retry_if_exception_type=(ValueError,)),
        tried(1, KeyError, retry_if_exception_type=(ValueError, KeyError)),
        tried(5, stop_after_attempt=6),
        tried(
            1,
            wait_exponential_jitter=True,
            exponential_jitter_params={"initial": 0, "jitter": 0},
        ),
    ]


async def case_retries_async(env):
    flaky = Flaky(2)

    async def call(x):
        return flaky(x)

    r = RunnableLambda(call).with_retry(**QUICK)
    return [await r.ainvoke(1), flaky.calls, await r.abatch([1, 2, 3])]


def case_a_retried_batch_keeps_its_order(env):
    calls = {}

    def flaky(x):
        calls[x] = calls.get(x, 0) + 1
        if x % 2 and calls[x] < 2:
            raise ValueError(x)
        return x * 10

    r = RunnableLambda(flaky).with_retry(**QUICK)
    bad = RunnableLambda(lambda x: 1 / x).with_retry(**QUICK)
    return [
        r.batch([1, 2, 3, 4, 5]),
        calls,
        [type(x).__name__ for x in bad.batch([1, 0, 2], return_exceptions=True)],
        env.error(lambda: bad.batch([1, 0, 2])),
    ]


def case_retry_of_a_sequence_and_of_a_stream(env):
    flaky = Flaky(1)
    whole = (RunnableLambda(one_more) | flaky).with_retry(**QUICK)
    result = whole.invoke(1)
    streamed = Flaky(1)
    return [
        result,
        flaky.calls,
        env.error(lambda: list(RunnableLambda(streamed).with_retry(**QUICK).stream(1))),
        streamed.calls,
        RunnableLambda(Flaky(1)).bind().with_retry(**QUICK).invoke(1),
    ]


def case_fallbacks(env):
    def key_error(x):
        raise KeyError("k")

    def told(x):
        return [x["v"], type(x.get("error")).__name__]

    return [
        RunnableLambda(fails).with_fallbacks([RunnableLambda(one_more)]).invoke(1),
        RunnableLambda(one_more).with_fallbacks([RunnableLambda(fails)]).invoke(1),
        env.error(
            lambda: RunnableLambda(fails).with_fallbacks([RunnableLambda(key_error)]).invoke(1)
        ),
        env.error(lambda: RunnableLambda(fails).with_fallbacks([]).invoke(1)),
        env.error(
            lambda: (
                RunnableLambda(fails)
                .with_fallbacks([RunnableLambda(one_more)], exceptions_to_handle=(KeyError,))
                .invoke(1)
            )
        ),
        RunnableLambda(lambda x: fails(x["v"]))
        .with_fallbacks([RunnableLambda(told)], exception_key="error")
        .invoke({"v": 1}),
        env.error(
            lambda: (
                RunnableLambda(fails)
                .with_fallbacks([RunnableLambda(told)], exception_key="error")
                .invoke(1)
            )
        ),
        RunnableLambda(lambda x: 1 // x)
        .with_fallbacks([RunnableLambda(lambda x: "zero")])
        .batch([1, 0]),
        list(RunnableLambda(fails).with_fallbacks([RunnableLambda(one_more)]).stream(1)),
        (RunnableLambda(fails).with_fallbacks([RunnableLambda(one_more)]) | one_more).invoke(1),
    ]


def case_errors_of_a_batch_with_fallbacks(env):
    def key_error(x):
        raise KeyError("k")

    both = RunnableLambda(fails).with_fallbacks([RunnableLambda(key_error)])
    return [type(error).__name__ for error in both.batch([1], return_exceptions=True)]


def case_a_stream_is_not_rescued_after_its_first_chunk(env):
    def breaks(chunks):
        yield "first"
        raise ValueError("late")

    def never(chunks):
        raise ValueError("early")
        yield

    def good(chunks):
        yield "good"

    def read(runnable):
        seen = []
        try:
            for chunk in runnable.stream(1):
                seen.append(chunk)
        except ValueError as error:
            seen.append(str(error))
        return seen

    return [
        read(RunnableGenerator(breaks).with_fallbacks([RunnableGenerator(good)])),
        read(RunnableGenerator(never).with_fallbacks([RunnableGenerator(good)])),
    ]


async def case_fallbacks_async(env):
    async def bad(x):
        raise ValueError(x)

    r = RunnableLambda(bad).with_fallbacks([RunnableLambda(one_more)])
    return [
        await r.ainvoke(1),
        [c async for c in r.astream(1)],
        await r.abatch([1, 2]),
        await env.aerror(
            RunnableLambda(bad)
            .with_fallbacks([RunnableLambda(one_more)], exceptions_to_handle=(KeyError,))
            .ainvoke(1)
        ),
    ]


def case_methods_of_all_fallbacks(env):
    def power(x, n=2):
        if n == 3 and x == 2:
            raise ValueError
        return x**n

    r = RunnableLambda(power).with_fallbacks([RunnableLambda(lambda x, n=2: f"{x} to {n}")])
    return [r.invoke(2), r.bind(n=3).invoke(2), r.with_config(tags=["t"]).invoke(2)]


def listeners(heard, kind=None):
    return {
        "on_start": lambda run: heard.append(("start", run.name, run.inputs, run.tags)),
        "on_end": lambda run, config: heard.append(("end", run.outputs, config["tags"])),
        "on_error": lambda run: heard.append(("error", run.error.split("\n")[0] != "")),
    }


def case_listeners(env):
    heard = []
    r = RunnableLambda(one_more).with_listeners(**listeners(heard))
    bad = RunnableLambda(fails).with_listeners(**listeners(heard))
    chain = (RunnableLambda(one_more) | one_more).with_listeners(**listeners(heard))
    return [
        r.invoke(1, {"tags": ["t"]}),
        env.error(lambda: bad.invoke(1)),
        chain.invoke(1),
        list(r.stream(1)),
        r.batch([1]),
        RunnableLambda(lambda d: d).with_listeners(**listeners(heard)).invoke({"a": 1}),
        heard,
    ]


def case_tags_of_a_listener_inside_a_chain(env):
    heard = []
    r = RunnableLambda(one_more).with_listeners(**listeners(heard))
    return [(r | one_more).invoke(1), heard]


def case_listeners_know_the_runs_inside(env):
    seen = []
    chain = RunnableLambda(one_more) | {"a": one_more, "b": one_more}

    def tree(run):
        return [run.name, run.run_type, sorted((tree(child) for child in run.child_runs), key=str)]

    chain.with_listeners(on_end=lambda run: seen.append(tree(run))).invoke(1)
    return seen


async def case_async_listeners(env):
    heard = []

    async def start(run):
        heard.append(("start", run.inputs))

    async def end(run, config):
        heard.append(("end", run.outputs))

    async def error(run):
        heard.append(("error",))

    options = {"on_start": start, "on_end": end, "on_error": error}
    return [
        await RunnableLambda(one_more).with_alisteners(**options).ainvoke(1),
        await env.aerror(RunnableLambda(fails).with_alisteners(**options).ainvoke(1)),
        heard,
    ]


def case_configurable_fields(env):
    times = ConfigurableField(id="times", name="Times", description="how often")
    r = Repeat(times=1).configurable_fields(times=times)
    words = r.configurable_fields(words=ConfigurableField(id="words"))
    return [
        r.invoke("a"),
        r.invoke("a", {"configurable": {"times": 3}}),
        r.with_config(configurable={"times": 4}).invoke("a"),
        (r | (lambda s: s + "!")).invoke("a", {"configurable": {"times": 2}}),
        (r | (lambda s: s + "!")).with_config(configurable={"times": 2}).invoke("a"),
        words.invoke("a", {"configurable": {"times": 2, "words": ["w"]}}),
        r.batch(["a", "b"], [{"configurable": {"times": 2}}, {}]),
        list(r.stream("a", {"configurable": {"times": 2}})),
        r.config_specs,
        (r | words).config_specs,
        env.error(lambda: Repeat().configurable_fields(nope=times)),
        env.error(lambda: r.invoke("a", {"configurable": {"times": "many"}})),
    ]


def case_configurable_options(env):
    single = ConfigurableFieldSingleOption(
        id="n", options={"one": 1, "two": 2}, default="one", name="N"
    )
    multi = ConfigurableFieldMultiOption(
        id="w", options={"x": "X", "y": "Y"}, default=["x"], name="W"
    )
    r = Repeat().configurable_fields(times=single, words=multi)
    return [
        r.invoke("a"),
        r.invoke("a", {"configurable": {"n": "two", "w": ["x", "y"]}}),
        [(s.id, s.name, s.default) for s in r.config_specs],
        json.dumps(r.get_config_jsonschema()),
        env.error(lambda: r.invoke("a", {"configurable": {"n": "three"}})),
        env.error(lambda: r.invoke("a", {"configurable": {"w": ["x", "z"]}})),
    ]


def case_configurable_alternatives(env):
    which = ConfigurableField(id="kind", name="Kind", description="which one")
    options = {"long": Repeat(times=5), "made": lambda: Repeat(times=7)}
    r = Repeat(times=1).configurable_alternatives(which, default_key="short", **options)
    inner = Repeat(times=2).configurable_fields(times=ConfigurableField(id="times"))
    other = ConfigurableField(id="kind", name="OtherKind")
    prefixed = Repeat(times=1).configurable_alternatives(other, prefix_keys=True, other=inner)

    def under(**configurable):
        return {"configurable": configurable}

    return [
        r.invoke("a"),
        r.invoke("a", under(kind="long")),
        r.invoke("a", under(kind="made")),
        r.with_config(configurable={"kind": "long"}).invoke("a"),
        env.error(lambda: r.invoke("a", under(kind="nope"))),
        (r | len).invoke("a", under(kind="long")),
        r.batch(["a", "b"], [under(kind="long"), under(kind="short")]),
        list(r.stream("a", under(kind="long"))),
        prefixed.invoke("a", {"configurable": {"kind": "other", "kind==other/times": 3}}),
        [(s.id, s.default, s.is_shared) for s in prefixed.config_specs],
        env.error(lambda: (r | prefixed).config_specs),
        json.dumps(r.get_config_jsonschema()),
    ]


def session_store():
    sessions = {}

    def session(session_id):
        return sessions.setdefault(session_id, InMemoryChatMessageHistory())

    return sessions, session


def contents(messages):
    return [(m.type, m.content) for m in messages]


def talk(messages):
    return AIMessage(" ".join(m.content for m in messages))


def case_message_histories(env):
    sessions, session = session_store()
    chat = RunnableWithMessageHistory(RunnableLambda(talk), session)

    def s(name):
        return {"configurable": {"session_id": name}}

    return [
        chat.invoke([HumanMessage("a")], s("1")).content,
        chat.invoke("b", s("1")).content,
        chat.invoke(HumanMessage("c"), s("2")).content,
        [m.content for m in chat.stream("d", s("2"))],
        [m.content for m in chat.batch(["x", "y"], [s("3"), s("4")])],
        {name: contents(h.messages) for name, h in sessions.items()},
        env.error(lambda: chat.invoke("a")),
        env.error(lambda: chat.invoke("a", {"configurable": {"other": 1}})),
        chat.config_specs,
        chat.with_config(configurable={"session_id": "5"}).invoke("z").content,
    ]


def case_message_histories_of_dicts(env):
    sessions, session = session_store()

    def answer(given):
        return AIMessage(f"{given['q']} after {len(given['past'])}")

    def answer_dict(given):
        return {"said": f"{given['q']}!", "other": 1}

    keys = {"input_messages_key": "q", "history_messages_key": "past"}
    chat = RunnableWithMessageHistory(RunnableLambda(answer), session, **keys)
    dicts = RunnableWithMessageHistory(
        RunnableLambda(answer_dict), session, output_messages_key="said", **keys
    )
    last = RunnableWithMessageHistory(
        RunnableLambda(lambda d: AIMessage(str(len(d["q"])))), session, input_messages_key="q"
    )

    def s(name):
        return {"configurable": {"session_id": name}}

    return [
        chat.invoke({"q": "a"}, s("1")).content,
        chat.invoke({"q": "b"}, s("1")).content,
        dicts.invoke({"q": "c"}, s("2")),
        last.invoke({"q": "d"}, s("3")).content,
        last.invoke({"q": "e"}, s("3")).content,
        {name: contents(h.messages) for name, h in sessions.items()},
    ]


def case_message_histories_of_other_keys(env):
    """Errors where the messages are looked for under a key that the input does not have."""

    def run(given, **keys):
        held = InMemoryChatMessageHistory()
        chat = RunnableWithMessageHistory(RunnableLambda(str), lambda session_id: held, **keys)
        return chat.invoke(given, {"configurable": {"session_id": "1"}})

    return [
        env.error(lambda: run({"q": "x"}, input_messages_key="question")),
        env.error(lambda: run({"a": "x", "b": "y"})),
        env.error(lambda: run({}, input_messages_key="question")),
    ]


async def case_message_histories_async(env):
    _, session = session_store()
    chat = RunnableWithMessageHistory(RunnableLambda(talk), session)
    config = {"configurable": {"session_id": "1"}}
    return [
        (await chat.ainvoke("a", config)).content,
        [m.content async for m in chat.astream("b", config)],
        contents(await session("1").aget_messages()),
    ]


def case_sessions_named_by_two_values(env):
    sessions = {}

    def session(user, conversation):
        return sessions.setdefault((user, conversation), InMemoryChatMessageHistory())

    def spec(name):
        return ConfigurableFieldSpec(
            id=name, annotation=str, name=name, description="", default="", is_shared=True
        )

    chat = RunnableWithMessageHistory(
        RunnableLambda(talk), session, history_factory_config=[spec("user"), spec("conversation")]
    )
    config = {"configurable": {"user": "u", "conversation": "c"}}
    return [
        chat.invoke("a", config).content,
        chat.invoke("b", config).content,
        sorted(sessions),
        chat.config_specs,
        env.error(lambda: chat.invoke("a", {"configurable": {"user": "u"}})),
    ]


def case_histories_alone(env):
    class Mine(BaseChatMessageHistory):
        def __init__(self):
            self.kept = []

        @property
        def messages(self):
            return self.kept

        def add_messages(self, messages):
            self.kept.extend(messages)

        def clear(self):
            self.kept.clear()

    out = []
    for history in (Mine(), InMemoryChatMessageHistory()):
        history.add_user_message("hi")
        history.add_ai_message("hello")
        history.add_message(HumanMessage("again"))
        history.add_messages([AIMessage("x"), HumanMessage("y")])
        out += [contents(history.messages), str(history)]
        history.clear()
        out.append(contents(history.messages))
    return out


def case_passthrough_with_a_type(env):
    return [
        RunnablePassthrough(input_type=int).InputType,
        RunnablePassthrough(input_type=int).get_output_jsonschema(),
        isinstance(RunnableLambda(one_more).bind(), Runnable),
    ]


async def case_sessions_of_batches_as_they_complete(env):
    found = []
    for is_async in (False, True):
        held = {}
        chat = RunnableWithMessageHistory(
            RunnableLambda(lambda messages: AIMessage(f"{len(messages)} came")),
            lambda session_id, held=held: held.setdefault(session_id, InMemoryChatMessageHistory()),
        )
        config = [{"configurable": {"session_id": name}} for name in ("a", "b")]
        for text in ("one", "two"):
            if is_async:
                done = [one async for one in chat.abatch_as_completed([text, "hi"], config)]
            else:
                done = list(chat.batch_as_completed([text, "hi"], config))
            found.append(sorted((index, said.content) for index, said in done))
        found.append({name: contents(one.messages) for name, one in held.items()})
    return found


def case_sessions_of_models_of_text(env):
    held = InMemoryChatMessageHistory()
    chat = RunnableWithMessageHistory(FakeListLLM(responses=["yes"]), lambda session_id: held)
    chat.invoke("hi", {"configurable": {"session_id": "1"}})
    return contents(held.messages)


async def case_a_call_has_one_history(env):
    asked, seen = [], []

    def session(session_id):
        asked.append(session_id)
        return InMemoryChatMessageHistory()

    def answers(messages, config):
        seen.append(config["configurable"]["message_history"])
        return AIMessage(f"{len(messages)} came")

    chat = RunnableWithMessageHistory(RunnableLambda(answers), session)
    config = {"configurable": {"session_id": "1"}}
    chat.invoke("hi", config)
    await chat.ainvoke("hi", config)
    list(chat.stream("hi", config))
    [_ async for _ in chat.astream("hi", config)]
    chat.batch(["hi"], config)
    return [asked, [contents(history.messages) for history in seen]]


def case_sessions_that_cannot_be_kept(env):
    class Full(InMemoryChatMessageHistory):
        def add_messages(self, messages):
            raise OSError("the disk is full")

    chat = RunnableWithMessageHistory(RunnableLambda(talk), lambda session_id: Full())
    try:
        return chat.invoke("hi", {"configurable": {"session_id": "1"}}).content
    except OSError as error:
        return str(error)


def _is_refused(make):
    try:
        make()
    except ValueError:
        return True
    return False


def case_steps_that_cannot_be(env):
    one = RunnableLambda(lambda x: x)
    return [
        _is_refused(make)
        for make in (
            lambda: one.with_fallbacks([one]),
            lambda: one.with_fallbacks(None),
            lambda: one.with_fallbacks(one),
            lambda: one.pick(("a", "b")),
            lambda: one.pick(None),
            lambda: one.pick([1]),
            lambda: one.pick({"a": one}),
            lambda: RunnablePassthrough(3),
            lambda: RunnableWithMessageHistory(one, None),
            lambda: RunnableParallel({1: one}),
            lambda: one.with_retry(stop_after_attempt="two"),
        )
    ]


def case_attempts_that_are_none(env):
    return env.error(lambda: RunnableLambda(int).with_retry(stop_after_attempt=0).invoke("7"))


def case_what_was_said_in_other_forms(env):
    history = InMemoryChatMessageHistory()
    history.add_user_message([{"type": "text", "text": "a"}])
    history.add_ai_message(["b"])
    refused = [
        _is_refused(lambda it=it: history.add_user_message(it)) for it in (None, 3, {"a": 1})
    ]
    refused += [_is_refused(lambda it=it: history.add_ai_message(it)) for it in (None, 3, {"a": 1})]
    return history.messages, refused


def _made(make):
    try:
        return type(make()).__name__
    except ValueError:
        return "refused"


def case_what_cannot_configure_a_runnable(env):
    which = ConfigurableField(id="which")
    return [
        _made(lambda: Repeat().configurable_fields(times="times")),
        _made(lambda: Repeat().configurable_fields(times=3)),
        _made(lambda: Repeat().configurable_alternatives("which", other=Repeat())),
        _made(lambda: Repeat().configurable_alternatives(which, other=5)),
        _made(lambda: Repeat().configurable_alternatives(which, other=None)),
        _made(lambda: Repeat().configurable_alternatives(which, other=lambda: Repeat())),
    ]


def case_configs_one_after_the_other(env):
    field = ConfigurableField(id="times")
    r = Repeat(times=1).configurable_fields(times=field).with_config(configurable={"times": 3})
    return [r.invoke("a"), r.with_config(tags=["t"]).invoke("a"), r.with_config(None).invoke("a")]


def case_choices_of_one_name(env):
    which = ConfigurableField(id="which_of_two")
    shown = []
    for names in (("a", "b"), ("c", "d")):
        options = {name: Repeat() for name in names}
        schema = Repeat().configurable_alternatives(which, **options).get_config_jsonschema()
        shown.append(schema["$defs"]["which_of_two"]["enum"])
    return shown


def case_limits_of_a_bound_graph(env):
    def counts(state):
        return {"n": state["n"] + 1}

    builder = StateGraph(Counted)
    builder.add_node("count", counts).add_edge(START, "count")
    builder.add_conditional_edges(
        "count", lambda s: "count" if s["n"] < 40 else END, ["count", END]
    )
    graph = builder.compile()
    return [graph.bind().invoke({"n": 0}), graph.bind().with_config(tags=["t"]).invoke({"n": 0})]
