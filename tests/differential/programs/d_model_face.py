"""The face of a pydantic model that prompts, parsers, tools, models and chains have."""

import copy
import json
import pickle
from typing import Any

from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.documents import Document
from langchain_core.documents.base import Blob
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import (
    BaseOutputParser,
    CommaSeparatedListOutputParser,
    JsonOutputParser,
    StrOutputParser,
)
from langchain_core.output_parsers.openai_tools import JsonOutputKeyToolsParser
from langchain_core.outputs import ChatGeneration, Generation, GenerationChunk, LLMResult
from langchain_core.prompt_values import ChatPromptValueConcrete, StringPromptValue
from langchain_core.prompts import (
    ChatPromptTemplate,
    FewShotChatMessagePromptTemplate,
    FewShotPromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
)
from langchain_core.prompts.dict import DictPromptTemplate
from langchain_core.prompts.image import ImagePromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)
from langchain_core.runnables.passthrough import RunnablePick
from langchain_core.structured_query import Comparator, Comparison, StructuredQuery
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import BaseModel, Field, TypeAdapter, computed_field, field_serializer


def increase(x: int) -> int:
    """One more."""
    return x + 1


class Numbers(BaseModel):
    """Two numbers."""

    a: int
    b: int = 2


class Notes(BaseRetriever):
    size: int = 3

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return []


class Search(BaseTool):
    name: str = "search"
    description: str = "Searches."
    limit: int = Field(default=5, alias="max")
    secret: str = Field(default="", exclude=True, repr=False)
    found: list[str] = Field(default_factory=list)

    @field_serializer("limit")
    def limit_as_text(self, limit: int) -> str:
        return f"{limit} at most"

    def _run(self, query: str) -> str:
        return query


class YesOrNo(BaseOutputParser[bool]):
    yes: str = "YES"

    @computed_field
    @property
    def size(self) -> int:
        return len(self.yes)

    def parse(self, text: str) -> bool:
        return text == self.yes


class Own(BaseChatModel):
    warmth: float = 0.5

    @property
    def _llm_type(self) -> str:
        return "own"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any):
        raise NotImplementedError


class Scored(Document):
    score: float = 0.0


class Early(BaseOutputParser[str]):
    it: "Later | None" = None

    def parse(self, text: str) -> str:
        return text


class Later(BaseModel):
    a: int


def face(env: Any, thing: Any) -> dict[str, Any]:
    """What somebody sees who takes an object for a model of pydantic's."""
    kind = type(thing)
    return {
        "dump": thing.model_dump(),
        "json": env.error(lambda: thing.model_dump(mode="json")),
        "text": env.error(lambda: thing.model_dump_json()),
        "indented": env.error(lambda: thing.model_dump_json(indent=1, exclude_none=True)),
        "no_none": thing.model_dump(exclude_none=True),
        "only": thing.model_dump(include={"name", "template", "text", "page_content"}),
        "without": thing.model_dump(exclude={"name", "template", "text", "page_content"}),
        "fields": dict(thing).keys() - {"on_unknown", "encoding_matcher"},
        "required": {name for name, field in kind.model_fields.items() if field.is_required()},
        "unwritten": {
            name
            for name, field in kind.model_fields.items()
            if field.exclude and name != "on_unknown"
        },
        "extra": thing.model_extra,
        "copy": thing.model_copy() == thing == thing.model_copy(deep=True),
        "copied": copy.copy(thing) == thing == copy.deepcopy(thing),
        "kept": pickle.loads(pickle.dumps(thing)) == thing,
        "itself": kind.model_validate(thing) is thing,
        "made": kind.model_validate(dict(thing)) == thing,
        "built": kind.model_construct(**dict(thing)) == thing,
        "other": thing == 3,
        "shown": str(thing),
        "adapted": TypeAdapter(kind).dump_python(thing),
        "held": held(thing),
    }


def held(thing: Any) -> Any:
    class Holder(BaseModel):
        typed: type(thing)
        anything: Any

    holder = Holder(typed=dict(thing), anything=[thing])
    return holder.typed == thing, holder.model_dump(), holder.anything[0] is thing


def faces(env: Any, *things: Any) -> list[dict[str, Any]]:
    return [face(env, thing) for thing in things]


def case_prompts(env: Any) -> Any:
    return faces(
        env,
        PromptTemplate.from_template("hi {x}"),
        PromptTemplate.from_template("hi {x} {y}", partial_variables={"y": "1"}),
        ImagePromptTemplate(input_variables=["u"], template={"url": "{u}"}),
        MessagesPlaceholder("history", optional=True),
    )


def case_prompts_with_examples(env: Any) -> Any:
    prompt = FewShotPromptTemplate(
        examples=[{"a": "1"}],
        example_prompt=PromptTemplate.from_template("{a}"),
        suffix="{q}",
        input_variables=["q"],
    )
    return prompt.model_dump()


def case_dicts_as_prompts(env: Any) -> Any:
    prompt = DictPromptTemplate(template={"a": "{x}"}, template_format="f-string")
    return prompt.model_dump(), dict(prompt), type(prompt).model_validate(dict(prompt)) == prompt


