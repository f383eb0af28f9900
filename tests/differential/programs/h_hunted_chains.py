"""Realistic chains in which several features meet: configs, fallbacks, retries, events."""

import asyncio
from operator import itemgetter
from typing import Annotated, Any, TypedDict

from langchain_core.callbacks import BaseCallbackHandler, adispatch_custom_event
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, trim_messages
from langchain_core.output_parsers import JsonOutputParser, StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import (
    ConfigurableField,
    RunnableBranch,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    chain,
)
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


def model(*texts):
    return GenericFakeChatModel(messages=iter([AIMessage(text) for text in texts]))


class Hears(BaseCallbackHandler):
    def __init__(self):
        self.told = []

    def on_chain_start(self, serialized, inputs, *, name=None, tags=None, metadata=None, **kwargs):
        self.told.append(("start", name, sorted(tags or []), metadata))

    def on_chain_end(self, outputs, **kwargs):
        self.told.append(("end", outputs))

    def on_chain_error(self, error, **kwargs):
        self.told.append(("error", type(error).__name__))

    def on_retry(self, state, **kwargs):
        self.told.append(("retry",))

    def on_custom_event(self, name, data, **kwargs):
        self.told.append(("custom", name, data))


def seen(event):
    data = {key: value for key, value in event["data"].items() if key != "error"}
    if event["event"] == "on_prompt_end":
        data["output"] = data["output"].to_messages()
    return event["event"], event["name"], sorted(event["tags"]), data


async def events(runnable, given, config=None, **kwargs):
    return [
        seen(one) async for one in runnable.astream_events(given, config, version="v2", **kwargs)
    ]


def fails(x):
    raise ValueError("no")


def failing_until(count):
    calls = []

    def flaky(x):
        calls.append(x)
        if len(calls) < count:
            raise ConnectionError("again")
        return x * 10

    return RunnableLambda(flaky), calls


def case_configs_through_nested_maps(env):
    def where(x, config):
        return sorted(config["tags"]), config["metadata"], config["configurable"]

    inner = RunnableParallel(a=where, b=RunnableLambda(where).with_config(tags=["b"]))
    outer = RunnablePassthrough.assign(in_=inner.with_config(metadata={"m": 1}))
    config = {"tags": ["top"], "metadata": {"t": 0}, "configurable": {"k": "v"}}
    return outer.invoke({"x": 1}, config)


def case_fallbacks_that_are_told_the_error(env):
    def second(given):
        return given["x"], type(given["error"]).__name__

    runnable = RunnableLambda(fails).with_fallbacks(
        [RunnableLambda(second)], exceptions_to_handle=(ValueError,), exception_key="error"
    )
    return runnable.invoke({"x": 1}), env.error(lambda: runnable.invoke(5))


def case_fallbacks_of_a_batch_with_errors_kept(env):
    def odd(x):
        if x % 2:
            raise ValueError(x)
        return x

    def big(x):
        if x > 2:
            raise KeyError(x)
        return -x

    runnable = RunnableLambda(odd).with_fallbacks([RunnableLambda(big)])
    kept = runnable.batch([1, 2, 3, 4], return_exceptions=True)
    return [type(one).__name__ if isinstance(one, Exception) else one for one in kept]


def case_retries_inside_of_a_sequence_are_told(env):
    flaky, calls = failing_until(3)
    runnable = RunnableLambda(lambda x: x + 1) | flaky.with_retry(
        stop_after_attempt=3, wait_exponential_jitter=False
    )
    hears = Hears()
    return runnable.invoke(1, {"callbacks": [hears]}), calls, hears.told


def case_retries_that_end_in_a_fallback(env):
    flaky, calls = failing_until(9)
    runnable = flaky.with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
    runnable = runnable.with_fallbacks([RunnableLambda(lambda x: "gave up")])
    return runnable.invoke(1), runnable.batch([2, 3]), sorted(calls)


async def case_events_of_a_prompt_a_model_and_a_parser(env):
    prompt = ChatPromptTemplate.from_messages([("system", "be {mood}"), ("human", "{text}")])
    runnable = prompt | model("hello there") | StrOutputParser()
    return await events(runnable, {"mood": "kind", "text": "hi"}, {"tags": ["top"]})


