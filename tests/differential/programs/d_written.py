"""Objects as JSON: what `dumps` writes, what `loads` makes of it, and what objects say of that."""

from typing import Any

from langchain_core.agents import AgentAction, AgentFinish, AgentStep
from langchain_core.documents import Document
from langchain_core.language_models import FakeListLLM
from langchain_core.load import dumpd, dumps, loads
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import (
    BaseOutputParser,
    CommaSeparatedListOutputParser,
    JsonOutputParser,
    StrOutputParser,
)
from langchain_core.outputs import ChatGeneration, Generation, GenerationChunk
from langchain_core.prompt_values import (
    ChatPromptValue,
    ChatPromptValueConcrete,
    ImagePromptValue,
    StringPromptValue,
)
from langchain_core.prompts import (
    AIMessagePromptTemplate,
    ChatMessagePromptTemplate,
    ChatPromptTemplate,
    FewShotPromptWithTemplates,
    HumanMessagePromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
)
from langchain_core.prompts.dict import DictPromptTemplate
from langchain_core.prompts.image import ImagePromptTemplate
from langchain_core.prompts.structured import StructuredPrompt


class Scored(Document):
    score: float = 0.0


class Keyed(BaseOutputParser[str]):
    key: str
    size: int = 1

    @classmethod
    def is_lc_serializable(cls) -> bool:
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        return ["langchain", "mine"]

    @property
    def lc_secrets(self) -> dict[str, str]:
        return {"key": "THE_KEY"}

    def parse(self, text: str) -> str:
        return text


class Sealed(HumanMessage):
    key: str
    size: int = 1

    @property
    def lc_secrets(self) -> dict[str, str]:
        return {"key": "THE_KEY"}


class Unwritten(HumanMessage):
    @classmethod
    def is_lc_serializable(cls) -> bool:
        return False


def face(thing: Any) -> dict[str, Any]:
    kind = type(thing)
    text = dumps(thing)
    read = loads(text, allowed_objects="core")
    return {
        "written": dumpd(thing),
        "read": type(read) is kind and read == thing,
        "id": kind.lc_id(),
        "namespace": kind.get_lc_namespace(),
        "is_written": kind.is_lc_serializable(),
        "secrets": thing.lc_secrets,
    }


def case_documents_and_results(env: Any) -> Any:
    return [
        face(one)
        for one in (
            Document("x", metadata={"a": 1}, id="i"),
            Document("x"),
            Generation(text="x"),
            GenerationChunk(text="x", generation_info={"a": 1}),
            ChatGeneration(message=AIMessage("x")),
            StringPromptValue(text="x"),
            ChatPromptValue(messages=[HumanMessage("x")]),
            ChatPromptValueConcrete(messages=[HumanMessage("x")]),
        )
    ]


def case_messages(env: Any) -> Any:
    return [
        face(one)
        for one in (
            HumanMessage("x", name="n", id="1", additional_kwargs={"a": 1}),
            HumanMessage("x", name=""),
            AIMessage(""),
            SystemMessage([]),
            ToolMessage("x", tool_call_id="", artifact=[1]),
        )
    ]


def case_messages_of_a_programs_own_classes(env: Any) -> Any:
    sealed, empty, kept = Sealed("x", key="hush"), Sealed("", key="", size=0), Unwritten("x")
    return (
        dumpd(sealed),
        dumpd(empty),
        [dumpd(kept)[key] for key in ("lc", "type")],
        kept.to_json()["type"],
    )


def case_text_prompts(env: Any) -> Any:
    return [
        face(one)
        for one in (
            PromptTemplate.from_template("hi {x}"),
            PromptTemplate.from_template("{x} {y}", partial_variables={"y": "1"}),
            PromptTemplate.from_template("{{x}}", template_format="mustache"),
            ImagePromptTemplate(input_variables=["u"], template={"url": "{u}"}),
        )
    ]


def case_chat_prompts(env: Any) -> Any:
    block = {"type": "image_url", "image_url": {"url": "{u}"}}
    return [
        face(one)
        for one in (
            MessagesPlaceholder("h", optional=True),
            HumanMessagePromptTemplate.from_template("{x}"),
            AIMessagePromptTemplate.from_template("{x}"),
            ChatMessagePromptTemplate.from_template("{x}", role="r"),
            ChatPromptTemplate([("system", "s"), ("human", "{x}"), ("placeholder", "{h}")]),
            ChatPromptTemplate(
                [SystemMessage("s"), ("human", [{"type": "text", "text": "{x}"}, block])]
            ),
        )
    ]


def case_prompts_of_dicts_and_schemas(env: Any) -> Any:
    made = [
        DictPromptTemplate(template={"a": "{x}"}, template_format="f-string"),
        StructuredPrompt([("human", "{x}")], {"title": "A", "type": "object", "properties": {}}),
    ]
    return [loads(dumps(one), allowed_objects="core") == one for one in made]


def case_prompts_with_examples(env: Any) -> Any:
    prompt = FewShotPromptWithTemplates(
        examples=[{"a": "1"}],
        example_prompt=PromptTemplate.from_template("{a}"),
        suffix=PromptTemplate.from_template("{q}"),
        input_variables=["q"],
    )
    return dumpd(prompt), loads(dumps(prompt), allowed_objects="core") == prompt


def case_parsers(env: Any) -> Any:
    return [face(one) for one in (StrOutputParser(), CommaSeparatedListOutputParser())]


def case_agents(env: Any) -> Any:
    return [face(one) for one in (AgentAction("t", "i", "l"), AgentFinish({"a": 1}, "l"))]


def case_what_is_only_described(env: Any) -> Any:
    made = [
        FakeListLLM(responses=["a"]),
        JsonOutputParser(),
        AgentStep(action=AgentAction("t", "i", "l"), observation="o"),
    ]
    return [
        (
            type(one).is_lc_serializable(),
            one.to_json()["type"],
            dumpd(one).get("name"),
            env.error(lambda one=one: loads(dumps(one), allowed_objects="core")),
        )
        for one in made
    ]


def case_classes_of_ones_own(env: Any) -> Any:
    parser, document = Keyed(key="hush", size=2), Scored(page_content="x", score=1)
    return (
        dumpd(parser),
        dumpd(document),
        env.error(lambda: loads(dumps(document), allowed_objects="core")),
    )


def case_what_may_be_made(env: Any) -> Any:
    texts = [dumps(one) for one in (Document("x"), AIMessage("x"), StrOutputParser())]

    def made(text: str, some: Any) -> str:
        return type(loads(text, allowed_objects=some)).__name__

    return [
        [env.error(lambda text=text, some=some: made(text, some)) for text in texts]
        for some in ("messages", "all", [Document])
    ]


def case_images(env: Any) -> Any:
    return dumpd(ImagePromptValue(image_url={"url": "u"}))


def case_functions_and_classes(env):
    def f():
        return None

    told = [dumpd({"it": one})["it"] for one in (len, f, dict, Document)]
    return [(one["type"], one["id"][-1]) for one in told]
