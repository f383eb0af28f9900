"""What is the same of two results of a program with agents."""

import json
import re
from typing import Any

from tests.differential.normal import Difference, ErrorInfo, difference, normalise
from tests.differential.random.dice import Spec
from tests.differential.random.graphs.compare import waiting

MARKS = {"lc_versions", "ls_integration", "lc_internal_call", "hitl_decided_tool_calls"}
"""Keys that one side has for itself ("Metadata for LangSmith", "Approvals are bound to their
calls")."""

_ID = re.compile(r"<id:\d+>")
OWN_WORDS = re.compile(
    "Expected to have a matching ToolMessage|without a ToolMessage for its tool call"
    "|Since response_format='content_and_artifact'|has response_format='content_and_artifact'"
    "|Cannot inject store|Input should be .* instance of ToolRuntime"
    "|failed: 'notes'|has an InjectedState argument for key|has an InjectedStore argument"
    "|bound to tool_call_id|ToolMessages for its tool call"
    "|Here is a summary of the conversation|Summary of the conversation so far"
    "|should never be called multiple times|was called several times at once"
    "|Native structured output expected valid JSON"
    "|You are emulating a tool call for testing|Play a tool: answer as it would"
    "|does not support sync invocation"
    "|mplementation of a?wrap_tool_call is not available|, which a?invoke and a?stream of an agent"
)
"""Errors that each side tells in its own words, also where a handler shows them to the model."""


def parted(program: Spec, oracle: Any, ours: Any) -> Difference | None:
    """The first difference between the results of the sides, or None.

    Where several tools run at once, what they write to streams and logs may come in any order: a
    program is the same on both sides if it is so once these are sorted.
    """
    if any(one["kind"] == "people" for one in program.get("middleware", ())):
        oracle, ours = _once(plain(oracle)), _once(plain(ours))
    if any(one.get("reviewed") for one in program.get("tools", ())):
        oracle, ours = _outermost(oracle), _outermost(ours)
    found = difference(plain(oracle), plain(ours))
    if found is None or _is_documented(found):
        return None
    if difference(settled(oracle), settled(ours)) is None:
        return None
    if _races(program) and difference(_until_failed(oracle), _until_failed(ours)) is None:
        return None
    return found


def plain(result: Any) -> Any:
    """A result as plain data, without what a documented difference leaves out."""
    return _renumbered(_without_marks(normalise(result)), {})


def _once(value: Any) -> Any:
    """The value with each part of a stream once: where one side notes an approval, it tells the
    state again ("An approval holds for one call")."""
    if isinstance(value, dict):
        return {
            k: list({repr(one): one for one in v}.values())
            if k == "$parts" and isinstance(v, list | tuple)
            else _once(v)
            for k, v in value.items()
        }
    return type(value)(map(_once, value)) if isinstance(value, list | tuple) else value


def _outermost(value: Any) -> Any:
    """The value without the runs that tools have inside a run of their own ("Runs of a reviewed
    tool")."""
    if not isinstance(value, dict):
        return type(value)(map(_outermost, value)) if type(value) in (list, tuple) else value
    found = {name: _outermost(item) for name, item in value.items()}
    if isinstance(parts := value.get("$parts"), list):
        kept: list[Any] = []
        depth = 0
        for part in parts:
            event = part[0] if isinstance(part, tuple) else None
            depth += event == "on_tool_start"
            if depth < 2 or event not in _OF_TOOLS:
                kept.append(part)
            depth -= event in ("on_tool_end", "on_tool_error")
        found["$parts"] = kept
    return found


_OF_TOOLS = ("on_tool_start", "on_tool_end", "on_tool_error")


def _renumbered(value: Any, seen: dict[str, str]) -> Any:
    """The same with its ids counted anew: what was left out may have had some."""
    if isinstance(value, str):
        return _ID.sub(lambda m: seen.setdefault(m[0], f"<id:{len(seen) + 1}>"), value)
    if isinstance(value, dict):
        return {_renumbered(k, seen): _renumbered(v, seen) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_renumbered(item, seen) for item in value)
    return value


def _is_nothing(value: Any) -> bool:
    """Whether a value holds marks, and nothing else."""
    return isinstance(value, dict) and bool(value) and value.keys() <= MARKS


