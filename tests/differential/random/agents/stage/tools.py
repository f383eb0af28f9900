"""The tools that agents of made programs have: what they take, are given, return and raise."""

import functools
import inspect
from typing import Annotated, Any, Literal

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import (
    BaseTool,
    InjectedToolCallId,
    StructuredTool,
    ToolException,
    tool,
)
from langgraph.config import get_stream_writer
from langgraph.graph import END
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel, Field


class Point(BaseModel):
    x: int
    y: int = Field(default=0, description="how high")


class Broken(Exception):
    """An error that no library knows."""


class Custom(ValueError):
    """A kind of a known error."""


def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def echo(text: str) -> str:
    """Say it again."""
    return f"echo {text}"


def place(point: Point, tags: list[str] = []) -> str:
    """Put a point somewhere."""
    return f"{type(point).__name__} {point.x},{point.y} {tags}"


def pick(color: Literal["red", "blue"], n: int | None = None) -> str:
    """Pick a color."""
    return f"{color} {n}"


def peek(state: Annotated[Any, InjectedState]) -> str:
    """Look at the state."""
    if isinstance(state, list):
        return f"a list of {len(state)}"
    keys = sorted(state) if isinstance(state, dict) else sorted(type(state).model_fields)
    return f"keys {keys}"


def count_messages(x: int, field: Annotated[list, InjectedState("messages")]) -> str:
    """Count messages."""
    return f"{x}: {len(field)} messages"


def notes_of(x: int, notes: Annotated[Any, InjectedState("notes")]) -> str:
    """Read the notes."""
    return f"{x}: {notes}"


def remember(value: str, store: Annotated[Any, InjectedStore()]) -> str:
    """Keep a value."""
    store.put(("kept",), "last", {"value": value})
    return f"kept {value}"


def recall(store: Annotated[Any, InjectedStore()], key: str = "last") -> str:
    """Look a value up."""
    found = store.get(("kept",), key)
    return f"found {found.value if found else None}"


def about(runtime: ToolRuntime, x: int = 0) -> str:
    """Tell about the run."""
    keys = (
        sorted(runtime.state) if isinstance(runtime.state, dict) else type(runtime.state).__name__
    )
    thread = runtime.config.get("configurable", {}).get("thread_id")
    return f"{x} {runtime.tool_call_id} {keys} {thread} {runtime.context} {runtime.store is None}"


def whoami(call_id: Annotated[str, InjectedToolCallId], x: int = 0) -> str:
    """Tell the id of the call."""
    return f"I am {call_id} {x}"


def configured(x: int, config: RunnableConfig) -> str:
    """Look at the config."""
    return f"{x} {sorted(config.get('tags') or [])} {config['configurable'].get('thread_id')}"


def art(n: int) -> tuple:
    """Give content and an artifact."""
    return (f"{n} things", {"things": n}) if n < 5 else f"only {n}"