def case_parsers(env: Any) -> Any:
    return faces(
        env,
        StrOutputParser(),
        CommaSeparatedListOutputParser(),
        JsonOutputParser(),
        JsonOutputKeyToolsParser(key_name="k"),
    )


def case_retrievers_and_embeddings(env: Any) -> Any:
    return faces(env, Notes(size=4, tags=["a"]), DeterministicFakeEmbedding(size=2))


def case_a_retriever_of_a_store(env: Any) -> Any:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=2))
    retriever = store.as_retriever(search_kwargs={"k": 2})
    dump = retriever.model_dump()
    return dump.pop("vectorstore") is store, dump


def case_models(env: Any) -> Any:
    models = [Own(warmth=1), FakeListChatModel(responses=["a"])]
    found = faces(env, *models)
    return [{name: its for name, its in one.items() if name != "shown"} for one in found]


def case_documents(env: Any) -> Any:
    return faces(
        env,
        Document("x", metadata={"a": (1, 2)}, id="i"),
        Document("x"),
        Scored(page_content="x", score=1),
    )


def case_blobs(env: Any) -> Any:
    blob = Blob.from_data("x", mime_type="text/plain")
    return blob.model_dump(), str(blob), Blob.model_validate(dict(blob)) == blob


def case_values_and_results(env: Any) -> Any:
    return faces(
        env,
        StringPromptValue(text="x"),
        ChatPromptValueConcrete(messages=[HumanMessage("x")]),
        Generation(text="x"),
        GenerationChunk(text="x", generation_info={"a": 1}),
        LLMResult(generations=[[Generation(text="x")]]),
    )


def case_results_read_back(env: Any) -> Any:
    chat = ChatGeneration(message=AIMessage("x"))
    return [
        type(one).model_validate(dict(one)) == one
        for one in (chat, Generation(text="x"), StringPromptValue(text="x"))
    ]


def case_runnables(env: Any) -> Any:
    prompt, parser = PromptTemplate.from_template("{x}"), StrOutputParser()
    made = [prompt | parser, prompt | parser | parser, RunnablePassthrough(), parser.map()]
    found = faces(env, *made, parser.bind(stop=["a"]))
    return [{name: its for name, its in one.items() if name != "required"} for one in found]


def case_runnables_of_functions(env: Any) -> Any:
    step = RunnableLambda(increase)
    made = [
        RunnableParallel(a=step, b=RunnablePassthrough()),
        RunnablePassthrough.assign(a=step),
        RunnablePick("a"),
        RunnableBranch((step, step), step),
        step.with_retry(),
        step.with_fallbacks([step]),
    ]
    return [
        (sorted(one.model_dump()), str(one), repr(one), one.model_copy() == one) for one in made
    ]


def case_equal_runnables(env: Any) -> Any:
    step, other = RunnableLambda(increase), RunnableLambda(str)
    made = [
        lambda with_: RunnableBranch((step, step), with_),
        lambda with_: step.with_fallbacks([with_]),
        lambda with_: with_.with_retry(),
        lambda with_: with_.map(),
        lambda with_: RunnableParallel(a=with_),
    ]
    return [(make(step) == make(step), make(step) == make(other)) for make in made]


def case_another_step(env: Any) -> Any:
    chain = RunnableLambda(increase) | RunnableLambda(str)
    changed = chain.model_copy(update={"first": RunnablePassthrough()})
    return changed.invoke(1), chain.invoke(1)


def case_tools(env: Any) -> Any:
    made = Search(max=7, secret="x")
    written = made.model_dump()
    return (
        written,
        made.model_dump(by_alias=True),
        Search.model_fields["limit"].alias,
        made.model_dump_json(),
        repr(made),
        str(Search()),
        made == Search(max=7, secret="x"),
        made == Search(max=8, secret="x"),
        Search.model_validate({"max": 9}).limit,
    )


def case_tools_of_functions(env: Any) -> Any:
    made = StructuredTool.from_function(increase, args_schema=Numbers)
    written = made.model_dump()
    return (
        written.pop("func") is increase,
        written.pop("args_schema") is Numbers,
        written,
        json.loads(made.model_dump_json(exclude={"func"})),
        made.model_dump(mode="json")["args_schema"],
        set(StructuredTool.model_fields) - {"on_unknown"},
        made == made.model_copy(),
        StructuredTool.model_validate(dict(made)) == made,
        StructuredTool.model_construct(**dict(made)) == made,
    )


def case_computed_fields(env: Any) -> Any:
    return YesOrNo(yes="Y").model_dump(), YesOrNo(yes="Y").size, YesOrNo() == YesOrNo(yes="YES")


def case_schemas(env: Any) -> Any:
    kinds = [PromptTemplate, StrOutputParser, Generation, StringPromptValue, Scored, Notes]
    schemas = [kind.model_json_schema() for kind in kinds]
    return [
        (schema["title"], sorted(schema["properties"]), sorted(schema.get("required", [])))
        for schema in schemas
    ]