def _is_made(message_id: Any) -> bool:
    """Whether nobody chose a message's id."""
    return message_id is None or bool(_ID.fullmatch(message_id))


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        if _is_nothing(value):
            return None  # as an update; as the result of a task it is empty
        if "parent_config" in value and isinstance(value.get("values"), dict):
            shown = {k: v for k, v in value["values"].items() if k != "jump_to"}  # an agent's own
            value = {**value, "values": shown}
        if any(str(key).startswith("__pregel_") for key in value.get("configurable") or ()):
            value = {"configurable": value["configurable"]}  # as runs inside of it are given it
        if value.get("$") == "StateSnapshot":
            value = waiting(value)
        if "$defs" in value:  # the schema of an answer is described in each side's own words
            return "<schema>"
        if value.get("$") == "ToolMessage":  # one side's has its id before it is in the state
            made = "<id>" if _is_made(value.get("id")) else value["id"]
            value = {**value, "id": made, "content": _as_stored(value.get("content"))}
        left_out = {*MARKS, "state"} if "tool_call" in value else MARKS  # "Stored tool calls"
        if {"source", "step"} <= value.keys():  # of a checkpoint: told before or after it is stored
            left_out = {*left_out, "lc_agent_name"}
        if "langgraph_checkpoint_ns" in value:  # beside it, `checkpoint_ns` is of whoever called
            left_out = {*left_out, "checkpoint_ns"}
        if "triggers" in value and not set(value.get("metadata", ())) - MARKS:
            left_out = {*left_out, "metadata"}
        return {
            k: "<text>" if k == "error" and not isinstance(v, dict) else _without_marks(v)
            for k, v in value.items()
            if k not in left_out
            and not (k == "metadata" and _is_nothing(v))
            and not str(k).startswith("__pregel_")
        } | ({"result": {}} if _is_nothing(value.get("result")) else {})
    if isinstance(value, str):
        value = value.replace("'hitl_decided_tool_calls', ", "")
        return "<in own words>" if OWN_WORDS.search(value) else value
    if isinstance(value, list | tuple):
        return type(value)(
            _without_marks(one) for one in value if not isinstance(one, str) or one not in MARKS
        )
    return value


def _as_stored(content: Any) -> Any:
    """The content of a tool's message as a ToolNode keeps it ("Lists in events of tools")."""
    if isinstance(content, list) and not all(isinstance(one, dict) for one in content):
        return json.dumps(content, ensure_ascii=False)
    return content


def _is_documented(found: Difference) -> bool:
    """Whether it is "Answers in the last step", "Tools selected for nobody", "Approvals are bound
    to their calls", "Wrong answers of people", "Injected arguments of a tool put in place", or the
    place of an answer to a call that could not be read ("Tool calls without an answer"): what comes
    after it is not compared."""
    theirs, mine = found.oracle, found.plait
    if found.path.endswith("['input']['field']") and repr(mine) == "<absent>":
        return True  # of `count_messages`, where another tool runs
    if any(f"'$error': {name!r}" in repr(mine) for name in REFUSED):
        return True
    if isinstance(theirs, dict) and theirs.get("$error") == "AssertionError":
        return isinstance(mine, dict) and mine.get("$error") == "InvalidValueError"
    if any(isinstance(one, str) and one.endswith(UNREADABLE) for one in (theirs, mine)):
        return True
    return isinstance(theirs, str) and theirs.startswith("Sorry, need more steps")


UNREADABLE = "could not be executed - arguments were malformed or truncated."


REFUSED = ("ApprovalMismatchError", "InvalidDecisionError")
"""Errors of plait, where the peer runs what nobody approved, or tells the model."""


def _races(program: Spec) -> bool:
    """Whether several tools may run at once."""
    models = [one.get("model", {}) for one in (program, *program.get("members", []))]
    replies = [{"calls": program.get("calls", [])}]
    replies += [reply for one in models for reply in one.get("script", [])]
    return any(len(one.get("calls", [])) > 1 for one in replies)


def _until_failed(result: Any) -> Any:
    """What came before the first error: which of several tools fails first is chance."""
    kept: list[Any] = []
    for one in settled(result).get("played", []):
        if "'$error'" in repr(one):
            return [*kept, "failed"]
        kept.append(one)
    return kept


def settled(result: Any) -> Any:
    """A result as plain data, with what may come in any order sorted."""
    return plain(_sorted_parts(result))


def _sorted_parts(value: Any) -> Any:
    """The value with what tools that run at once do in any order in a fixed one."""
    if isinstance(value, dict):
        if isinstance(value.get("error"), ErrorInfo):  # how far others came is chance
            value = {k: v for k, v in value.items() if k != "$parts"}
        return {
            k: sorted(map(plain, v), key=repr)
            if k in UNORDERED and isinstance(v, list | tuple)
            else _sorted_parts(v)
            for k, v in value.items()
        }
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(_sorted_parts(item) for item in value)
    return value


UNORDERED = {"$parts", "seen", "__interrupt__", "interrupts"}