def noted(text: str, call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Write a note."""
    said = ToolMessage(f"noted {text}", tool_call_id=call_id)
    return Command(update={"messages": [said], "notes": [text]})


def silent(text: str) -> Command:
    """Write a note and say nothing."""
    return Command(update={"notes": [text]})


def leads(to: str, call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Go somewhere."""
    said = ToolMessage(f"to {to}", tool_call_id=call_id)
    where = {"end": END, "nobody": ()}.get(to, to)
    return Command(update={"messages": [said]}, goto=where)


def sends(n: int, call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Send a state to the tools."""
    asked = AIMessage("", tool_calls=[{"name": "echo", "args": {"text": "sent"}, "id": f"s{n}"}])
    said = ToolMessage(f"sent {n}", tool_call_id=call_id)
    update = {"messages": [said]}
    return Command(update=update, goto=[Send("tools", {"messages": [asked]})] if n else [])


def to_parent(
    text: str, state: Annotated[Any, InjectedState], call_id: Annotated[str, InjectedToolCallId]
) -> Command:
    """Leave this graph."""
    said = ToolMessage(f"left {text}", tool_call_id=call_id)
    messages = state["messages"] if isinstance(state, dict) else []
    return Command(graph=Command.PARENT, goto="after", update={"messages": [*messages, said]})


def several(n: int, call_id: Annotated[str, InjectedToolCallId]) -> list:
    """Give several results."""
    said = ToolMessage(f"several {n}", tool_call_id=call_id)
    note = Command(update={"notes": [f"n{n}"]})
    return {0: [said], 1: [note, said], 2: [note, note], 3: [said, said], 4: []}[n]


def gives(form: str, call_id: Annotated[str, InjectedToolCallId]) -> Any:
    """Give something of a form."""
    return {
        "dict": {"b": 1, "a": [1, None, "ü"]},
        "list": [1, 2],
        "strings": ["a", "b"],
        "none": None,
        "true": True,
        "float": 1.5,
        "blocks": [{"type": "text", "text": "in a block"}],
        "mixed": [{"type": "text", "text": "x"}, "y"],
        "image": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}],
        "model": Point(x=1),
        "tuple": (1, "b"),
        "empty": "",
        "message": ToolMessage("own message", tool_call_id=call_id, name="mine", status="error"),
        "other_id": ToolMessage("another's", tool_call_id="other"),
        "human": HumanMessage("from a person"),
        "set": {1},
    }[form]


def fails(kind: str) -> str:
    """Fail."""
    made = {
        "value": ValueError("bad value"),
        "key": KeyError("lost"),
        "tool": ToolException("the tool says no"),
        "tool_empty": ToolException(),
        "broken": Broken("broken"),
        "custom": Custom("custom"),
        "type": TypeError("bad type"),
        "runtime": RuntimeError("ran badly"),
        "lookup": LookupError("nowhere"),
        "timeout": TimeoutError("too slow"),
    }
    raise made[kind]


def ask(what: str) -> str:
    """Ask a person."""
    return f"answer {interrupt({'q': what})}"


def ask_twice(what: str) -> str:
    """Ask a person twice."""
    return f"answers {interrupt(what)} {interrupt(what + ' really')}"


def writes(n: int) -> str:
    """Tell how it goes."""
    writer = get_stream_writer()
    for step in range(n):
        writer({"n": n, "step": step})
    return f"wrote {n}"


def tells(n: int, runtime: ToolRuntime) -> str:
    """Tell how it goes, by its runtime."""
    runtime.stream_writer(f"told {n}")
    return f"told {n}"


def nothing() -> str:
    """Take nothing."""
    return "nothing"


class Shout(BaseTool):
    """A tool written as a class."""

    name: str = "shout"
    description: str = "Say it loudly."

    def _run(self, text: str, times: int = 1) -> str:
        return text.upper() * times


class Schema(BaseModel):
    """Shown to the model."""

    q: str = Field(description="what to look for", min_length=2)
    limit: int = Field(default=3, ge=1, le=9)


def search(q: str, limit: int) -> str:
    """Search."""
    return f"{limit} of {q}"


JSON_SCHEMA = {
    "type": "object",
    "title": "by_json",
    "properties": {"n": {"type": "integer"}, "s": {"type": "string"}},
    "required": ["n"],
}


def by_json(**kwargs: Any) -> str:
    """Take what a JSON schema says."""
    return f"json {sorted(kwargs.items())}"


PLAIN = (
    *(add, echo, place, pick, peek, count_messages, notes_of, remember, recall, about, whoami),
    *(configured, art, noted, silent, leads, sends, to_parent, several, gives, fails, ask),
    *(ask_twice, writes, tells, nothing, search, by_json),
)
FUNCTIONS = {one.__name__: one for one in PLAIN}


def later(function):
    """The async twin of a function."""

    @functools.wraps(function)
    async def run(*args, **kwargs):
        return function(*args, **kwargs)

    return run


def tool_of(spec):
    """A tool of a program, in the form that its spec names."""
    name, form = spec["name"], spec.get("form", "tool")
    if name == "shout":
        return Shout(**spec.get("options", {}))
    if name == "builtin":
        return {"type": "web_search", "max_uses": 2}
    function = FUNCTIONS[name]
    options = dict(spec.get("options", {}))
    if name == "art":
        options["response_format"] = "content_and_artifact"
    if name == "search":
        options["args_schema"] = Schema
    if name == "by_json":
        options["args_schema"] = JSON_SCHEMA
    handlers = {k: handler_of(options.pop(k)) for k in HANDLED if k in options}
    if form == "function" and not options and not handlers:
        return later(function) if spec.get("async") else function
    if form == "both":
        made = StructuredTool.from_function(function, later(function), **options)
    else:
        made = tool(**options)(later(function) if spec.get("async") else function)
    for key, value in handlers.items():
        setattr(made, key, value)
    return made


HANDLED = ("handle_tool_error", "handle_validation_error")


def handler_of(form):
    """What a tool does with its errors."""
    return (lambda error: f"handled {type(error).__name__}") if form == "callable" else form


def is_async(spec):
    return inspect.iscoroutinefunction(tool_of(spec))