def case_the_schema_of_documents(env: Any) -> Any:
    schema = Document.model_json_schema()
    return schema["properties"], schema["required"], schema["title"]


def case_copies_with_other_values(env: Any) -> Any:
    model = FakeListChatModel(responses=["a"])
    other = model.model_copy(update={"responses": ["b"]})
    return other.invoke("?").content, model.invoke("?").content, other == model


def case_wrong_values(env: Any) -> Any:
    kinds = [Notes, Own, Document, StrOutputParser, Generation, StringPromptValue]
    return [env.error(lambda kind=kind: kind.model_validate(3)) for kind in kinds]


def case_text_as_objects(env: Any) -> Any:
    text = PromptTemplate.from_template("hi {x}").model_dump_json()
    return (
        PromptTemplate.model_validate_json(text).format(x=1),
        Document.model_validate_json('{"page_content": "x", "metadata": {"a": 1}}'),
        Generation.model_validate_json('{"text": "x"}').text,
        Own.model_validate_json('{"warmth": "0.25"}').warmth,
    )


def case_messages_where_no_type_names_them(env: Any) -> Any:
    class Holder(BaseModel):
        typed: AIMessage
        anything: Any

    holder = Holder(typed=AIMessage("x"), anything={"said": [HumanMessage("y", id="1")]})
    return (
        holder.model_dump(),
        holder.model_dump_json(exclude_none=True),
        holder.model_dump(exclude={"typed": {"content"}, "anything": {"said": {0: {"content"}}}}),
    )


def case_parts_of_what_is_inside(env: Any) -> Any:
    class Holder(BaseModel):
        prompt: PromptTemplate
        anything: Any

    prompt = PromptTemplate.from_template("hi {x}")
    holder = Holder(prompt=prompt, anything=[prompt, StrOutputParser()])
    return (
        holder.model_dump(include={"prompt": {"template"}, "anything": {0: {"template"}}}),
        holder.model_dump_json(exclude={"prompt": {"template"}, "anything": {0: {"name"}}}),
        holder.model_dump(exclude_none=True, exclude_defaults=True),
    )


def case_histories(env: Any) -> Any:
    history = InMemoryChatMessageHistory(messages=[HumanMessage("x")])
    same = InMemoryChatMessageHistory(messages=[HumanMessage("x")])
    return history == same, repr(history), str(history), history.model_dump()


def case_queries(env: Any) -> Any:
    query = StructuredQuery(
        query="q",
        filter=Comparison(comparator=Comparator.EQ, attribute="a", value=1),
        limit=2,
    )
    return query.filter.model_dump(mode="json"), query.model_copy(update={"limit": 3}).limit


def case_rebuilt_once_a_name_is_known(env: Any) -> Any:
    Early.model_rebuild()
    return Early(it={"a": "1"}).it.a


# What differs.


def case_prompts_inside_of_messages(env: Any) -> Any:
    prompt = ChatPromptTemplate([("system", "s"), ("human", "{x}")])
    return prompt.model_dump()["messages"]


def case_examples_of_prompts(env: Any) -> Any:
    inner = ChatPromptTemplate([("human", "{a}")])
    prompt = FewShotChatMessagePromptTemplate(examples=[{"a": "1"}], example_prompt=inner)
    return prompt.model_dump()["example_prompt"]


def case_calls_of_generations(env: Any) -> Any:
    calls = [{"name": "a", "args": {}, "id": "1"}]
    return ChatGeneration(message=AIMessage("", tool_calls=calls)).model_dump()


def case_what_was_given(env: Any) -> Any:
    prompt = PromptTemplate(template="x", input_variables=[], template_format="f-string")
    return prompt.model_fields_set, prompt.model_dump(exclude_unset=True)


def case_older_names_of_methods(env):
    prompt, tool = PromptTemplate.from_template("a {b}"), StructuredTool.from_function(increase)
    document = Document("d", metadata={"a": 1})
    chain = RunnableLambda(increase) | StrOutputParser()
    return [
        prompt.copy(update={"template": "c {b}"}).format(b=1),
        prompt.copy(deep=True) == prompt,
        [prompt.json(), prompt.json() == prompt.model_dump_json()],
        [tool.copy(update={"name": "more"}).name, tool.name, sorted(tool.dict())],
        [document.copy(update={"metadata": {}}), document.dict(), document.json()],
        [StrOutputParser().copy().invoke("x"), StrOutputParser().json()],
        [sorted(chain.copy().dict()), LLMResult(generations=[]).dict()],
        FakeListChatModel(responses=["x"]).copy(update={"responses": ["y"]}).invoke("hi").content,
    ]


def _history(given: Any) -> Any:
    try:
        return InMemoryChatMessageHistory(messages=given).messages
    except ValueError:
        return "refused"


def case_histories_of_what_is_no_message(env: Any) -> Any:
    return [
        _history(given)
        for given in (["x"], "x", [("ai", "x")], [None], None, 3, HumanMessage("x"), ())
    ]
