"""Random parsers of tool calls, over random messages with calls, whole and in chunks."""

from tests.differential.random.dice import Dice

from .messages import chunk, tool_call
from .parsers import CLASSES

MAKERS = (
    "JsonOutputToolsParser({})",
    "JsonOutputKeyToolsParser(key_name='Point', {})",
    "JsonOutputKeyToolsParser(key_name='a', {})",
    "PydanticToolsParser(tools=[Point, Box], {})",
    "PydanticToolsParser(tools=[Point], {})",
)


def lines(dice: Dice) -> list[str]:
    """One parser, given messages with tool calls."""
    options = [o for o in ("first_tool_only=True", "return_id=True") if dice.chance(0.3)]
    make = dice.one(MAKERS)
    if "Pydantic" in make and "return_id=True" in options:
        options.remove("return_id=True")
    made = [*CLASSES.splitlines(), f"parser = {make.format(', '.join(options))}"]
    for _ in range(3):
        made.append(f"look(lambda: {use(dice)})")
    return made


def use(dice: Dice) -> str:
    """One call of the parser."""
    kind = dice.share()
    if kind < 0.4:
        return f"parser.invoke({called(dice)})"
    if kind < 0.5:
        return f"parser.parse_result([ChatGeneration(message={called(dice)})], partial=True)"
    if kind < 0.6:
        return f"parser.invoke({in_openai_form(dice)})"
    if kind < 0.8:
        chunks = ", ".join(piece(dice) for _ in range(dice.number(1, 5)))
        return f"list(parser.transform(iter([{chunks}])))"
    chunks = ", ".join(chunk(dice) for _ in range(dice.number(1, 4)))
    chunks = chunks.replace("'name': None", "'name': 'Point'")  # "Names of tools in pieces"
    return f"list(parser.transform(iter([{chunks}])))"


def call(dice: Dice) -> dict[str, object]:
    """A call that fits one of the classes, most of the time."""
    point = {"x": dice.one([1, 2, "3", "no"])}
    return dice.one(
        [
            {"name": "Point", "args": point, "id": "1"},
            {"name": "Point", "args": {**point, "name": "n"}, "id": "2"},
            {"name": "Box", "args": {"corner": point}, "id": "3"},
            tool_call(dice),
        ]
    )


def called(dice: Dice) -> str:
    """A message with calls."""
    calls = [call(dice) for _ in range(dice.number(0, 3))]
    return f"AIMessage('', tool_calls={calls!r})"


def in_openai_form(dice: Dice) -> str:
    """A message whose calls stand where OpenAI's API puts them."""
    arguments = dice.one(['{"x": 1}', '{"x": ', "", '{"x": 1, "name": "a\nb"}'])
    name = dice.one(["Point", "Box", "a"])
    made = [{"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}]
    return f"AIMessage('', additional_kwargs={ {'tool_calls': made}!r})"


def piece(dice: Dice) -> str:
    """A chunk of a message with a part of a call."""
    arguments = dice.one(['{"x"', ": 1", ', "name": "a', 'b"}', "}", "", None])
    part = {
        "name": dice.one(["Point", "Point", "Box"]),  # "Names of tools in pieces"
        "args": arguments,
        "id": dice.one(["1", None]),
        "index": dice.one([0, 0, 1]),
    }
    return f"AIMessageChunk('', tool_call_chunks=[{part!r}])"
