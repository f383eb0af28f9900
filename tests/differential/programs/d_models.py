"""Chat models and text models: results, callbacks, caches, structured output, fakes."""

from typing import Any, TypedDict

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import (
    LLM,
    BaseChatModel,
    FakeListChatModel,
    FakeListLLM,
    FakeMessagesListChatModel,
    FakeStreamingListLLM,
    ParrotFakeChatModel,
    SimpleChatModel,
)
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, GenerationChunk
from pydantic import BaseModel


def said(message):
    return (
        type(message).__name__,
        message.content,
        message.response_metadata,
        message.additional_kwargs,
        getattr(message, "tool_calls", None),
        getattr(message, "usage_metadata", None),
    )


def shown(result):
    rows = [
        [
            (type(g).__name__, g.text, g.generation_info, said(g.message))
            if hasattr(g, "message")
            else (type(g).__name__, g.text, g.generation_info)
            for g in candidates
        ]
        for candidates in result.generations
    ]
    return rows, result.llm_output, len(result.run or [])


class Events(BaseCallbackHandler):
    run_inline = True

    def __init__(self):
        self.heard = []

    def on_chat_model_start(self, serialized, messages, **kwargs):
        kept = ("invocation_params", "options", "name", "batch_size", "tags")
        asked = [[m.content for m in batch] for batch in messages]
        self.heard.append(("chat", asked, {k: kwargs.get(k) for k in kept}))

    def on_llm_start(self, serialized, prompts, **kwargs):
        kept = ("invocation_params", "options", "name", "batch_size")
        self.heard.append(("llm", prompts, {k: kwargs.get(k) for k in kept}))

    def on_llm_new_token(self, token, **kwargs):
        self.heard.append(("token", token))

    def on_llm_end(self, response, **kwargs):
        self.heard.append(("end", shown(response)))

    def on_llm_error(self, error, **kwargs):
        self.heard.append(("error", type(error).__name__))


class Counting(BaseChatModel):
    count: int = 0
    reply: Any = None

    @property
    def _llm_type(self):
        return "counting"

    @property
    def _identifying_params(self):
        return {"kind": "c"}

    def bind_tools(self, tools, *, tool_choice=None, **kwargs):
        return self.bind(tools=tools, tool_choice=tool_choice)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.count += 1
        if messages[-1].content == "fail":
            raise ValueError("failed")
        message = self.reply or AIMessage(
            f"{messages[-1].content}{self.count}{stop}",
            usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
        )
        return ChatResult(
            generations=[ChatGeneration(message=message, generation_info={"f": 1})],
            llm_output={"o": 1},
        )


class Streaming(Counting):
    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        for word in ("a ", "b"):
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))


def case_generate(env):
    events = Events()
    model = Counting(callbacks=[events], tags=["own"])
    result = model.generate([[HumanMessage("a")], [HumanMessage("b")]], stop=["s"], foo=3)
    return shown(result), events.heard


async def case_agenerate(env):
    events = Events()
    model = Counting()
    result = await model.agenerate([[HumanMessage("a")]], callbacks=[events], tags=["t"])
    return shown(result), events.heard


def case_generate_fails(env):
    events = Events()
    model = Counting(callbacks=[events])
    error = env.error(lambda: model.generate([[HumanMessage("a")], [HumanMessage("fail")]]))
    return error, [e[0] for e in events.heard if e[0] != "end"]


def case_cache(env):
    from langchain_core.caches import InMemoryCache

    events = Events()
    model = Counting(cache=InMemoryCache(), callbacks=[events])
    seen = [model.invoke("a"), model.invoke("a"), model.invoke("b"), model.invoke("a", stop=["s"])]
    again = model.invoke([HumanMessage("a", id="other")])
    return (
        [said(m) for m in seen],
        said(again),
        [e[0] for e in events.heard],
        seen[0].id == seen[1].id,
    )


def case_answers_of_a_cache_that_are_changed(env):
    from langchain_core.caches import InMemoryCache

    model = Counting(cache=InMemoryCache())
    first = model.invoke("a").content
    model.invoke("a").content = "changed by its caller"
    return model.invoke("a").content == first


