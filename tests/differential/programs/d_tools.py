"""Tools: what `@tool` and its classes make of functions, and what calls of them give."""

import enum
from typing import Annotated, Any

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import (
    BaseTool,
    BaseToolkit,
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    Tool,
    ToolException,
    convert_runnable_to_tool,
    create_schema_from_function,
    render_text_description,
    render_text_description_and_args,
    tool,
)
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field


def call(name="t", id="1", **args):
    return {"type": "tool_call", "id": id, "name": name, "args": args}


def shown(message):
    if not isinstance(message, ToolMessage):
        return message
    return (message.content, message.name, message.tool_call_id, message.status, message.artifact)


def about(made):
    return {
        "name": made.name,
        "description": made.description,
        "args": made.args,
        "shown": made.tool_call_schema.model_json_schema(),
        "input": made.get_input_schema().model_json_schema(),
        "single": made.is_single_input,
    }


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(BaseModel):
    """A size."""

    width: int = Field(3, description="in meters", ge=1)


class Search(BaseModel):
    """Search arguments."""

    query: str = Field(description="what to look for")
    limit: int | None = None
    sizes: list[Size] = []


@tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    Carefully.
    """
    return a + b


def case_schema_of_a_function(env):
    return about(add)


def case_schema_of_many_types(env):
    @tool
    def many(
        size: Size,
        colours: list[Colour],
        maybe: str | None = None,
        anything: Any = None,
        marked: Annotated[int, "how many"] = 1,
        field: Annotated[int, Field(description="a field", gt=2)] = 5,
        default: int = Field(default=4, description="cc"),
        model_x: int = 3,
        schema: str = "s",
    ):
        """Many."""
        return [type(size).__name__, colours, maybe, anything, marked, field, default, model_x]

    return about(many), many.invoke({"size": {"width": "5"}, "colours": ["red"], "marked": 7})


def case_arguments_without_annotations(env):
    @tool
    def free(a, b=3):
        """Free."""
        return [a, b]

    return about(free), free.invoke({"a": [1]})


def case_names_descriptions_and_options(env):
    named = tool("other name", return_direct=True, description="given")(add.func)
    extra = tool(extras={"cache": True})(add.func)
    return about(named), named.return_direct, extra.extras, extra.response_format


def case_args_schema_given(env):
    def search(query, limit=None, sizes=()):
        """Look it up."""
        return [query, limit, [type(s).__name__ for s in sizes]]

    mine = tool(args_schema=Search)(search)
    bare = tool("bare", args_schema=Search)(lambda query, limit, sizes: query)
    return (
        about(mine),
        bare.description,
        mine.invoke({"query": "x", "sizes": [{"width": 1}], "limit": "4"}),
        env.error(lambda: mine.invoke({"query": 5})),
    )


def case_json_schema_as_args_schema(env):
    schema = {
        "type": "object",
        "title": "Lookup",
        "description": "described",
        "properties": {"a": {"type": "integer", "description": "x"}},
        "required": ["a"],
    }

    def lookup(a, b=1):
        return [a, b]

    made = tool(args_schema=schema)(lookup)
    return (
        made.args,
        made.description,
        made.tool_call_schema,
        made.invoke({"a": "not checked"}),
        shown(made.invoke(call(a=1))),
        env.error(lambda: made.invoke("text")),
        env.error(lambda: made.invoke({"b": 1})),
    )


def case_docstrings(env):
    @tool(parse_docstring=True)
    def area(width: int, height: int = 1, unit: Annotated[str, InjectedToolArg] = "m") -> int:
        """The area of a box. Of
        any box.

        More about boxes.

        Args:
            width (int): In meters: as
                measured.
            height: In meters.

        Returns:
            The area.
        """
        return width * height

    return about(area), area.invoke({"width": 2, "height": 3})


def case_docstrings_that_do_not_fit(env):
    def unknown(a: int):
        """Summary.

        Args:
            b: no such argument
        """

    def none(a: int):
        """Summary."""

    def glued(a: int):
        """Summary.
        Args:
            a: no empty line before
        """

    strict = tool(parse_docstring=True)
    lax = tool(parse_docstring=True, error_on_invalid_docstring=False)
    return (
        [env.error(lambda f=f: strict(f)) for f in (unknown, none, glued)],
        env.error(lambda: lax(unknown)),
        lax(none).description,
    )


def case_declarations_that_cannot_work(env):
    def undocumented(a: int):
        return a

    def forward(a: "NotThere"):  # noqa: F821
        """F."""

    return [
        env.error(lambda: tool(undocumented)),
        env.error(lambda: tool(forward)),
        env.error(lambda: StructuredTool.from_function()),
        env.error(lambda: Tool.from_function(None, "n", "d")),
        env.error(lambda: tool(args_schema=5)(add.func)),
        env.error(lambda: tool(object())),
        env.error(lambda: BaseTool(name="a", description="b")),
    ]


def case_forms_of_calls(env):
    return [
        add.invoke({"a": "1"}),
        add.invoke({"a": 1, "unknown": 3}),
        shown(add.invoke(call(a=1))),
        shown(add.invoke(call(id="", a=1))),
        shown(add.invoke(call(id=None, a=1))),
        shown(add.invoke(call(name="another", a=1))),
        shown(add.run({"a": 1}, tool_call_id="9")),
        add.batch([{"a": 1}, {"a": 2}]),
        list(add.stream({"a": 1})),
        env.error(lambda: add.invoke({})),
        env.error(lambda: add.invoke({"a": "x"})),
        env.error(lambda: add.invoke(call(a="x"))),
        env.error(lambda: add.invoke(5)),
        env.error(lambda: add.invoke(None)),
        env.error(lambda: add.invoke({"type": "tool_call", "name": "add", "args": {"a": 1}})),
    ]


def case_text_as_input(env):
    @tool
    def echo(text: str) -> str:
        """Echo."""
        return text

    @tool
    def nothing() -> str:
        """Nothing."""
        return "nothing"

    return (
        echo.invoke("hi"),
        echo.run("hi"),
        nothing.invoke(""),
        nothing.invoke({}),
        echo.is_single_input,
        nothing.args,
    )


def case_outputs_as_messages(env):
    values = {
        "none": None,
        "int": 5,
        "nan": float("nan"),
        "dict": {"é": "ü"},
        "texts": ["a", {"type": "text", "text": "z"}],
        "mixed": ["a", 5],
        "blocks": [{"type": "image", "url": "x"}],
        "other blocks": [{"type": "zz"}],
        "message": ToolMessage("q", tool_call_id="other"),
        "messages": [ToolMessage("q", tool_call_id="o")],
        "enum": Colour.RED,
        "set": {1},
        "empty": [],
        "tuple": ("a", "b"),
        "model": Size(),
        "bytes": b"x",
    }

    @tool
    def give(key: str):
        """Give."""
        return values[key]

    messages = {key: give.invoke(call(key=key)) for key in values}
    listed = {
        key: [shown(one) for one in m] if isinstance(m, list) else shown(m)
        for key, m in messages.items()
    }
    return listed, give.invoke({"key": "dict"}), give.invoke({"key": "mixed"})


def case_human_message_as_output(env):
    @tool
    def give():
        """Give."""
        return HumanMessage("x")

    return give.invoke({}).content, give.invoke(call()).name


def case_artifacts(env):
    @tool(response_format="content_and_artifact")
    def both(a: int):
        """Both."""
        return ("content", {"a": a}) if a else "no pair"

    return (
        both.invoke({"a": 1}),
        shown(both.invoke(call(a=1))),
        env.error(lambda: both.invoke({"a": 0})),
    )


@tool
def injected(
    a: int,
    who: Annotated[str, InjectedToolArg],
    id: Annotated[str, InjectedToolCallId],
    config: RunnableConfig,
):
    """Injected."""
    return [a, who, id, config["tags"]]


def case_injected_arguments(env):
    supplied = call(id="7", a=1, who="me")
    forged = call(id="7", a=1, who="me", id_=0)
    forged["args"]["id"] = "forged"
    return (
        injected.args,
        injected.tool_call_schema.model_json_schema(),
        shown(injected.invoke(supplied, {"tags": ["t"]})),
        shown(injected.invoke(forged)),
        shown(injected.invoke(call(id="", a=1, who="me"))),
        env.error(lambda: injected.invoke({"a": 1, "who": "me"})),
        env.error(lambda: injected.invoke(call(a=1))),
    )


def case_callbacks_argument(env):
    @tool
    def asks(a: int, callbacks=None):
        """Asks."""
        return [a, type(callbacks).__name__]

    return asks.args, asks.invoke({"a": 1})


def raising(error, **options):
    def fail(a: int):
        """Fail."""
        raise error

    return StructuredTool.from_function(fail, **options)


def case_tool_errors(env):
    found = []
    for handler in (
        False,
        True,
        "told",
        lambda e: f"H {e}",
        lambda e: [{"type": "text", "text": "x"}],
    ):
        made = raising(ToolException("boom"), handle_tool_error=handler)
        found.append(env.error(lambda made=made: made.invoke({"a": 1})))
        found.append(env.error(lambda made=made: shown(made.invoke(call(a=1)))))
    silent = raising(ToolException(), handle_tool_error=True)
    other = raising(ValueError("v"), handle_tool_error=True)
    return found, silent.invoke({"a": 1}), env.error(lambda: other.invoke({"a": 1}))


def case_validation_errors(env):
    found = []
    for handler in (False, "told", lambda e: f"H {type(e).__name__}"):
        made = raising(ToolException("boom"), handle_validation_error=handler)
        found.append(env.error(lambda made=made: made.invoke({"a": "x"})))
        found.append(env.error(lambda made=made: shown(made.invoke(call(a="x")))))
    return found


def case_validation_errors_told_to_the_model(env):
    made = raising(ToolException("boom"), handle_validation_error=True)
    return made.invoke({"a": "x"}), shown(made.invoke(call(a="x")))


class Shout(BaseTool):
    name: str = "shout"
    description: str = "Say it loudly."
    mark: str = "!"

    def _run(self, text: str, times: int = 1, run_manager=None):
        """Shout."""
        return [text.upper() + self.mark * times, run_manager is not None]


class Typed(BaseTool):
    name: str = "typed"
    description: str = "Typed."
    args_schema: type[BaseModel] = Search
    return_direct: bool = True

    def _run(self, query, limit=None, sizes=()):
        return [query, limit, len(sizes)]


def case_classes(env):
    shout = Shout(mark="?")
    return (
        about(shout),
        shout.args_schema,
        shout.invoke({"text": "hi", "times": 2}),
        shown(shout.invoke(call(text="hi"))),
        about(Typed()),
        Typed().invoke({"query": "q", "sizes": [{}]}),
        Typed().return_direct,
        env.error(lambda: Typed().invoke({})),
        Shout(mark="?") == Shout(mark="?"),
        Shout(mark="?") == Shout(),
    )


def case_simple_tools(env):
    def one(x: str) -> str:
        """One."""
        return x + "!"

    plain = Tool(name="plain", func=one, description="Plain.")
    made = tool(infer_schema=False)(one)
    return (
        plain.args,
        plain.args_schema,
        plain.is_single_input,
        plain.invoke("x"),
        plain.run("x"),
        plain.invoke({"anything": "x"}),
        shown(plain.invoke(call(__arg1="x"))),
        env.error(lambda: plain.invoke({"a": 1, "b": 2})),
        env.error(lambda: plain.invoke({})),
        type(made).__name__,
        made.description,
        env.error(lambda: Tool("n", None, "d").invoke("x")),
    )


def case_fields_that_change(env):
    made = tool(add.func)
    made.description = "another"
    made.name = "plus"
    return about(made), made.model_copy(update={"name": "copy"}).tool_call_schema.__name__


def case_schema_from_a_function(env):
    def f(a: int, b: Annotated[str, InjectedToolArg], c: float = 1.0):
        """F.

        Args:
            a: the a
        """

    make = create_schema_from_function
    return [
        make("M", f).model_json_schema(),
        make("M", f, filter_args=["a"]).model_json_schema(),
        make("M", f, include_injected=False).model_json_schema(),
        make("M", f, parse_docstring=True).model_json_schema(),
    ]


def case_text_for_prompts(env):
    plain = Tool(name="plain", func=lambda x: x, description="Plain.")
    both = [add, plain, Shout()]
    return render_text_description(both), render_text_description_and_args(both)


def case_toolkits(env):
    class Kit(BaseToolkit):
        mark: str = "!"

        def get_tools(self):
            return [Shout(mark=self.mark)]

    return Kit(mark="#").get_tools()[0].mark, env.error(lambda: BaseToolkit())


def case_tools_in_chains(env):
    chain = add | (lambda total: total * 2)
    return chain.invoke({"a": 1}), add.with_config(tags=["x"]).invoke({"a": 1})


def case_schema_defaults_reach_the_function(env):
    class Defaults(BaseModel):
        a: int = Field(default_factory=lambda: 4)
        b: int = 2

    class Open(BaseModel):
        model_config = {"extra": "allow"}
        a: int = 1

    class Closed(BaseModel):
        model_config = {"extra": "forbid"}
        a: int = 1

    def take(**kw):
        """Take."""
        return kw

    defaults, more, strict = (tool(args_schema=s)(take) for s in (Defaults, Open, Closed))
    return (
        defaults.invoke({}),
        defaults.invoke({"b": 4}),
        more.invoke({"a": 3, "z": 1}),
        env.error(lambda: strict.invoke({"z": 1})),
    )


def case_star_arguments(env):
    @tool
    def stars(a: int, *args: int, **kw: str):
        """Stars."""
        return [a, list(args), kw]

    return stars.args, stars.invoke({"a": 1, "args": [3], "kw": {"z": "1"}})


def case_text_is_checked(env):
    return env.error(lambda: add.invoke("1"))


def case_unknown_fields(env):
    return env.error(lambda: Shout(marc="?").mark)


class Pair(BaseModel):
    """A pair."""

    a: int = Field(description="the first")
    b: int = 3


def case_runnables_as_tools(env):
    def exclaim(text: str) -> str:
        return text + "!"

    summed = RunnableLambda(lambda pair: pair["a"] + pair["b"])
    typed = convert_runnable_to_tool(summed, arg_types={"a": int, "b": int})
    given = convert_runnable_to_tool(summed, Pair, name="sum")
    text = convert_runnable_to_tool(RunnableLambda(exclaim), name="exclaim", description="Loud.")
    named = tool("named", description="Named.")(summed)
    return (
        (typed.name, typed.description, typed.args, typed.invoke({"a": "1", "b": 2})),
        (given.name, given.description, given.args, given.invoke({"a": 1})),
        (type(text).__name__, text.name, text.description, text.args, text.invoke("hi")),
        (named.name, named.description, named.args, named.invoke({"a": 1, "b": 2})),
        shown(typed.invoke(call(a=1, b=2))),
        env.error(lambda: tool("text", RunnableLambda(exclaim))),
        env.error(lambda: tool(summed)),
        summed.as_tool(name="s", arg_types={"a": int, "b": int}).invoke({"a": 1, "b": 1}),
    )


def case_tools_as_text(env):
    return str(Shout(mark="a, b")), repr(Shout(mark="a, b")), repr(Shout())


def case_arguments_that_are_named_config(env):
    class Plain(BaseTool):
        name: str = "plain"
        description: str = "Has an argument of this name."

        def _run(self, config: str, other: int = 1, run_manager=None) -> str:
            return f"{config} {other}"

    def search(query: str, config: RunnableConfig) -> str:
        return f"{query} {type(config).__name__}"

    def read(config: dict) -> str:
        return str(config)

    made = StructuredTool.from_function(search, description="Find.")
    return (
        (Plain().args, Plain().tool_call_schema.model_json_schema()["required"]),
        Plain().invoke({"config": "mine"}),
        (made.args, made.invoke({"query": "q"})),
        StructuredTool.from_function(read, description="Read.").args,
    )


def case_configs_of_tool_classes(env):
    class Asks(BaseTool):
        name: str = "asks"
        description: str = "Wants the config of the call."

        def _run(self, query: str, config: RunnableConfig) -> str:
            return query

    return list(Asks().args), list(Asks().tool_call_schema.model_json_schema()["required"])


def case_a_function_with_an_argument_named_config(env):
    def read(config: dict) -> str:
        return str(config)

    made = StructuredTool.from_function(read, description="Read.")
    return env.error(lambda: made.invoke({"config": {"a": 1}}))


def case_annotations_that_name_nothing(env):
    def look(what: "Nothing") -> str:  # noqa: F821 - that is the mistake
        """Look."""
        return what

    class Look(BaseTool):
        name: str = "look"
        description: str = "Look."

        def _run(self, what: "Nothing") -> str:  # noqa: F821
            return what

    return [
        env.error(lambda: tool(look)),
        env.error(lambda: StructuredTool.from_function(look)),
        env.error(lambda: Look().args),
    ]


def case_tools_without_a_description_of_their_own(env):
    class Pair(BaseModel):
        """Two numbers."""

        a: int
        b: int

    def one(x: str) -> str:
        """One."""
        return x

    made = (
        StructuredTool.from_function(one, description=""),
        tool(description="")(one),
        StructuredTool(name="add", args_schema=Pair, func=lambda a, b: a + b),
    )
    return [
        (one.description, convert_to_openai_tool(one), one.tool_call_schema.model_json_schema())
        for one in made
    ]


def case_inputs_that_are_no_arguments(env):
    def now() -> str:
        """Now."""
        return "now"

    shape = {"type": "object", "properties": {"x": {"type": "integer"}}}
    made = StructuredTool.from_function(lambda x: x, name="n", description="N", args_schema=shape)
    return tool(now).invoke(None), [
        env.error(lambda one=one: made.invoke(one)) for one in (1, None)
    ]
