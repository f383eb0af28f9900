"""Runnables: what LangChain's own tests showed. Batches that are listened to, methods through a
config, types in brackets, keys that pydantic keeps for itself, sessions without an id."""

import asyncio
from typing import Any

from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import (
    AddableDict,
    ConfigurableField,
    ConfigurableFieldSpec,
    Runnable,
    RunnableBranch,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnableSerializable,
    ensure_config,
)
from langchain_core.runnables.config import get_async_callback_manager_for_config
from langchain_core.runnables.graph import Edge, Graph, Node
from langchain_core.runnables.history import RunnableWithMessageHistory


def listened_to(heard):
    def half(given):
        if given["n"] % 2:
            raise ValueError("odd")
        return {"n": given["n"] // 2}

    return RunnableLambda(half).with_listeners(
        on_start=lambda run: heard.append(("start", str(run.inputs))),
        on_end=lambda run: heard.append(("end", str(run.inputs), str(run.outputs))),
        on_error=lambda run: heard.append(("error", str(run.inputs))),
    )


async def _acompleted(runnable, inputs):
    return [one async for one in runnable.abatch_as_completed(inputs)]


def case_listeners_hear_each_run_of_a_batch(env):
    heard = []
    half = listened_to(heard)
    ways = {
        "batch": lambda: half.batch([{"n": 2}, {"n": 4}]),
        "one fails": lambda: half.batch([{"n": 2}, {"n": 3}], return_exceptions=True),
        "completed": lambda: list(half.batch_as_completed([{"n": 2}, {"n": 4}])),
        "map": lambda: half.map().invoke([{"n": 2}, {"n": 4}], {"max_concurrency": 1}),
        "sequence": lambda: (half | half).batch([{"n": 4}, {"n": 8}]),
        "abatch": lambda: asyncio.run(half.abatch([{"n": 2}, {"n": 4}])),
        "amap": lambda: asyncio.run(half.map().ainvoke([{"n": 2}, {"n": 4}])),
        "acompleted": lambda: asyncio.run(_acompleted(half, [{"n": 2}, {"n": 4}])),
        "none": lambda: half.batch([]),
    }
    found = {}
    for name, way in ways.items():
        way()
        found[name] = sorted(heard)
        heard.clear()
    return found


class Voice(RunnableSerializable[str, str]):
    tone: str = "low"

    def invoke(self, input, config=None, **kwargs):
        return f"{self.tone} {input}"

    def says(self):
        return self.tone

    def says_of(self, what, config=None):
        return self.tone, what, sorted((config or {}).get("tags") or [])

    def says_by_name(self, *, config=None):
        return self.tone, sorted((config or {}).get("tags") or [])


def case_methods_are_called_on_what_the_config_makes(env):
    voice = Voice().configurable_fields(tone=ConfigurableField(id="tone"))
    high: dict[str, Any] = {"configurable": {"tone": "high"}}
    bound = voice.with_config(**high)
    either = voice.configurable_alternatives(ConfigurableField(id="which"), other=Voice())
    mid = {"configurable": {"tone": "mid"}, "tags": ["t"]}
    return [
        voice.says(),
        bound.says(),
        voice.says_of("x"),
        voice.says_of("x", high),
        bound.says_of("x"),
        bound.says_of("x", mid),
        voice.says_by_name(config=mid),
        bound.says_by_name(),
        bound.with_types(input_type=str).says_of("x", mid),
        bound.with_types(input_type=str).says(),
        env.error(lambda: bound.nothing_of_this_name),
        either.with_config(**high).says(),
        either.with_config(**high).says_of("x", mid),
        either.with_config(**high).with_types(input_type=str).says_by_name(),
    ]


def case_methods_of_what_is_bound_get_its_config(env):
    voice = Voice().with_config(tags=["bound"])
    return [
        voice.says(),
        voice.says_of("x"),
        voice.says_of("x", {"tags": ["call"]}),
        voice.says_of(what="x", config={"tags": ["call"]}),
        voice.says_by_name(),
        voice.tone,
    ]


class Keeps(RunnableSerializable[str, str]):
    tone: str = "low"
    seen: list

    def invoke(self, input, config=None, **kwargs):
        self.seen.append(sorted(config))
        return input


def case_configurable_runnables_get_a_complete_config(env):
    seen: list = []
    fields = Keeps(seen=seen).configurable_fields(tone=ConfigurableField(id="tone"))
    alternatives = Keeps(seen=seen).configurable_alternatives(
        ConfigurableField(id="which"), other=Keeps(seen=seen)
    )
    fields.with_config(tags=["t"]).invoke("x")
    fields.invoke("x", {"configurable": {"tone": "high"}})
    alternatives.invoke("x", {"configurable": {"which": "other"}})
    alternatives.with_config(configurable={"which": "other"}).batch(["x"])
    return seen and [len(seen), *(one for one in seen[0] if one != "max_concurrency")]


def case_a_branch_has_the_types_of_its_brackets(env):
    branch = RunnableBranch[int, str]((lambda n: n > 0, lambda n: "up"), lambda n: "down")
    return branch.get_input_jsonschema(), branch.get_output_jsonschema(), branch.invoke(1)


def case_keys_that_pydantic_keeps_for_itself(env):
    prompt = ChatPromptTemplate([("system", "{model_json_schema} {_private} {json} {plain}")])
    return [
        prompt.get_input_jsonschema(),
        (prompt | str).get_input_jsonschema(),
        RunnableParallel(_a=lambda x: x, json=lambda x: x).get_output_jsonschema(),
        prompt.invoke({"model_json_schema": 1, "_private": 2, "json": 3, "plain": 4}).to_string(),
    ]


class Untold(Runnable[int, int]):
    @property
    def InputType(self):
        raise TypeError

    @property
    def OutputType(self):
        raise TypeError

    def invoke(self, input, config=None, **kwargs):
        return input


def case_pictures_of_types_that_cannot_be_told(env):
    def chosen(n: int) -> Runnable[int, int]:
        return Untold()

    parallel = RunnableLambda(chosen) | RunnableParallel(a=chosen, b=str)
    return [
        Untold().get_graph().draw_mermaid(),
        (Untold() | Untold()).get_graph().draw_mermaid(),
        len(parallel.get_graph().to_json(with_schemas=True)["nodes"]),
        env.error(lambda: Untold().get_input_schema()),
    ]


class TellsStartAndEnd(Runnable[int, str]):
    def invoke(self, input, config=None, **kwargs):
        raise NotImplementedError

    async def astream(self, input, config=None, **kwargs):
        config = ensure_config(config)
        manager = get_async_callback_manager_for_config(config)
        run = await manager.on_chain_start(
            None, input, name=self.get_name(), run_id=config.get("run_id")
        )
        for word in ("a", "b"):
            yield word
        await run.on_chain_end("ab")


class Called(Runnable[int, int]):
    def invoke(self, input, config=None, **kwargs):
        return self._call_with_config(abs, input, config)

    async def ainvoke(self, input, config=None, **kwargs):
        async def work(n):
            return abs(n)

        return await self._acall_with_config(work, input, config)


async def case_events_of_runnables_that_tell_of_themselves(env):
    found = []
    for runnable in (TellsStartAndEnd(), Called(), TellsStartAndEnd() | RunnableLambda(str)):
        events = [event async for event in runnable.astream_events(1, version="v2")]
        found.append([(one["event"], one["name"], one["data"]) for one in events])
    return found


def case_sessions_of_a_function_without_parameters(env):
    history = InMemoryChatMessageHistory()
    chat = RunnableWithMessageHistory(
        RunnableLambda(lambda messages: AIMessage(f"{len(messages)} so far")), lambda: history
    )
    named = {"configurable": {"session_id": "x"}}
    said = [chat.invoke("hi").content, chat.invoke("hi", named).content]
    asyncio.run(chat.ainvoke("hi"))
    return said, len(history.messages)


def case_sessions_of_a_function_with_other_parameters(env):
    history = InMemoryChatMessageHistory()
    specs = [ConfigurableFieldSpec(id=name, annotation=str) for name in ("user", "place")]

    def invoke(session):
        chat = RunnableWithMessageHistory(
            RunnableLambda(lambda messages: AIMessage("yes")),
            session,
            history_factory_config=specs,
        )
        return chat.invoke("hi", {"configurable": {"user": "ann", "place": "here"}}).content

    return [
        env.error(lambda: invoke(lambda user, other: history)),
        invoke(lambda place, user: history),
    ]


def case_dicts_that_do_not_add(env):
    return [
        env.error(lambda: AddableDict(a=1) + AddableDict(a="x")),
        env.error(lambda: {"a": 1} + AddableDict(a="x")),
        AddableDict(a=None, b=1) + AddableDict(a="x", b=None),
    ]


def case_streams_of_dicts_that_do_not_add(env):
    def chunks(_):
        yield AddableDict(a=1, b="x")
        yield AddableDict(a="y")

    return (
        RunnableLambda(chunks).invoke(None),
        list((RunnableGenerator(chunks) | RunnableLambda(dict)).stream(None)),
        list((RunnableGenerator(chunks) | RunnablePassthrough()).stream(None)),
    )


def case_which_errors_a_batch_tries_again(env):
    calls = []

    def fail(n):
        calls.append(n)
        raise (ValueError if n == 1 else RuntimeError)(n)

    again = RunnableLambda(fail).with_retry(
        stop_after_attempt=2, wait_exponential_jitter=False, retry_if_exception_type=(ValueError,)
    )
    errors = again.batch([1, 2], return_exceptions=True)
    return [type(error).__name__ for error in errors], sorted(calls)


def case_pictures_of_nodes_with_sets_in_their_metadata(env):
    metadata = {"tags": {"b", "c", "a"}, "order": ["b", "a"], "inside": {"a": 1}}
    nodes = {name: Node(name, name, Voice, None) for name in ("x", "y", "z")}
    nodes["y"] = Node("y", "y", Voice, metadata)
    return Graph(nodes, [Edge("x", "y"), Edge("y", "z")]).draw_mermaid()
