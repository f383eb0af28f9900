"""Random output parsers over random texts and messages, whole and in pieces."""

import json

from tests.differential.random.dice import Dice

from .values import json_value, text

JUNK = ("", "Sure:\n", "```json\n", "```\n", "  ", "Answer: ", "```", "\n", "é")
ENDS = ("", "\n```", "```", " and more", "\n", ",", "}")
CLASSES = """class Point(BaseModel):
    "A point."
    x: int
    name: str = "p"
class Box(BaseModel):
    corner: Point
    items: list[str] = Field(default_factory=list, description="what is inside")"""


def lines(dice: Dice) -> list[str]:
    """One parser, fed with texts whole, in pieces, and as messages."""
    make, feed = dice.one(KINDS)
    parser = make(dice)
    made = [*CLASSES.splitlines(), f"parser = {parser}"]
    for _ in range(3):
        made += used(dice, parser, feed(dice))
    if dice.chance(0.3):
        made.append(f"look(lambda: {dice.one(QUESTIONS)})")
    return made


QUESTIONS = (
    "parser.get_output_jsonschema()",
    "parser.get_input_jsonschema()['title']",
    "parser.get_name()",
)


def used(dice: Dice, kind: str, whole: str) -> list[str]:
    """Statements that give the parser one text."""
    pieces = cut(dice, whole if streams(kind, whole) else "")
    chunks = dice.one([repr(pieces), f"[AIMessageChunk(p) for p in {pieces!r}]"])
    return dice.one(
        [
            [f"look(lambda: parser.parse({whole!r}))"],
            [f"look(lambda: parser.invoke({whole!r}))"],
            [f"look(lambda: parser.invoke(AIMessage({whole!r})))"],
            [f"look(lambda: parser.invoke(AIMessage([{{'type': 'text', 'text': {whole!r}}}])))"],
            [f"look(lambda: list(parser.transform(iter({chunks}))))"],
            [f"look(lambda: list(parser.transform(iter({chunks}))))"],
            [f"look(lambda: list(parser.stream({whole!r})))"],
            [f"look(lambda: parser.parse_result([ChatGeneration(message=AIMessage({whole!r}))]))"],
            [f"look(lambda: parser.parse_result([Generation(text={whole!r})], partial=True))"],
            [f"await alook(parser.aparse({whole!r}))"],
            [
                "async def gone():",
                f"    for piece in {chunks}: yield piece",
                "async def read(): return [c async for c in parser.atransform(gone())]",
                "await alook(read())",
            ],
        ]
    )


def streams(kind: str, whole: str) -> bool:
    """Whether both sides read a text alike in pieces."""
    if "Comma" in kind:  # "Quoted items in a stream"
        return "\n" not in whole and all(item.strip() for item in whole.split(","))
    return "XML" not in kind or whole.count("<") == whole.count(">")  # "XML with a document type"


def cut(dice: Dice, whole: str) -> list[str]:
    """A text in random pieces."""
    cuts = sorted(dice.number(0, len(whole)) for _ in range(dice.number(0, 6)))
    return [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


def damaged(dice: Dice, whole: str) -> str:
    """A text with something around it, cut or changed now and then."""
    if dice.chance(0.3):
        whole = whole[: dice.number(0, len(whole))]
    if dice.chance(0.1) and whole:
        at = dice.number(0, len(whole) - 1)
        whole = whole[:at] + dice.one("{}[],:\"'\\\n x1") + whole[at + 1 :]
    if dice.chance(0.4):
        whole = dice.one(JUNK) + whole + dice.one(ENDS)
    return whole


def json_text(dice: Dice) -> str:
    """Text that is JSON, or nearly."""
    value = json_value(dice, 3)
    if dice.chance(0.5):
        value = {dice.one("ab"): value, "x": json_value(dice, 1)}
    return damaged(dice, json.dumps(value, indent=dice.one([None, None, 1])))


def model_text(dice: Dice) -> str:
    """Text that a pydantic class reads, or nearly."""
    point = {"x": dice.one([1, 2, "3", "no", 1.5]), "name": dice.one(["n", 5, None])}
    if dice.chance(0.3):
        point.popitem()
    value = dice.one([point, {"corner": point, "items": ["a"]}, {"corner": point}, [point], {}])
    return damaged(dice, json.dumps(value))


def list_text(dice: Dice) -> str:
    """Text that is a list, in commas, numbers or marks."""
    items = [dice.one(["one", "two words", "", "3", "a-b", "é"]) for _ in range(dice.number(0, 4))]
    form = dice.number(0, 4)
    if form == 0:
        return dice.one([",", ", ", " , "]).join(items)
    if form == 1:
        return "\n".join(f"{i}. {item}" for i, item in enumerate(items, dice.one([0, 1, 9])))
    if form == 2:
        return "\n".join(f"{dice.one(['-', '*'])} {item}" for item in items)
    if form == 3:
        return damaged(dice, "\n\n".join(f" {i}. {item}" for i, item in enumerate(items)))
    return damaged(dice, text(dice))


def xml_text(dice: Dice, depth: int = 2) -> str:
    """Text that is XML, or nearly."""

    def element(level: int) -> str:
        tag = dice.one(["a", "b", "foo"])
        if level == 0 or dice.chance(0.4):
            return f"<{tag}>{dice.one(['', 'x', 'two words', ' ', '&amp;', '1'])}</{tag}>"
        inner = dice.one(["", "\n", " "]).join(element(level - 1) for _ in range(dice.number(1, 3)))
        return f"<{tag}>{inner}</{tag}>"

    whole = element(depth)
    return whole if dice.chance(0.7) else damaged(dice, whole)


KINDS = [
    (lambda dice: "StrOutputParser()", lambda dice: text(dice)),
    (
        lambda dice: dice.one(["JsonOutputParser()", "JsonOutputParser(pydantic_object=Point)"]),
        json_text,
    ),
    (lambda dice: "JsonOutputParser()", json_text),
    (lambda dice: "JsonOutputParser()", json_text),
    (lambda dice: "PydanticOutputParser(pydantic_object=Point)", model_text),
    (lambda dice: "PydanticOutputParser(pydantic_object=Box)", model_text),
    (lambda dice: "CommaSeparatedListOutputParser()", list_text),
    (lambda dice: "NumberedListOutputParser()", list_text),
    (lambda dice: "MarkdownListOutputParser()", list_text),
    (
        lambda dice: dice.one(
            ["XMLOutputParser(parser='xml')", "XMLOutputParser(tags=['a', 'b'], parser='xml')"]
        ),
        xml_text,
    ),
]
