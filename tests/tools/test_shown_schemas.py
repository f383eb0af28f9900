"""What a model is shown of tools: made once for the same plain signature, and always as if anew."""

import random
from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired, Union
from unittest.mock import patch

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from plait.agents import create_agent
from plait.chat_models.fake import GenericFakeChatModel
from plait.tools import InjectedToolArg, StructuredTool, shown, tool
from plait.tools import schema as schemas
from plait.tools.base import BaseTool
from plait.utils.function_calling import convert_to_openai_tool


class Place(BaseModel):
    """A place."""

    name: str = Field(description="what it is called")


TYPES: list[Any] = [
    int,
    str,
    bool,
    Any,
    list,
    list[int],
    dict[str, list[int]],
    tuple[int, ...],
    Union[str, None],  # noqa: UP007 - as older programs write it
    int | str,
    str | int,
    Literal["a", "b"],
    Literal[1],
    Literal[True],
    Annotated[int, "how many"],
    Annotated[str, Field(description="told", min_length=2)],
    Place,
    list[Place],
    Annotated[str, InjectedToolArg],
]
DEFAULTS: list[Any] = [1, True, 1.0, "x", None, "", [1], {"a": 1}, 0.0, -0.0]


def drawn(draw: random.Random) -> StructuredTool:
    """A tool of a function with any signature."""
    names = draw.sample(["a", "b", "title", "copy", "_hidden", "schema"], draw.randint(0, 4))
    parts: list[str] = []
    space: dict[str, Any] = {}
    for place, name in enumerate(names):
        space[f"T{place}"], space[f"D{place}"] = draw.choice(TYPES), draw.choice(DEFAULTS)
        typed = f": T{place}" if draw.random() < 0.9 else ""
        has_default = name == "_hidden" or draw.random() < 0.5
        parts.append(f"{name}{typed}" + (f" = D{place}" if has_default else ""))
    exec(f"def made(*, {', '.join(parts)}): ..." if parts else "def made(): ...", space)
    made: Callable[..., Any] = space["made"]
    made.__doc__ = draw.choice(["Do.", "Do.\n\n    And more.\n", "Do.\n\nArgs:\n    a: the first"])
    about = draw.choice([None, "Other words.", "  Two\n  lines"])
    parsed = "a" in names and "Args" in made.__doc__
    name = draw.choice(["made", "other"])
    return StructuredTool.from_function(made, name=name, description=about, parse_docstring=parsed)


def anew(one: StructuredTool) -> Any:
    """The schema of a tool by a model class made for it alone."""
    return schemas.json_schema(
        schemas.without_injected(one.name, one.get_input_schema(), one.description)
    )


def listed(shape: Any) -> Any:
    """With the order of keys, which people and providers see."""
    if isinstance(shape, dict):
        return [(key, listed(value)) for key, value in shape.items()]  # pyright: ignore
    return [listed(item) for item in shape] if isinstance(shape, list) else (type(shape), shape)  # pyright: ignore


def test_whatever_the_signature_a_tool_is_shown_as_by_a_model_class_of_its_own() -> None:
    draw = random.Random(11)
    shown._kept.clear()
    for _ in range(600):
        one = drawn(draw)
        first = listed(one.shown_json_schema)
        assert first == listed(anew(one))
    assert len(shown._kept) > 50


def test_tools_of_the_same_plain_signature_need_one_model_class_and_share_nothing() -> None:
    def made() -> Any:
        @tool
        def find(city: str, days: int = 3, unit: Literal["c", "f"] = "c") -> str:
            """Find it."""
            return city

        return find

    shown._kept.clear()
    with patch.object(schemas, "_create", wraps=schemas._create) as create:
        wire = [convert_to_openai_tool(made()) for _ in range(20)]
    assert create.call_count == 1
    wire[0]["function"]["parameters"]["properties"]["city"]["type"] = "number"
    made().shown_json_schema["properties"]["days"]["type"] = "string"
    made().args["unit"]["enum"].append("k")
    assert convert_to_openai_tool(made()) == wire[1]
    assert made().args_schema is not made().args_schema


