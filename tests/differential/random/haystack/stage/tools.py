"""The tools that Haystack agents of made programs have, by name."""

from typing import Annotated, Any, Literal

from haystack import component
from haystack.dataclasses import ChatMessage, StreamingChunk
from haystack.tools import ComponentTool, Tool, Toolset, create_tool_from_function, tool
from pydantic import BaseModel


class Point(BaseModel):
    x: int
    y: int = 0


def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


def boom(x: str) -> str:
    """Fail."""
    raise {"value": ValueError, "key": KeyError}.get(x, RuntimeError)("boom " + x)


def search(query: Annotated[str, "what"], repo: str = "none", top: int | None = None) -> dict:
    """Search."""
    return {"docs": [query, repo][:top], "n": len(query), "summary": f"found {query}"}


def note(text: str) -> dict:
    """Take a note."""
    return {"note": text, "said": [ChatMessage.from_user("noted " + text)]}


def recall(n: int = 0, documents: list | None = None) -> str:
    """Recall."""
    return f"{n} {documents}"


def gives(form: Literal["none", "list", "dict", "float", "text", "message", "nested"]) -> Any:
    """Give a value of a form."""
    return {
        "none": None,
        "list": [1, "é"],
        "dict": {"a": None},
        "float": 1.5,
        "text": "plain",
        "message": ChatMessage.from_assistant("hey"),
        "nested": {"m": [ChatMessage.from_user("in")], "t": (1, 2)},
    }[form]


def place(point: Point, tags: list[str] | None = None) -> str:
    """Place a point."""
    return f"{type(point).__name__} {point} {tags}"


def tells(text: str, streaming_callback: Any = None) -> str:
    """Tell while it works."""
    if streaming_callback:
        streaming_callback(StreamingChunk("tool: " + text))
    return text


@component
class Shout:
    """Shouts."""

    @component.output_types(loud=str, size=int)
    def run(self, text: str, times: int = 1):
        """Shout it.

        :param text: What.
        :param times: How often.
        """
        if times < 1:
            raise ValueError("not even once")
        return {"loud": (text.upper() + "!") * times, "size": len(text)}


def joined(value):
    return f"joined {value}"


def failing(value):
    raise ValueError("no text")


def plus(old, new):
    return (old or 0) + new


def never(old, new):
    raise ValueError("no state")


FUNCTIONS = {one.__name__: one for one in (add, boom, search, note, recall, gives, place, tells)}
PARTS = {"joined": joined, "failing": failing, "plus": plus, "never": never, "str": str}
TYPES = {"int": int, "list": list, "strings": list[str], "dict": dict, "str": str, "any": Any}


def with_parts(value):
    """Options of a tool, with functions for what begins with `@`."""
    if isinstance(value, dict):
        return {k: with_parts(v) for k, v in value.items()}
    return PARTS[value[1:]] if isinstance(value, str) and value.startswith("@") else value


def tool_of(spec):
    """A tool of a program."""
    options = with_parts(spec.get("options", {}))
    if spec["name"] == "shout":
        return ComponentTool(Shout(), name="shout", **options)
    function = FUNCTIONS[spec["name"]]
    form = spec.get("form")
    if form == "decorator" and not options:
        return tool(function)
    if form == "plain" and spec["name"] == "add":
        whole = {"type": "integer"}
        schema = {"type": "object", "properties": {"a": whole, "b": whole}, "required": ["a"]}
        return Tool("add", "Add.", schema, function, **options)
    strings = options.pop("outputs_to_string", None)
    made = create_tool_from_function(function, **options)
    if strings is None:
        return made
    whole = {"outputs_to_string": strings, **options}
    return Tool(made.name, made.description, made.parameters, made.function, **whole)


def tools_of(specs, form=None):
    """The tools of a program, as a list, a set of tools, or some of both."""
    made = [tool_of(one) for one in specs]
    if form == "set":
        return Toolset(made)
    if form == "mixed" and len(made) > 1:
        return [made[0], Toolset(made[1:])]
    return made


def schema_of(spec):
    """The schema of a state."""
    return {
        key: {"type": TYPES[kind], **({"handler": PARTS[handler]} if handler else {})}
        for key, (kind, handler) in spec.items()
    }