async def case_events_chosen_by_name_tag_and_type(env):
    def runnable():
        step = RunnableLambda(lambda x: x + 1).with_config(run_name="step", tags=["chosen"])
        return step | RunnableLambda(lambda x: x * 2).with_config(run_name="double") | str

    return (
        await events(runnable(), 1, include_names=["double"]),
        await events(runnable(), 1, include_tags=["chosen"]),
        await events(runnable(), 1, include_types=["chain"], exclude_names=["step"]),
        await events(runnable(), 1, exclude_tags=["chosen"], include_names=["step", "double"]),
    )


async def case_events_of_a_failing_step_with_a_fallback(env):
    runnable = RunnableLambda(fails).with_fallbacks([RunnableLambda(lambda x: "saved")])
    return await events(runnable | (lambda x: x.upper()), 1)


async def case_events_of_custom_data_in_a_graph(env):
    async def node(state, config):
        await adispatch_custom_event("progress", {"n": len(state["messages"])}, config=config)
        return {"messages": [AIMessage("done", id="a")]}

    graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()
    told = await events(graph, {"messages": [HumanMessage("x", id="h")]})
    return [(one[0], one[1], one[3].get("n")) for one in told]


async def case_events_of_a_generator(env):
    async def words(chunks):
        async for chunk in chunks:
            for word in chunk.split():
                yield word + " "

    return await events(RunnableLambda(lambda x: x) | RunnableGenerator(words), "a b c")


def case_streams_of_maps_of_models(env):
    runnable = RunnableParallel(
        one=model("a b") | StrOutputParser(), two=lambda x: "two", three=itemgetter(0)
    )
    parts = list(runnable.stream("hi"))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return sorted(map(repr, parts)), dict(sorted(whole.items()))


def case_streams_of_partial_json(env):
    runnable = model('{"a": [1, 2], "b": {"c": "x y"}}') | JsonOutputParser()
    return list(runnable.stream("hi"))


def case_a_branch_with_configs_and_listeners(env):
    told = []
    branch = RunnableBranch(
        (lambda x: x > 5, RunnableLambda(lambda x: "big").with_config(run_name="big")),
        (lambda x: x > 0, RunnableLambda(lambda x: "small")),
        lambda x: "none",
    ).with_listeners(
        on_start=lambda run: told.append(("start", run.name, run.inputs)),
        on_end=lambda run: told.append(
            ("end", run.outputs, [each.name for each in run.child_runs])
        ),
    )
    return [branch.invoke(x) for x in (9, 1, -1)], told


def case_configurable_fields_through_a_sequence(env):
    prompt = ChatPromptTemplate.from_template("{a}").configurable_alternatives(
        ConfigurableField(id="prompt"),
        default_key="plain",
        loud=ChatPromptTemplate.from_template("{a}!"),
        made=lambda: ChatPromptTemplate.from_template("made {a}"),
    )
    runnable = prompt | (lambda value: value.to_string())
    given = {"a": "x"}
    return (
        runnable.invoke(given),
        runnable.with_config(configurable={"prompt": "loud"}).invoke(given),
        runnable.invoke(given, {"configurable": {"prompt": "made"}}),
        env.error(lambda: runnable.invoke(given, {"configurable": {"prompt": "zz"}})),
        [(spec.id, spec.default) for spec in runnable.config_specs],
    )


def case_a_chain_decorator_that_calls_others(env):
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("past"), ("human", "{q}")])

    @chain
    def ask(given):
        messages = prompt.invoke(given)
        return (model("answer") | StrOutputParser()).invoke(messages) + str(
            len(messages.to_messages())
        )

    hears = Hears()
    result = ask.invoke({"past": [("ai", "p")], "q": "x"}, {"callbacks": [hears], "tags": ["t"]})
    return result, [one[:3] for one in hears.told if one[0] == "start"]


def case_batches_with_one_config_each(env):
    def tell(x, config):
        return x, config["tags"], config["metadata"].get("n")

    configs = [{"tags": [str(n)], "metadata": {"n": n}} for n in range(3)]
    return RunnableLambda(tell).batch([1, 2, 3], configs)


def case_batches_as_they_are_done(env):
    runnable = RunnableLambda(lambda x: x * 2)
    return sorted(runnable.batch_as_completed([1, 2, 3], {"max_concurrency": 2}))


def case_each_of_a_list_with_retries_and_errors(env):
    flaky, _calls = failing_until(2)
    each = flaky.with_retry(stop_after_attempt=2, wait_exponential_jitter=False).map()
    return each.invoke([1, 2]), each.with_config(run_name="each").get_name()