def test_a_schema_that_somebody_changed_is_shown_as_it_is_then() -> None:
    def made() -> Any:
        @tool
        def look(city: str) -> str:
            """Look."""
            return city

        return look

    plain, changed = made(), made()
    before = convert_to_openai_tool(plain)
    changed.args_schema.model_fields["city"].description = "the place"
    city = convert_to_openai_tool(changed)["function"]["parameters"]["properties"]["city"]
    assert city == {"type": "string", "description": "the place"}
    assert convert_to_openai_tool(made()) == before
    changed.description = "Look again."
    assert convert_to_openai_tool(changed)["function"]["description"] == "Look again."
    plain.args_schema = Place
    assert set(convert_to_openai_tool(plain)["function"]["parameters"]["properties"]) == {"name"}


def test_a_class_of_the_users_is_described_anew_each_time() -> None:
    def described(kind: Any) -> Any:
        @tool
        def put(thing: kind) -> str:
            """Put."""
            return ""

        return convert_to_openai_tool(put)["function"]["parameters"]["properties"]["thing"]

    def place_of(**fields: Any) -> Any:
        return type("Thing", (BaseModel,), {"__annotations__": fields})

    assert set(described(place_of(a=int))["properties"]) == {"a"}
    assert set(described(place_of(a=int, b=str))["properties"]) == {"a", "b"}


@pytest.mark.parametrize("total", [True, False])
def test_typed_dicts_and_functions_of_one_name_are_told_apart(total: bool) -> None:
    def shape(fields: dict[str, Any]) -> Any:
        kind = TypedDict("Kind", fields, total=total)  # pyright: ignore
        return convert_to_openai_tool(kind)["function"]["parameters"]

    one = {"a": Annotated[int, ..., "number"], "b": NotRequired[list[str]]}
    assert shape(one) == shape(one)
    assert shape(one)["properties"]["a"]["description"] == "number"
    assert shape({**one, "a": Annotated[int, 1, "number"]})["properties"]["a"]["default"] == 1
    assert shape({**one, "a": Annotated[int, True, "number"]})["properties"]["a"]["default"] is True
    assert "required" not in shape({"a": NotRequired[int]})

    def function(doc: str, default: Any) -> Any:
        def act(a: int = default) -> None: ...

        act.__doc__ = doc
        return convert_to_openai_tool(act)["function"]

    assert function("One.", 1)["parameters"]["properties"]["a"]["default"] == 1
    assert function("One.", True)["parameters"]["properties"]["a"]["default"] is True
    assert function("Two.", 1)["description"] == "Two."


def test_an_agent_makes_model_classes_only_of_tools_that_are_called() -> None:
    def made(name: str) -> Any:
        @tool(name)
        def act(city: str) -> str:
            """Act."""
            return city

        return act

    class Fake(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self.bind(tools=[convert_to_openai_tool(one) for one in tools], **kwargs)

    for one in (made("a"), made("b")):
        convert_to_openai_tool(one)
    tools = [made("a"), made("b")]
    with patch.object(schemas, "_create", wraps=schemas._create) as create:
        create_agent(Fake(messages=iter(["done"])), tools).invoke({"messages": "hi"})
        assert create.call_count == 0
        assert tools[0].invoke({"city": "x"}) == "x"
        with pytest.raises(ValueError, match="city"):
            tools[0].invoke({})
    assert create.call_count == 1


def test_a_tool_that_describes_itself_is_asked() -> None:
    class Own(StructuredTool):
        @property
        def tool_call_schema(self) -> Any:
            return {"title": "own", "type": "object", "properties": {"z": {"type": "string"}}}

    def act(a: int) -> None:
        """Act."""

    assert list(Own.from_function(act).args) == ["z"]
    assert isinstance(Own.from_function(act), BaseTool)