async def case_cache_async(env):
    from langchain_core.caches import InMemoryCache

    cache = InMemoryCache(maxsize=1)
    model = Counting(cache=cache)
    seen = [await model.ainvoke(text) for text in ("a", "a", "b", "a")]
    await cache.aclear()
    return [said(m) for m in seen], (await model.ainvoke("a")).content


def case_global_cache(env):
    from langchain_core.caches import InMemoryCache
    from langchain_core.globals import get_llm_cache, set_llm_cache

    before = env.error(lambda: Counting(cache=True).invoke("a"))
    set_llm_cache(InMemoryCache())
    try:
        model, without = Counting(), Counting(cache=False)
        text = Simple_llm()
        return (
            before,
            [model.invoke("a").content, model.invoke("a").content],
            [without.invoke("a").content, without.invoke("a").content],
            [text.invoke("a"), text.invoke("a"), text.batch(["a", "b", "b"])],
            type(get_llm_cache()).__name__,
        )
    finally:
        set_llm_cache(None)


def Simple_llm(**fields):
    class Numbered(LLM):
        n: int = 0

        @property
        def _llm_type(self):
            return "numbered"

        def _call(self, prompt, stop=None, run_manager=None, **kwargs):
            self.n += 1
            if prompt == "fail":
                raise ValueError("failed")
            return f"<{prompt}|{stop}|{sorted(kwargs)}|{self.n}>"

    return Numbered(**fields)


def case_text_models(env):
    events = Events()
    model = Simple_llm(callbacks=[events])
    results = [
        model.invoke([SystemMessage("s"), HumanMessage("h")], stop=["x"], extra=1),
        model.batch(["a", "b"]),
        list(model.stream("c")),
        shown(model.generate(["d", "e"])),
        env.error(lambda: model.invoke("fail")),
        env.error(lambda: model.generate("no list")),
    ]
    return results, events.heard


async def case_text_models_async(env):
    events = Events()
    model = Simple_llm()
    config = {"callbacks": [events], "run_name": "named"}
    one = await model.ainvoke("a", config)
    many = await model.abatch(["b", "c"])
    pieces = [piece async for piece in model.astream("d")]
    return one, sorted(m[:2] for m in many), pieces, events.heard


class Person(BaseModel):
    """A person."""

    name: str


class Plan(TypedDict):
    """A plan."""

    steps: list[str]


SCHEMA = {"title": "Thing", "type": "object", "properties": {"x": {"type": "integer"}}}


def replies(name, args):
    call = {"args": args, "id": "1"}
    yield AIMessage("", tool_calls=[{"name": name, **call}])
    yield AIMessage("", tool_calls=[{"name": name, "args": {"wrong": 1}, "id": "1"}])
    yield AIMessage("", tool_calls=[{"name": "other", **call}])
    yield AIMessage("no call")


def case_structured_output(env):
    told = []
    forms = (
        (Person, "Person", {"name": "Ann"}),
        (Plan, "Plan", {"steps": ["a"]}),
        (SCHEMA, "Thing", {"x": 1}),
    )
    for schema, name, args in forms:
        for reply in replies(name, args):
            model = Counting(reply=reply)
            plain = env.error(lambda: str(model.with_structured_output(schema).invoke("q")))
            raw = model.with_structured_output(schema, include_raw=True).invoke("q")
            told.append(
                (
                    plain,
                    sorted(raw),
                    str(raw["parsed"]),
                    type(raw["parsing_error"]).__name__ in ("NoneType",),
                )
            )
    return told


def case_structured_output_of_arguments_that_are_cut_off(env):
    told = []
    for schema, name in ((Person, "Person"), (SCHEMA, "Thing")):
        call = {"name": name, "args": "{", "id": "1", "error": None}
        model = Counting(reply=AIMessage("", invalid_tool_calls=[call]))
        raw = model.with_structured_output(schema, include_raw=True).invoke("q")
        told.append(env.error(lambda: str(model.with_structured_output(schema).invoke("q"))))
        told.append((raw["parsed"], raw["parsing_error"] is None))
    return told


async def case_structured_output_async(env):
    model = Counting(reply=next(replies("Person", {"name": "Ann"})))
    value = await model.with_structured_output(Person).ainvoke("q")
    return value.name