def case_picks_and_assigns(env):
    runnable = (
        RunnablePassthrough.assign(double=lambda x: x["n"] * 2)
        | RunnablePassthrough.assign(sum=lambda x: x["n"] + x["double"])
    ).pick(["sum", "n"])
    return (
        runnable.invoke({"n": 2}),
        list(runnable.stream({"n": 3})),
        runnable.pick("sum").invoke({"n": 1}),
    )


def case_bound_arguments_meet(env):
    def call(x, a=0, b=0):
        return x, a, b

    runnable = RunnableLambda(call).bind(a=1).bind(b=2).with_config(tags=["t"])
    return runnable.invoke(0), runnable.invoke(0, a=5), runnable.kwargs


def case_bound_tools_in_a_graph(env):
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    call = {"name": "add", "args": {"a": 1, "b": 2}, "id": "1", "type": "tool_call"}
    asks = AIMessage("", tool_calls=[call], id="ai")
    builder = StateGraph(MessagesState)
    builder.add_node("ask", lambda state: {"messages": [asks]})
    builder.add_node("tools", ToolNode([add]))
    builder.add_edge(START, "ask").add_edge("ask", "tools")
    hears = Hears()
    result = builder.compile().invoke({"messages": []}, {"callbacks": [hears]})
    return [one.content for one in result["messages"]], [
        one[1] for one in hears.told if len(one) > 3
    ]


def case_trimmed_messages_in_a_chain(env):
    trimmer = trim_messages(max_tokens=3, token_counter=len, strategy="last", start_on="human")
    runnable = trimmer | (lambda messages: [one.content for one in messages])
    talk = [HumanMessage("a"), AIMessage("b"), HumanMessage("c"), AIMessage("d"), HumanMessage("e")]
    return runnable.invoke(talk)


def case_types_that_a_chain_tells(env):
    def count(text: str) -> int:
        return len(text)

    runnable = RunnableLambda(count).with_types(output_type=int)
    inputs = (RunnablePassthrough() | runnable).get_input_jsonschema()
    return inputs, runnable.get_output_jsonschema()


async def case_async_streams_that_are_left_early(env):
    ended = []

    async def numbers(chunks):
        try:
            async for _ in chunks:
                for n in range(100):
                    yield n
        finally:
            ended.append(True)

    runnable = RunnableGenerator(numbers) | RunnableGenerator(twice)
    got = []
    stream = runnable.astream(1)
    async for part in stream:
        got.append(part)
        if len(got) == 3:
            break
    await stream.aclose()
    return got, ended


async def twice(chunks):
    async for n in chunks:
        yield n * 2


async def case_a_cancelled_chain_tells_its_listeners(env):
    begun = asyncio.Event()
    hears = Hears()

    async def waits(x):
        begun.set()
        await asyncio.sleep(60)

    running = asyncio.create_task((RunnableLambda(waits) | str).ainvoke(1, {"callbacks": [hears]}))
    await begun.wait()
    running.cancel()
    error = await env.aerror(running)
    return error, hears.told


class Talk(TypedDict):
    messages: Annotated[list, lambda old, new: old + new]
    note: Any


def case_a_graph_in_a_chain_in_a_graph(env):
    def node(state, config):
        return {"note": (sorted(config["tags"]), config["metadata"]["langgraph_node"])}

    inner = StateGraph(Talk).add_node("inner", node).add_edge(START, "inner").compile()
    step = RunnablePassthrough() | inner.with_config(tags=["in"]) | (lambda s: {"note": s["note"]})
    outer = StateGraph(Talk).add_node("outer", step).add_edge(START, "outer").compile()
    return outer.invoke({"messages": [], "note": None}, {"tags": ["out"]})


def case_a_chain_around_a_stored_graph(env):
    graph = (
        StateGraph(Talk)
        .add_node("say", lambda state: {"messages": [len(state["messages"])]})
        .add_edge(START, "say")
        .compile(checkpointer=env.saver())
    )
    entry = RunnableLambda(lambda text: {"messages": [text]})
    config = {"configurable": {"thread_id": "1"}}
    results = [(entry | graph | itemgetter("messages")).invoke(text, config) for text in "ab"]
    return results, list((entry | graph).stream("c", config))
