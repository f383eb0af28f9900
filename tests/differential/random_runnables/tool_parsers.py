"""Random parsers of tool calls, over random messages with calls, whole and in chunks."""

from random import Random

from .messages import chunk, tool_call
from .parsers import CLASSES

MAKERS = (
    "JsonOutputToolsParser({})",
    "JsonOutputKeyToolsParser(key_name='Point', {})",
    "JsonOutputKeyToolsParser(key_name='a', {})",
    "PydanticToolsParser(tools=[Point, Box], {})",
    "PydanticToolsParser(tools=[Point], {})",
)


def lines(choose: Random) -> list[str]:
    """One parser, given messages with tool calls."""
    options = [o for o in ("first_tool_only=True", "return_id=True") if choose.random() < 0.3]
    make = choose.choice(MAKERS)
    if "Pydantic" in make and "return_id=True" in options:
        options.remove("return_id=True")
    made = [*CLASSES.splitlines(), f"parser = {make.format(', '.join(options))}"]
    for _ in range(3):
        made.append(f"look(lambda: {use(choose)})")
    return made


def use(choose: Random) -> str:
    """One call of the parser."""
    kind = choose.random()
    if kind < 0.4:
        return f"parser.invoke({called(choose)})"
    if kind < 0.5:
        return f"parser.parse_result([ChatGeneration(message={called(choose)})], partial=True)"
    if kind < 0.6:
        return f"parser.invoke({in_openai_form(choose)})"
    if kind < 0.8:
        chunks = ", ".join(piece(choose) for _ in range(choose.randint(1, 5)))
        return f"list(parser.transform(iter([{chunks}])))"
    chunks = ", ".join(chunk(choose) for _ in range(choose.randint(1, 4)))
    chunks = chunks.replace("'name': None", "'name': 'Point'")  # "Names of tools in pieces"
    return f"list(parser.transform(iter([{chunks}])))"


def call(choose: Random) -> dict[str, object]:
    """A call that fits one of the classes, most of the time."""
    point = {"x": choose.choice([1, 2, "3", "no"])}
    return choose.choice(
        [
            {"name": "Point", "args": point, "id": "1"},
            {"name": "Point", "args": {**point, "name": "n"}, "id": "2"},
            {"name": "Box", "args": {"corner": point}, "id": "3"},
            tool_call(choose),
        ]
    )


def called(choose: Random) -> str:
    """A message with calls."""
    calls = [call(choose) for _ in range(choose.randint(0, 3))]
    return f"AIMessage('', tool_calls={calls!r})"


def in_openai_form(choose: Random) -> str:
    """A message whose calls stand where OpenAI's API puts them."""
    arguments = choose.choice(['{"x": 1}', '{"x": ', "", '{"x": 1, "name": "a\nb"}'])
    name = choose.choice(["Point", "Box", "a"])
    made = [{"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}]
    return f"AIMessage('', additional_kwargs={ {'tool_calls': made}!r})"


def piece(choose: Random) -> str:
    """A chunk of a message with a part of a call."""
    arguments = choose.choice(['{"x"', ": 1", ', "name": "a', 'b"}', "}", "", None])
    part = {
        "name": choose.choice(["Point", "Point", "Box"]),  # "Names of tools in pieces"
        "args": arguments,
        "id": choose.choice(["1", None]),
        "index": choose.choice([0, 0, 1]),
    }
    return f"AIMessageChunk('', tool_call_chunks=[{part!r}])"
