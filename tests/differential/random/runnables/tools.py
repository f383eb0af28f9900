"""Random tools, from random signatures and docstrings, with right and wrong arguments."""

import json

from tests.differential.random.dice import Dice

from .values import json_value

NAMES = ("a", "b", "name", "city", "count")
TYPES = (
    *("int", "str", "float", "bool", "list[int]", "list", "dict", "dict[str, int]", "Any"),
    *(
        "Optional[int]",
        "str | None",
        "Literal['a', 'b']",
        "Union[int, str]",
        "Point",
        "list[Point]",
    ),
    *("Optional[Point]", "tuple[int, str]", "set[str]", "Options", "Annotated[int, Field(gt=0)]"),
    *("Annotated[str, 'a note']", "Annotated[str, Field(description='noted')]", "list[str] | None"),
)
INJECTED = ("Annotated[str, InjectedToolCallId]", "Annotated[Any, InjectedToolArg]")
DEFAULTS = (
    "None",
    "0",
    "1",
    "'a'",
    "[]",
    "{}",
    "Field(description='of default')",
    "Field(5, gt=1)",
)
CLASSES = """class Point(BaseModel):
    "A point."
    x: int = Field(description="how far")
    label: str | None = None
class Options(TypedDict, total=False):
    "Options of it."
    deep: bool
    top: int"""


def lines(dice: Dice) -> list[str]:
    """One tool, its schema, and calls of it."""
    names = dice.mixed(NAMES, 0, 3)
    doc = docstring(dice, names)
    signature = [parameter(dice, name, doc) for name in names]
    signature.sort(key=lambda p: "=" in p.replace("(description=", "").replace("(gt=", ""))
    secret = dice.chance(0.15)
    if secret:
        signature.insert(0, f"secret: {dice.one(INJECTED)}")
    word = dice.one(["def", "def", "async def"])
    returned = dice.one(
        ["str([{}])", "[{}]", "'text'", "None", "{{'got': [{}]}}", "('shown', [{}])"]
    ).format(", ".join(names))
    decorator = decorated(dice, doc)
    body = [f"    {doc!r}"] if doc is not None else []
    inner = [f"{word} look_up({', '.join(signature)}):", *body, f"    return {returned}"]
    made = [*CLASSES.splitlines(), "def make():", f"    @{decorator}"]
    made += [f"    {line}" for line in inner]
    made += ["    return look_up", "look(lambda: bool(make()))", "made = make()"]
    made += [f"look(lambda: {q})" for q in dice.mixed(QUESTIONS, 3, 3)]
    return [*made, *(called(dice, names, secret) for _ in range(3))]


QUESTIONS = (
    "made.args",
    "made.name, made.description",
    "made.tool_call_schema.model_json_schema()",
    "convert_to_openai_tool(made)",
    "convert_to_openai_tool(made)",
    "convert_to_openai_tool(made, strict=True)",
    "made.get_input_jsonschema()",
    "made.args_schema.model_json_schema()",
    "made.return_direct, made.response_format, made.is_single_input",
    "made.get_output_jsonschema()",
)


def parameter(dice: Dice, name: str, doc: str | None) -> str:
    """One parameter of a signature."""
    made = f"{name}: {dice.one(TYPES)}" if dice.chance(0.9) else name
    if ":" not in made and doc and "Args:" in doc:
        made += ": Any"  # "Docstrings that are parsed"
    return f"{made} = {dice.one(DEFAULTS)}" if dice.chance(0.35) else made


def docstring(dice: Dice, names: list[str]) -> str | None:
    """A docstring in any of the usual forms, or none."""
    form = dice.number(0, 5)
    first = dice.one(["Looks it up.", "Looks it up,\n    in two lines.", "A\n\n    B.", ""])
    first = first or ("" if form <= 2 else "It.")  # "Docstrings that are parsed"
    if form == 0:
        return None
    if form <= 2 or not names:
        return first
    told = [n for n in names if dice.chance(0.8)]
    if dice.chance(0.1):
        told.append("unknown")
    if form == 3:
        entries = "".join(f"\n    :param {n}: The {n}." for n in told)
        return f"{first}\n{entries}\n    "
    if form == 4:
        entries = "".join(f"\n    {n} : int\n        The {n}." for n in told)
        return f"{first}\n\n    Parameters\n    ----------{entries}\n    "
    types = dice.one(["", " (int)", " (str, optional)"])
    more = dice.one(["", "\n            and on."])
    entries = "".join(f"\n        {n}{types}: The {n}.{more}" for n in told)
    end = dice.one(
        ["", "\n\n    Returns:\n        It.", "\n\n    Raises:\n        ValueError: No."]
    )
    return f"{first}\n\n    Args:{entries}{end}\n    "


def decorated(dice: Dice, doc: str | None) -> str:
    """The decorator, with options."""
    options = []
    if dice.chance(0.2):
        options.append("'other_name'")
    # "Docstrings that are parsed"
    if doc and "Args:" in doc and dice.chance(0.3):
        options.append("parse_docstring=True")
        if dice.chance(0.4):
            options.append("error_on_invalid_docstring=True")
    if doc is None or dice.chance(0.15):
        options.append("description='Told apart.'")
    if dice.chance(0.15):
        options.append("return_direct=True")
    if dice.chance(0.2):
        options.append("response_format='content_and_artifact'")
    return f"tool({', '.join(options)})" if options else "tool"


def value(dice: Dice) -> object:
    """An argument, right for some type."""
    return dice.one(
        [1, "1", "a", "text", 2.5, True, None, [1, 2], ["a"], {"x": 1}, [{"x": 2}], {"deep": True}]
    )


def called(dice: Dice, names: list[str], secret: bool) -> str:
    """A statement that calls the tool."""
    given: dict[str, object] = {n: value(dice) for n in names if dice.chance(0.9)}
    if dice.chance(0.1):
        given["more"] = json_value(dice)
    if dice.chance(0.15):
        given["secret"] = "s"
    call = {"name": "look_up", "args": given, "id": "c1", "type": "tool_call"}
    texts = [] if secret else [repr("text")]  # "Text as the input of a tool"
    argument = dice.one([repr(given), repr(given), repr(call), *texts])
    if dice.chance(0.1) and not secret:
        argument = repr(json.dumps(given))
    if dice.chance(0.5):
        return f"look(lambda: made.invoke({argument}))"
    return f"await alook(made.ainvoke({argument}))"
