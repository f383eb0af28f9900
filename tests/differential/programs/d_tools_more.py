"""What random programs found of tools: who describes an argument, strict schemas, docstrings."""

from typing import Annotated

from langchain_core.tools import InjectedToolCallId, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field

DOCUMENTED = "Looks up.\n\n    Args:\n        a: The text of the docstring.\n    "
ANNOTATIONS = (
    str,
    Annotated[str, "a note"],
    Annotated[str, Field(description="a field")],
    Annotated[str, Field(description="a field"), "a note"],
    Annotated[str, "a note", "another"],
    Annotated[str, "a note"] | None,
)
DEFAULTS = ((), ("x",), (Field(description="a default"),), (Field("y", description="a default"),))


def _function(annotation, defaults, doc):
    def look_up(a):
        return a

    look_up.__annotations__ = {"a": annotation}
    look_up.__defaults__ = defaults
    look_up.__doc__ = doc
    return look_up


def case_who_describes_an_argument(env):
    return [
        (
            convert_to_openai_tool(_function(annotation, defaults, doc)),
            tool(_function(annotation, defaults, doc)).args,
            tool(parse_docstring=doc is DOCUMENTED)(_function(annotation, defaults, doc)).args,
        )
        for annotation in ANNOTATIONS
        for defaults in DEFAULTS
        for doc in ("Looks up.", DOCUMENTED)
    ]


class Nothing(BaseModel):
    """Holds nothing."""


class Box(BaseModel):
    """Holds it."""

    inner: Nothing
    more: list[Nothing]


def case_strict_schemas_of_no_arguments(env):
    @tool
    def nothing():
        """Does nothing."""

    @tool
    def boxed(box: Box):
        """Takes a box."""

    return [convert_to_openai_tool(one, strict=True) for one in (nothing, boxed)]


def case_docstrings_of_no_arguments(env):
    def made(doc, untyped):
        def nothing():
            return "x"

        def something(a):
            return a

        function = something if untyped else nothing
        function.__doc__ = doc
        return tool(parse_docstring=True)(function).args

    documented = "Looks up.\n\n    Args:\n        a: The text.\n    "
    return [
        env.error(lambda: made("Does nothing.", False)),
        env.error(lambda: made(documented, True)),
    ]


def case_docstrings_that_begin_with_arguments(env):
    def look_up(a: int):
        """Args:
        a: The number.
        """

    return env.error(lambda: tool(parse_docstring=True, description="Told.")(look_up).args)


def case_wrong_arguments_of_an_async_tool_in_a_sync_call(env):
    @tool
    async def look_up(a: int):
        """Looks up."""

    return env.error(lambda: look_up.invoke({"a": "no number"}))


def case_text_for_an_injected_id(env):
    @tool
    def look_up(call_id: Annotated[str, InjectedToolCallId], a: str = "x"):
        """Looks up."""
        return call_id

    return env.error(lambda: look_up.invoke("text"))


def case_blank_docstrings(env):
    def look_up(a: int):
        return a

    look_up.__doc__ = "\n    "
    return tool(description="Told.")(look_up).get_input_jsonschema()


def case_blank_last_lines_of_docstrings(env):
    def look_up(a: int):
        return a

    def told(doc):
        look_up.__doc__ = doc
        made = tool(look_up)
        of_input = made.get_input_schema().model_json_schema()
        return made.args_schema.model_json_schema(), of_input, made.description

    return [told(doc) for doc in ("Looks up.\n\n    ", "  Looks up.\n    ", "A.\n\n    B.\n    ")]


def case_bounds_of_described_arguments(env):
    @tool(parse_docstring=True)
    def look_up(a: Annotated[int, Field(gt=0)] = Field(5, gt=1)):
        """Looks up.

        Args:
            a: How many.
        """

    return look_up.args_schema.model_json_schema()
