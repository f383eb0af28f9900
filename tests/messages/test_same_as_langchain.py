"""Differential: every expression of `cases.txt` gives on plait what it gives on langchain_core.

Messages are compared by class, dump, str and repr; errors by being errors; made-up ids are blanked.
"""

import re
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from plait.messages import BaseMessage

CASES = (Path(__file__).parent / "cases.txt").read_text().splitlines()
MADE_UP_ID = re.compile(r"(lc_)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# Where plait means to differ: what it does instead.
DIFFERENT = {
    'convert_to_messages("hi")': "one message, not one per character",
    'convert_to_messages({"role":"user","content":"x"})': "one message, not one per key",
    'convert_to_messages(H("x"))': "one message, not an error about its fields",
    'merge_content([],"a")': "the text is kept, not lost",
    'convert_to_openai_messages(H([{"text":"x"}]))': "Bedrock's text is read, no KeyError",
    'convert_to_openai_messages([H([{"guardContent":{"text":"x"}}])])': "read, no KeyError",
    'convert_to_openai_messages(H([{"type":"file","file_id":"x"}]))': "no made-up file name",
    'HumanMessage([{"type":"image","source_type":"base64","data":"123","mime_type":"image/png",'
    '"id":"1"}]).content_blocks': "old blocks may have an id",
    'HumanMessage([{"type":"image","source_type":"url","url":"123","id":"1","foo":1}])'
    ".content_blocks": "old blocks may have an id",
    'HumanMessage([{"type":"image","source_type":"id","id":"1"},{"type":"file","source_type":'
    '"text","text":"t","mime_type":"text/plain"},{"type":"audio","source_type":"base64",'
    '"data":"x","mime_type":"audio/wav"}]).content_blocks': "old blocks may be file ids",
}


def names(messages: str, graph: str) -> dict[str, Any]:
    """The names that the expressions use, from one root."""
    package, reducer = import_module(messages), import_module(graph)
    found = {n: getattr(package, n) for n in package.__all__}
    for module in ("tool", "ai", "utils"):
        part = import_module(f"{messages}.{module}")
        for name in ("tool_call", "tool_call_chunk", "invalid_tool_call", "add_usage"):
            found.setdefault(name, getattr(part, name, None) or found.get(name))
        for name in ("subtract_usage", "count_tokens_approximately"):
            if hasattr(part, name):
                found[name] = getattr(part, name)
    for name in ("tool_call", "tool_call_chunk", "invalid_tool_call"):
        found[name] = getattr(import_module(f"{messages}.tool"), name)
    found["add_usage"] = import_module(f"{messages}.ai").add_usage
    found |= {n: getattr(reducer, n) for n in ("add_messages", "REMOVE_ALL_MESSAGES")}
    short = {"H": "Human", "A": "AI", "S": "System", "T": "Tool", "R": "Remove"}
    found |= {k: found[f"{v}Message"] for k, v in short.items()}
    return found | {"M": package}


PEER = names("langchain_core.messages", "langgraph.graph.message")
OURS = names("plait.messages", "plait.graph.message")


def normal(value: Any) -> Any:
    """A value in a form that both roots share."""
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return (
            type(value).__name__,
            normal(value.model_dump()),
            blank(repr(value)),
            blank(str(value)),
        )
    if isinstance(value, dict):
        return {k: normal(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [normal(v) for v in value]
    if callable(value) and not isinstance(value, str):
        return "callable"
    return blank(value) if isinstance(value, str) else value


def blank(text: str) -> str:
    return MADE_UP_ID.sub("ID", str(text))


def outcome(expression: str, scope: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return normal(eval(expression, dict(scope)))
        except Exception as error:
            return "error", isinstance(
                error, ValueError | TypeError | AttributeError | KeyError | NotImplementedError
            )


@pytest.mark.parametrize("expression", [c for c in CASES if c not in DIFFERENT])
def test_expression_gives_what_langchain_core_gives(expression: str) -> None:
    assert outcome(expression, OURS) == outcome(expression, PEER)


@pytest.mark.parametrize("expression", list(DIFFERENT))
def test_deliberate_difference_is_still_one(expression: str) -> None:
    ours = outcome(expression, OURS)
    assert not (isinstance(ours, tuple) and ours[0] == "error")
    assert ours != outcome(expression, PEER)


def test_every_public_name_of_langchain_core_messages_exists() -> None:
    peer, ours = import_module("langchain_core.messages"), import_module("plait.messages")
    assert [n for n in peer.__all__ if not hasattr(ours, n)] == []


def test_typed_dicts_have_the_same_keys() -> None:
    peer, ours = import_module("langchain_core.messages"), import_module("plait.messages")
    typed = [name for name in peer.__all__ if hasattr(getattr(peer, name), "__required_keys__")]
    assert "ToolCall" in typed
    for name in typed:
        mine, theirs = getattr(ours, name), getattr(peer, name)
        assert mine.__required_keys__ == theirs.__required_keys__, name
        assert mine.__optional_keys__ == theirs.__optional_keys__, name


def test_nothing_of_ours_is_a_pydantic_model() -> None:
    assert not hasattr(BaseMessage, "__pydantic_validator__")