async def case_structured_output_of_a_model_that_does_not_stream(env):
    model = Counting(reply=next(replies("Person", {"name": "Ann"})))
    return [v.name async for v in model.with_structured_output(Person).astream("q")]


def case_models_without_tools(env):
    model = FakeListChatModel(responses=["x"])
    return (
        env.error(lambda: model.bind_tools([])),
        env.error(lambda: model.with_structured_output(Person)),
        env.error(lambda: model.with_structured_output(Person, includ_raw=True)),
    )


def case_simple_chat_model(env):
    class Shout(SimpleChatModel):
        @property
        def _llm_type(self):
            return "shout"

        def _call(self, messages, stop=None, run_manager=None, **kwargs):
            return messages[-1].content.upper()

    model = Shout()
    return (
        said(model.invoke("hi")),
        [said(c) for c in model.stream("x")],
        len(model.batch(["a", "b"])),
    )


def case_disable_streaming(env):
    told = []
    for setting in (False, True, "tool_calling"):
        model = Streaming(disable_streaming=setting)
        told.append([c.content for c in model.stream("x")])
        told.append([c.content for c in model.stream("x", tools=[{"a": 1}])])
    return told


async def case_disable_streaming_async(env):
    model = Streaming(disable_streaming="tool_calling")
    return [c.content async for c in model.astream("x")], [
        c.content async for c in model.astream("x", tools=[{"a": 1}])
    ]


def case_fakes(env):
    chat = FakeMessagesListChatModel(responses=[AIMessage("1"), AIMessage("2")])
    text = FakeListLLM(responses=["a", "b"])
    streaming = FakeStreamingListLLM(responses=["ab", "c"])
    failing = FakeStreamingListLLM(responses=["abc"], error_on_chunk_number=1)
    return (
        [chat.invoke("x").content for _ in range(3)],
        [text.invoke("x") for _ in range(3)],
        list(streaming.stream("x")),
        env.error(lambda: list(failing.stream("x"))),
        said(ParrotFakeChatModel().invoke([AIMessage("hey")])),
    )


def case_rate_limiter(env):
    from langchain_core.rate_limiters import BaseRateLimiter

    taken = []

    class Limiter(BaseRateLimiter):
        def acquire(self, *, blocking=True):
            taken.append(blocking)
            return True

        async def aacquire(self, *, blocking=True):
            return self.acquire(blocking=blocking)

    model = Streaming(rate_limiter=Limiter())
    model.invoke("a")
    model.batch(["a", "b"])
    list(model.stream("a"))
    return taken


def case_rate_limiter_in_memory(env):
    from langchain_core.rate_limiters import InMemoryRateLimiter

    limiter = InMemoryRateLimiter(requests_per_second=0.001, max_bucket_size=5)
    return limiter.acquire(blocking=False), limiter.acquire(blocking=False)


def case_token_counts(env):
    class Words(Counting):
        def get_token_ids(self, text):
            return list(range(len(text.split())))

    given = Counting(custom_get_token_ids=lambda text: [1, 2, 3])
    model = Words()
    messages = [HumanMessage("a b"), SystemMessage("c")]
    return (
        model.get_num_tokens("a b c"),
        model.get_num_tokens_from_messages(messages),
        given.get_num_tokens("x"),
    )


def case_chunks_of_generations(env):
    one = GenerationChunk(text="a", generation_info={"k": "x"})
    two = GenerationChunk(text="b", generation_info={"k": "y", "n": 1})
    total = one + two
    return total.text, total.generation_info


class Candidates(BaseChatModel):
    """Gives as many candidates as it is asked for."""

    @property
    def _llm_type(self):
        return "candidates"

    def _generate(self, messages, stop=None, run_manager=None, n=1, **kwargs):
        given = [
            ChatGeneration(message=AIMessage(str(i)), generation_info={"i": i}) for i in range(n)
        ]
        return ChatResult(generations=given, llm_output={"token_usage": {"total": 3}})


def case_what_is_told_of_several_candidates(env):
    model = Candidates()
    answers = [model.invoke("q", n=n).response_metadata for n in (1, 2)]
    many = [model.generate([[HumanMessage("q")]], n=n) for n in (1, 2)]
    told = [[g.message.response_metadata for g in each.generations[0]] for each in many]
    return answers, told, [each.llm_output for each in many]
