"""Classes that programs derive from plait's, with fields, bounds and validators of their own."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.documents.compressor import BaseDocumentCompressor
from langchain_core.example_selectors import BaseExampleSelector
from langchain_core.language_models import LLM, BaseChatModel, BaseLLM, SimpleChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.output_parsers import (
    BaseGenerationOutputParser,
    BaseLLMOutputParser,
    BaseOutputParser,
    BaseTransformOutputParser,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import (
    BaseChatPromptTemplate,
    BasePromptTemplate,
    PromptTemplate,
    StringPromptTemplate,
)
from langchain_core.prompts.message import BaseMessagePromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, Runnable, RunnableSerializable
from langchain_core.tools import BaseTool, InjectedToolCallId, ToolException
from langchain_core.tracers import BaseTracer
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore
from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationInfo,
    computed_field,
    field_validator,
    model_validator,
)


class Options(BaseModel):
    top: int = 1


class Provider(SimpleChatModel):
    """A model as packages of providers write theirs."""

    model_name: str = Field(default="m-1", alias="model")
    temperature: float | None = Field(default=None, le=2, description="how warm")
    max_tokens: int | None = Field(None, validation_alias=AliasChoices("max_tokens", "limit"))
    api_key: SecretStr | None = None
    options: Options = Field(default_factory=Options)
    model_kwargs: dict[str, Any] = Field(default_factory=dict)
    client: Any = Field(default=None, exclude=True)
    kind: ClassVar[str] = "provider"
    _count: int = PrivateAttr(default=0)
    _url: str = PrivateAttr()

    model_config = ConfigDict(populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def build_extra(cls, values: dict[str, Any]) -> Any:
        known = {*cls.model_fields, "model", "limit"}
        extra = {key: values[key] for key in values if key not in known}
        rest = {key: values[key] for key in values if key in known}
        return {**rest, "model_kwargs": {**extra, **rest.get("model_kwargs", {})}}

    @field_validator("temperature")
    @classmethod
    def not_negative(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is not None and value < 0:
            raise ValueError(f"{cls.kind}: {info.field_name} of {info.data['model_name']}")
        return value

    @model_validator(mode="after")
    def connect(self) -> Self:
        if self.model_name == "broken":
            raise ValueError("no such model")
        key = self.api_key.get_secret_value() if self.api_key else None
        self.client = self.client or {"key": key, "url": self._url}
        return self

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._url = f"https://{self.model_name}"

    @property
    def _llm_type(self):
        return "provider"

    def _call(self, messages, stop=None, run_manager=None, **kwargs):
        self._count += 1
        return f"{self.model_name} {self._count} {self.temperature} {self.max_tokens}"


def case_models_of_providers(env):
    warm = Provider(model="m-2", temperature=1, api_key="s3", options={"top": 4}, top_p=0.5)
    small = Provider(model_name="m-3", limit="7")
    return (
        [warm.invoke("x").content, warm.invoke("x").content, small.invoke("x").content],
        [warm.options, warm.model_kwargs, str(warm.api_key), warm.client, type(warm.temperature)],
        [small.max_tokens, small.client, Provider.kind, hasattr(small, "_unknown")],
        [Provider.model_fields["temperature"].description, "cache" in Provider.model_fields],
    )


def case_values_that_do_not_fit(env):
    return [
        env.error(lambda values=values: Provider(**values))
        for values in (
            {"temperature": 3},
            {"temperature": -1},
            {"limit": "many"},
            {"options": {"top": "high"}},
            {"model": "broken"},
            {"model": None},
        )
    ]


def case_what_a_program_may_configure(env):
    model = Provider(model="a").configurable_fields(
        temperature=ConfigurableField(id="t"),
        max_tokens=ConfigurableField(id="limit", name="Limit"),
    )
    chosen = model.with_config(configurable={"t": 0.5, "limit": 3})
    return (
        model.config_schema().model_json_schema(),
        [tuple(spec) for spec in model.config_specs],
        chosen.invoke("q").content,
        env.error(lambda: chosen.invoke("q", {"configurable": {"t": "hot"}})),
    )


class FromFile(LLM):
    path: str
    size: int = 3

    def __init__(self, path: str, **kwargs: Any):
        super().__init__(path=path, **kwargs)
        self.size += 1

    @property
    def _llm_type(self):
        return "file"

    @cached_property
    def loaded(self):
        return self.path * 2

    @computed_field
    @property
    def area(self) -> int:
        return self.size**2

    def _call(self, prompt, stop=None, run_manager=None, **kwargs):
        return f"{self.loaded} {self.size} {self.area} {prompt}"


def case_an_init_and_computed_fields(env):
    model = FromFile("p", size="5")
    return model.invoke("q"), asyncio.run(model.abatch(["a", "b"])), model.size


class SearchInput(BaseModel):
    query: str = Field(min_length=2)


class Search(BaseTool):
    name: str = "search"
    description: str = "Searches."
    args_schema: type[BaseModel] = SearchInput
    handle_tool_error: bool | str = True
    top: int = Field(default=2, gt=0)
    rank: Callable[[str], str] = str.upper
    shorten: Callable[[str], str] = lambda text: text[:3]
    model_config = ConfigDict(extra="allow")

    def _run(self, query: str) -> str:
        if query == "boom":
            raise ToolException("bad query")
        return f"{self.rank(query)} {self.shorten(query)} {self.top}"


def case_tools_with_settings(env):
    search = Search(top="3", index="news")
    return (
        [search.invoke({"query": "abcd"}), search.invoke({"query": "boom"}), search.index],
        [Search(name="other", rank=str.title).invoke({"query": "abcd"})],
        env.error(lambda: Search(top=0)),
    )


class Derived(Search):
    name: str = "derived"
    top: int = Field(default=5, le=9)
    hint: str | None = None


def case_tools_derived_from_tools(env):
    derived = Derived(hint="h", top="4")
    return (
        [derived.invoke({"query": "abcd"}), derived.hint, Derived() == Derived(), Derived().args],
        derived.model_copy(update={"top": 7}).invoke({"query": "abcd"}),
        env.error(lambda: Derived(top=10)),
    )


class Noted(BaseTool):
    name: str = "noted"
    description: str = "Notes."

    def _run(self, text: str, call: Annotated[str, InjectedToolCallId] = "none") -> str:
        return f"{text} {call}"


def case_ids_of_calls(env):
    call = {"name": "noted", "args": {"text": "x"}, "id": "7", "type": "tool_call"}
    return Noted().invoke(call).content, env.error(lambda: Noted().invoke({"text": "x"}))


class Toy(BaseRetriever):
    documents: list[Document]
    k: int = Field(default=1, ge=1)

    def _get_relevant_documents(self, query, *, run_manager):
        return [each for each in self.documents if query in each.page_content][: self.k]


class Twice(BaseRetriever):
    inner: BaseRetriever

    def _get_relevant_documents(self, query, *, run_manager):
        return self.inner.invoke(query, {"callbacks": run_manager.get_child()}) * 2


class First(BaseDocumentCompressor):
    n: int = 1

    def compress_documents(self, documents, query, callbacks=None):
        return documents[: self.n]


def case_retrievers_with_settings(env):
    documents = [Document("cat one"), Document("cat two")]
    twice = Twice(inner=Toy(documents=documents, k="2"))
    return (
        twice.invoke("cat"),
        First(n="3").compress_documents(twice.invoke("cat"), "cat"),
        [env.error(lambda: Toy(documents=documents, k=0)), env.error(lambda: Toy())],
        [env.error(lambda: Twice(inner=3)), env.error(lambda: Toy(documents=["cat"]))],
    )


class Scored(Document):
    score: float = 0.0
    tags: list[str] = Field(default_factory=list)


def case_documents_with_fields(env):
    scored = Scored("y", score="2.5", metadata={"a": 1})
    return (
        [repr(scored), str(scored), scored.score, scored.tags, scored.model_dump()],
        [scored == Scored("y", score=2.5, metadata={"a": 1}), scored == Scored("y")],
        env.error(lambda: Scored("y", score="high")),
    )


class Lines(BaseTransformOutputParser[list[str]]):
    sep: Annotated[str, Field(min_length=1)] = "\n"

    def parse(self, text: str) -> list[str]:
        return text.split(self.sep)


class Explain(StringPromptTemplate):
    @field_validator("input_variables")
    @classmethod
    def only_one(cls, names: list[str]) -> list[str]:
        if names != ["it"]:
            raise ValueError("`it` must be the only variable")
        return names

    def format(self, **kwargs: Any) -> str:
        return f"Explain {kwargs['it'].__name__}"


def case_parsers_and_prompts_with_settings(env):
    explain = Explain(input_variables=["it"])
    return (
        (explain | FromFile("p") | Lines(sep=" ")).invoke({"it": max}),
        env.error(lambda: Lines(sep="")),
        env.error(lambda: Explain(input_variables=["other"])),
    )


class Settings(BaseModel):
    llm: BaseChatModel
    prompt: PromptTemplate | None = None
    tools: list[BaseTool] = []


class Chain(RunnableSerializable[str, str]):
    llm: BaseChatModel
    prompt: PromptTemplate = PromptTemplate.from_template("say {it}")

    def invoke(self, input, config=None, **kwargs):
        return (self.prompt | self.llm).invoke({"it": input}, config).content


def case_objects_as_fields_of_models(env):
    llm = FakeListChatModel(responses=["one"])
    settings = Settings(llm=llm, tools=[Search()])
    return (
        [settings.llm.invoke("x").content, settings.tools[0].name],
        Chain(llm=llm).invoke("hi"),
        [env.error(lambda: Settings(llm=3)), env.error(lambda: Settings(llm=llm, tools=[llm]))],
        env.error(lambda: Chain(llm="gpt")),
    )


class Shout(Runnable[str, str]):
    """What it does is a run: of a call, and of a stream."""

    def __init__(self, inner):
        self.inner = inner

    def invoke(self, input, config=None, **kwargs):
        return self._call_with_config(self._shout, input, config, **kwargs)

    async def ainvoke(self, input, config=None, **kwargs):
        return await self._acall_with_config(self._ashout, input, config, **kwargs)

    def transform(self, input, config=None, **kwargs):
        yield from self._transform_stream_with_config(input, self._letters, config, **kwargs)

    async def atransform(self, input, config=None, **kwargs):
        async for chunk in self._atransform_stream_with_config(input, self._aletters, config):
            yield chunk

    def stream(self, input, config=None, **kwargs):
        yield from self.transform(iter([input]), config, **kwargs)

    async def astream(self, input, config=None, **kwargs):
        async def one():
            yield input

        async for chunk in self.atransform(one(), config, **kwargs):
            yield chunk

    def _shout(self, text, run_manager, config, mark="!"):
        inner = self.inner.invoke(text, {"callbacks": run_manager.get_child()})
        return f"{inner.content.upper()}{mark} {config['tags']}"

    async def _ashout(self, text, config):
        return (await self.inner.ainvoke(text, config)).content.upper()

    def _letters(self, chunks, run_manager):
        for chunk in chunks:
            yield from chunk.upper()

    async def _aletters(self, chunks):
        async for chunk in chunks:
            for letter in chunk.upper():
                yield letter


def case_runnables_that_are_runs(env):
    shout = Shout(FakeListChatModel(responses=["yes"]))

    async def heard(chain):
        return [
            (each["event"], each["name"], each["tags"], each["data"].get("output"))
            async for each in chain.astream_events("ab", version="v2")
        ]

    loud = shout.with_config(tags=["loud"], run_name="loud")
    return (
        [shout.invoke("x", mark="?"), loud.invoke("x"), asyncio.run(shout.ainvoke("x"))],
        [list(shout.stream("ab")), (shout | shout).invoke("x")],
        [each[:3] for each in asyncio.run(heard(loud))],
        asyncio.run(heard(shout)),
    )


def case_methods_that_are_left_out(env):
    bases = [
        *(Runnable, RunnableSerializable, BaseRetriever, BaseTool, PromptValue),
        *(BaseChatModel, SimpleChatModel, LLM, BaseLLM),
        *(BaseLLMOutputParser, BaseGenerationOutputParser, BaseOutputParser),
        *(BaseTransformOutputParser, BasePromptTemplate, StringPromptTemplate),
        *(BaseChatPromptTemplate, BaseMessagePromptTemplate),
        *(BaseChatMessageHistory, BaseDocumentCompressor, BaseDocumentTransformer),
        *(BaseExampleSelector, BaseTracer),
    ]
    values = {BaseTool: {"name": "t", "description": "d"}}
    prompts = (BasePromptTemplate, StringPromptTemplate, BaseChatPromptTemplate)
    values |= {one: {"input_variables": []} for one in prompts}

    def made(base):
        return type("Bare", (base,), {})(**values.get(base, {}))

    return [(base.__name__, env.error(lambda base=base: made(base))) for base in bases]


def case_methods_that_come_from_elsewhere(env):
    class Doubles:
        def invoke(self, input, config=None, **kwargs):
            return input * 2

    class Half(Runnable):
        """Leaves it to others, too."""

    class Whole(Half):
        invoke = Doubles.invoke

    class Before(Doubles, Runnable): ...

    class Behind(Runnable, Doubles): ...

    class Again(Whole):
        @abstractmethod
        def more(self): ...

    class Kept(RunnableSerializable, ABC):
        @abstractmethod
        def more(self): ...

        def invoke(self, input, config=None, **kwargs):
            return input

    kinds = (Half, Whole, Before, Behind, Again, Kept)
    return [env.error(lambda kind=kind: kind().invoke(1)) for kind in kinds]


class Helped(BaseChatModel):
    """A model whose helpers have names that come to mind."""

    @property
    def _llm_type(self):
        return "helped"

    def _answer(self, text):
        return AIMessage(f"answer to {text}", id="a")

    def _chunks(self, text):
        return [ChatGenerationChunk(message=AIMessageChunk(word, id="c")) for word in text.split()]

    def _start(self):
        raise AssertionError("nobody starts this")

    _aanswer = _achunks = _astart = _made = _amade = _details = _manager = _streams = _start

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        message = self._answer(messages[-1].content)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        yield from self._chunks(messages[-1].content)


class HelpedTool(BaseTool):
    name: str = "helped"
    description: str = "Helped."
    _plan: dict = PrivateAttr(default_factory=dict)

    def _call(self, text):
        self._plan[text] = len(self._plan)
        return f"{text} {self._plan[text]}"

    def _attempt(self):
        raise AssertionError("nobody tries this")

    _acall = _aattempt = _started = _listeners = _heard = _plans = _described = _attempt

    def _run(self, text: str) -> str:
        return self._call(text)


class HelpedSearch(BaseRetriever):
    def _listeners(self):
        return [Document("heard")]

    _afind = _listeners

    def _get_relevant_documents(self, query, *, run_manager):
        return self._listeners()


class HelpedText(LLM):
    @property
    def _llm_type(self):
        return "helped text"

    def _ask(self, prompt):
        return f"asked {prompt}"

    _aask = _started = _astarted = _ask

    def _call(self, prompt, stop=None, run_manager=None, **kwargs):
        return self._ask(prompt)


class HelpedTracer(BaseTracer):
    def __init__(self):
        super().__init__()
        self.persisted = []

    def _start(self):
        raise AssertionError("nobody starts this")

    _end = _hook = _start

    def _persist_run(self, run):
        self.persisted.append(run.name)


class HelpedStore(BaseStore):
    supports_ttl = True

    def __init__(self):
        self._ttl = self._refreshes = 5
        self._inner = InMemoryStore()

    def _do(self, ops):
        return self._inner.batch(ops)

    _ado = _do

    def batch(self, ops):
        return self._do([op._replace(ttl=None) if isinstance(op, PutOp) else op for op in ops])

    async def abatch(self, ops):
        return self.batch(ops)


async def case_a_store_with_such_helpers(env):
    store = HelpedStore()
    store.put(("a",), "1", {"n": 1}, ttl=3)
    await store.aput(("a",), "2", {"n": 2})
    found = store.get(("a",), "1"), *await store.asearch(("a",))
    return [item.value for item in found]


async def case_helpers_with_names_that_come_to_mind(env):
    model, tool, search, text, tracer = (
        Helped(),
        HelpedTool(),
        HelpedSearch(),
        HelpedText(),
        HelpedTracer(),
    )
    heard = {"callbacks": [tracer]}
    call = {"type": "tool_call", "name": "helped", "id": "1", "args": {"text": "tea"}}
    return [
        model.invoke("tea").content,
        (await model.ainvoke("tea", heard)).content,
        model.generate([[HumanMessage("milk")]]).generations[0][0].text,
        [chunk.content for chunk in model.stream("a b", heard)],
        [chunk.content async for chunk in model.astream("a b")],
        tool.invoke({"text": "tea"}),
        (await tool.ainvoke(call, heard)).content,
        tool.args,
        sorted(tool.tool_call_schema.model_json_schema()["properties"]),
        search.invoke("q"),
        await search.ainvoke("q", heard),
        text.invoke("who?"),
        await text.ainvoke("who?", heard),
        text.generate(["why?"]).generations[0][0].text,
        [name for name in tracer.persisted if name],
    ]
