"""The face of a pydantic model that plait's own classes have: what it costs, and what it keeps."""

import copy
import gc
import json
import pickle
import subprocess
import sys
import weakref
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import PydanticSerializationError

from plait.chat_models import init_chat_model
from plait.documents import Document
from plait.output_parsers import BaseOutputParser, StrOutputParser
from plait.prompts import (
    ChatPromptTemplate,
    FewShotPromptTemplate,
    FewShotPromptWithTemplates,
    HumanMessagePromptTemplate,
    PromptTemplate,
)
from plait.runnables import RunnableBranch, RunnableLambda
from plait.tools import BaseTool, tool


def test_pydantic_is_loaded_when_somebody_asks_and_not_before() -> None:
    code = (
        "import sys\n"
        "from plait.output_parsers import StrOutputParser\n"
        "from plait.prompts import PromptTemplate\n"
        "chain = PromptTemplate.from_template('{x}') | StrOutputParser()\n"
        "assert str(chain) and repr(chain) and chain == (chain.first | chain.last)\n"
        "assert 'pydantic' not in sys.modules\n"
        "assert chain.model_dump()['first']['template'] == '{x}'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_dumped_is_read_back_as_what_it_was() -> None:
    prompt = ChatPromptTemplate([("system", "You are {role}."), ("human", "{x}")])
    written = json.loads(prompt.model_dump_json())
    assert written["messages"][0]["prompt"]["template"] == "You are {role}."
    document = Document("x", metadata={"a": [1]}, id="i")
    assert Document.model_validate_json(document.model_dump_json()) == document


def test_what_is_dumped_inside_of_a_prompt_is_read_back_or_refused() -> None:
    prompt = FewShotPromptTemplate(
        examples=[{"a": "1"}],
        example_prompt=PromptTemplate.from_template("{a}"),
        suffix="{q}",
        input_variables=["q"],
    )
    assert FewShotPromptTemplate.model_validate(prompt.model_dump()) == prompt
    mixed = FewShotPromptWithTemplates(
        examples=[],
        example_prompt=PromptTemplate.from_template("{a}"),
        suffix=PromptTemplate.from_template("{q}"),
        input_variables=["q"],
    )
    with pytest.raises(ValidationError, match="template"):  # of no class that could be made
        HumanMessagePromptTemplate.model_validate(
            HumanMessagePromptTemplate.from_template("{x}").model_dump()
        )
    with pytest.raises(ValidationError, match="template"):
        FewShotPromptWithTemplates.model_validate(mixed.model_dump())


def test_functions_and_classes_of_a_tool_are_told_in_json() -> None:
    @tool
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    written = json.loads(add.model_dump_json())
    assert written["args_schema"]["required"] == ["a"]
    assert written["func"].startswith("<function")
    with pytest.raises(PydanticSerializationError, match="RunnableLambda"):
        RunnableLambda(len).map().model_dump_json()


def test_equal_objects_are_equal_in_all_their_fields_and_no_more() -> None:
    class One(StrOutputParser):
        pass

    assert StrOutputParser() == StrOutputParser() != One()
    assert PromptTemplate.from_template("{x}") != PromptTemplate.from_template("{y}")
    step = RunnableLambda(len)
    assert len({RunnableBranch((step, step), step), RunnableBranch((step, step), step)}) == 2


def test_a_dict_in_the_place_of_an_object_is_read_or_refused_with_its_field() -> None:
    class Holder(BaseModel):
        parser: StrOutputParser
        document: Document

    held = Holder.model_validate({"parser": {}, "document": {"page_content": "x"}})
    assert (held.parser, held.document) == (StrOutputParser(), Document("x"))
    with pytest.raises(ValidationError, match="nmae"):
        Holder.model_validate({"parser": {"nmae": "x"}, "document": Document("x")})
    with pytest.raises(ValidationError, match="page_content"):
        Holder.model_validate({"parser": {}, "document": {}})


def test_a_default_made_from_other_fields_is_written_like_any_other() -> None:
    class Titled(Document):
        title: str = "plait"
        short: str = Field(default_factory=lambda held: held["title"][:3])

    titled = Titled(page_content="x", title="braid", short="b.")
    assert Titled.model_validate_json(titled.model_dump_json()) == titled
    assert "short" not in Titled(page_content="x").model_dump(exclude_unset=True)


def test_a_class_that_was_asked_goes_once_nobody_has_it() -> None:
    def made() -> list[weakref.ref[Any]]:
        class Parser(BaseOutputParser[str]):
            size: int = 1

            def parse(self, text: str) -> str:
                return text

        class Text(Document):
            size: int = 1

        assert Parser().model_dump()["size"] == Text("x").model_dump()["size"] == 1
        return [weakref.ref(Parser), weakref.ref(Text)]

    left = made()
    gc.collect()
    assert [one() for one in left] == [None, None]


def test_keys_of_models_are_neither_dumped_nor_shown() -> None:
    model = init_chat_model("openai:gpt-4o", api_key="hush", default_headers={"x": "hush"})
    assert str(model) == "model='gpt-4o'"
    assert "hush" not in f"{model} {model!r} {model.model_dump()} {model.model_dump_json()}"
    assert model == init_chat_model("openai:gpt-4o", api_key="hush", default_headers={"x": "hush"})
    assert model != init_chat_model("openai:gpt-4o", api_key="other")


def test_copies_of_models_make_clients_of_their_own() -> None:
    model = init_chat_model("openai:gpt-4o", api_key="first")
    model._client = object()
    other = model.model_copy(update={"api_key": "second"})
    assert (other.api_key, other._client, model.api_key) == ("second", None, "first")
    assert copy.deepcopy(model) == pickle.loads(pickle.dumps(model)) == model


def test_what_a_class_takes_beside_its_fields_is_dumped_as_well() -> None:
    class Loose(BaseTool):
        model_config = {"extra": "allow"}  # noqa: RUF012 - as pydantic has it
        name: str = "loose"
        description: str = "Loose."

        def _run(self, query: str) -> str:
            return query

    made = Loose(colour="red")
    assert made.model_extra == {"colour": "red"}
    assert made.model_dump(exclude_unset=True) == {"colour": "red"}
