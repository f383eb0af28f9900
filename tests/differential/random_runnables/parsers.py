"""Random output parsers over random texts and messages, whole and in pieces."""

import json
from random import Random

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


def lines(choose: Random) -> list[str]:
    """One parser, fed with texts whole, in pieces, and as messages."""
    make, feed = choose.choice(KINDS)
    parser = make(choose)
    made = [*CLASSES.splitlines(), f"parser = {parser}"]
    for _ in range(3):
        made += used(choose, parser, feed(choose))
    if choose.random() < 0.3:
        made.append(f"look(lambda: {choose.choice(QUESTIONS)})")
    return made


QUESTIONS = (
    "parser.get_output_jsonschema()",
    "parser.get_input_jsonschema()['title']",
    "parser.get_name()",
)


def used(choose: Random, kind: str, whole: str) -> list[str]:
    """Statements that give the parser one text."""
    pieces = cut(choose, whole if streams(kind, whole) else "")
    chunks = choose.choice([repr(pieces), f"[AIMessageChunk(p) for p in {pieces!r}]"])
    return choose.choice(
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


def cut(choose: Random, whole: str) -> list[str]:
    """A text in random pieces."""
    cuts = sorted(choose.randint(0, len(whole)) for _ in range(choose.randint(0, 6)))
    return [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


def damaged(choose: Random, whole: str) -> str:
    """A text with something around it, cut or changed now and then."""
    if choose.random() < 0.3:
        whole = whole[: choose.randint(0, len(whole))]
    if choose.random() < 0.1 and whole:
        at = choose.randrange(len(whole))
        whole = whole[:at] + choose.choice("{}[],:\"'\\\n x1") + whole[at + 1 :]
    if choose.random() < 0.4:
        whole = choose.choice(JUNK) + whole + choose.choice(ENDS)
    return whole


def json_text(choose: Random) -> str:
    """Text that is JSON, or nearly."""
    value = json_value(choose, 3)
    if choose.random() < 0.5:
        value = {choose.choice("ab"): value, "x": json_value(choose, 1)}
    return damaged(choose, json.dumps(value, indent=choose.choice([None, None, 1])))


def model_text(choose: Random) -> str:
    """Text that a pydantic class reads, or nearly."""
    point = {"x": choose.choice([1, 2, "3", "no", 1.5]), "name": choose.choice(["n", 5, None])}
    if choose.random() < 0.3:
        point.popitem()
    value = choose.choice(
        [point, {"corner": point, "items": ["a"]}, {"corner": point}, [point], {}]
    )
    return damaged(choose, json.dumps(value))


def list_text(choose: Random) -> str:
    """Text that is a list, in commas, numbers or marks."""
    items = [
        choose.choice(["one", "two words", "", "3", "a-b", "é"])
        for _ in range(choose.randint(0, 4))
    ]
    form = choose.randint(0, 4)
    if form == 0:
        return choose.choice([",", ", ", " , "]).join(items)
    if form == 1:
        return "\n".join(f"{i}. {item}" for i, item in enumerate(items, choose.choice([0, 1, 9])))
    if form == 2:
        return "\n".join(f"{choose.choice(['-', '*'])} {item}" for item in items)
    if form == 3:
        return damaged(choose, "\n\n".join(f" {i}. {item}" for i, item in enumerate(items)))
    return damaged(choose, text(choose))


def xml_text(choose: Random, depth: int = 2) -> str:
    """Text that is XML, or nearly."""

    def element(level: int) -> str:
        tag = choose.choice(["a", "b", "foo"])
        if level == 0 or choose.random() < 0.4:
            return f"<{tag}>{choose.choice(['', 'x', 'two words', ' ', '&amp;', '1'])}</{tag}>"
        inner = choose.choice(["", "\n", " "]).join(
            element(level - 1) for _ in range(choose.randint(1, 3))
        )
        return f"<{tag}>{inner}</{tag}>"

    whole = element(depth)
    return whole if choose.random() < 0.7 else damaged(choose, whole)


KINDS = [
    (lambda choose: "StrOutputParser()", lambda choose: text(choose)),
    (
        lambda choose: choose.choice(
            ["JsonOutputParser()", "JsonOutputParser(pydantic_object=Point)"]
        ),
        json_text,
    ),
    (lambda choose: "JsonOutputParser()", json_text),
    (lambda choose: "JsonOutputParser()", json_text),
    (lambda choose: "PydanticOutputParser(pydantic_object=Point)", model_text),
    (lambda choose: "PydanticOutputParser(pydantic_object=Box)", model_text),
    (lambda choose: "CommaSeparatedListOutputParser()", list_text),
    (lambda choose: "NumberedListOutputParser()", list_text),
    (lambda choose: "MarkdownListOutputParser()", list_text),
    (
        lambda choose: choose.choice(
            ["XMLOutputParser(parser='xml')", "XMLOutputParser(tags=['a', 'b'], parser='xml')"]
        ),
        xml_text,
    ),
]
