"""Random tools, from random signatures and docstrings, with right and wrong arguments."""

import json
from random import Random

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


def lines(choose: Random) -> list[str]:
    """One tool, its schema, and calls of it."""
    names = choose.sample(NAMES, choose.randint(0, 3))
    doc = docstring(choose, names)
    signature = [parameter(choose, name, doc) for name in names]
    signature.sort(key=lambda p: "=" in p.replace("(description=", "").replace("(gt=", ""))
    secret = choose.random() < 0.15
    if secret:
        signature.insert(0, f"secret: {choose.choice(INJECTED)}")
    word = choose.choice(["def", "def", "async def"])
    returned = choose.choice(
        ["str([{}])", "[{}]", "'text'", "None", "{{'got': [{}]}}", "('shown', [{}])"]
    ).format(", ".join(names))
    decorator = decorated(choose, doc)
    body = [f"    {doc!r}"] if doc is not None else []
    inner = [f"{word} look_up({', '.join(signature)}):", *body, f"    return {returned}"]
    made = [*CLASSES.splitlines(), "def make():", f"    @{decorator}"]
    made += [f"    {line}" for line in inner]
    made += ["    return look_up", "look(lambda: bool(make()))", "made = make()"]
    made += [f"look(lambda: {q})" for q in choose.sample(QUESTIONS, 3)]
    return [*made, *(called(choose, names, secret) for _ in range(3))]


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


def parameter(choose: Random, name: str, doc: str | None) -> str:
    """One parameter of a signature."""
    made = f"{name}: {choose.choice(TYPES)}" if choose.random() < 0.9 else name
    if ":" not in made and doc and "Args:" in doc:
        made += ": Any"  # "Docstrings that are parsed"
    return f"{made} = {choose.choice(DEFAULTS)}" if choose.random() < 0.35 else made


def docstring(choose: Random, names: list[str]) -> str | None:
    """A docstring in any of the usual forms, or none."""
    form = choose.randint(0, 5)
    first = choose.choice(["Looks it up.", "Looks it up,\n    in two lines.", "A\n\n    B.", ""])
    first = first or ("" if form <= 2 else "It.")  # "Docstrings that are parsed"
    if form == 0:
        return None
    if form <= 2 or not names:
        return first
    told = [n for n in names if choose.random() < 0.8]
    if choose.random() < 0.1:
        told.append("unknown")
    if form == 3:
        entries = "".join(f"\n    :param {n}: The {n}." for n in told)
        return f"{first}\n{entries}\n    "
    if form == 4:
        entries = "".join(f"\n    {n} : int\n        The {n}." for n in told)
        return f"{first}\n\n    Parameters\n    ----------{entries}\n    "
    types = choose.choice(["", " (int)", " (str, optional)"])
    more = choose.choice(["", "\n            and on."])
    entries = "".join(f"\n        {n}{types}: The {n}.{more}" for n in told)
    end = choose.choice(
        ["", "\n\n    Returns:\n        It.", "\n\n    Raises:\n        ValueError: No."]
    )
    return f"{first}\n\n    Args:{entries}{end}\n    "


def decorated(choose: Random, doc: str | None) -> str:
    """The decorator, with options."""
    options = []
    if choose.random() < 0.2:
        options.append("'other_name'")
    # "Docstrings that are parsed"
    if doc and "Args:" in doc and choose.random() < 0.3:
        options.append("parse_docstring=True")
        if choose.random() < 0.4:
            options.append("error_on_invalid_docstring=True")
    if doc is None or choose.random() < 0.15:
        options.append("description='Told apart.'")
    if choose.random() < 0.15:
        options.append("return_direct=True")
    if choose.random() < 0.2:
        options.append("response_format='content_and_artifact'")
    return f"tool({', '.join(options)})" if options else "tool"


def value(choose: Random) -> object:
    """An argument, right for some type."""
    return choose.choice(
        [1, "1", "a", "text", 2.5, True, None, [1, 2], ["a"], {"x": 1}, [{"x": 2}], {"deep": True}]
    )


def called(choose: Random, names: list[str], secret: bool) -> str:
    """A statement that calls the tool."""
    given: dict[str, object] = {n: value(choose) for n in names if choose.random() < 0.9}
    if choose.random() < 0.1:
        given["more"] = json_value(choose)
    if choose.random() < 0.15:
        given["secret"] = "s"
    call = {"name": "look_up", "args": given, "id": "c1", "type": "tool_call"}
    texts = [] if secret else [repr("text")]  # "Text as the input of a tool"
    argument = choose.choice([repr(given), repr(given), repr(call), *texts])
    if choose.random() < 0.1 and not secret:
        argument = repr(json.dumps(given))
    if choose.random() < 0.5:
        return f"look(lambda: made.invoke({argument}))"
    return f"await alook(made.ainvoke({argument}))"
