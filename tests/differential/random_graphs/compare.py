"""Runs a generated program on both sides and says where they part."""

import ast
import asyncio
import hashlib
import inspect
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

from tests.differential.harness import Env, Side, Translate, watchdog
from tests.differential.normal import Difference, difference, normalise

from .dice import Spec
from .text import program

SECONDS = 10  # A program takes milliseconds; one that hangs is a difference.
TRIES = 4  # How often both are asked where tasks that race may have several right answers.


def compare(spec: Spec, *, ordered: bool = False, tries: int = TRIES) -> Difference | None:
    """The first place where the sides part, None if there is none."""
    found: Difference | None = None
    results: dict[Side, list[Any]] = {"langgraph": [], "plait": []}
    for attempt in range(tries):
        for side, before in results.items():
            if attempt < 2 or side == "langgraph":
                before.append(outcome(spec, side))
        pairs = [(peer, ours) for peer in results["langgraph"] for ours in results["plait"]]
        differences = [difference(peer[0], ours[0]) for peer, ours in pairs]
        if None in differences:
            return None
        if not ordered and any(difference(peer[1], ours[1]) is None for peer, ours in pairs):
            return None
        found = differences[-1]
    return found


def outcome(spec: Spec, side: Side) -> tuple[Any, Any]:
    """What the program of a spec returns on one side, as plain data: in order, and sorted."""
    module = _load(program(spec), side)
    function = module.case_random
    with (
        tempfile.TemporaryDirectory(prefix="plait-random-") as directory,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        env = Env(side, spec["kind"], Path(directory))
        try:
            with watchdog(SECONDS):
                result = function(env)
                if inspect.iscoroutine(result):
                    result = asyncio.run(result)
            return _comparable(normalise(result)), _comparable(normalise(_sorted(result)))
        except Exception as error:
            raised = normalise(("raised", error))
            return raised, raised
        finally:
            env.close()
            sys.modules.pop(module.__name__, None)


def _sorted(record: list[Any]) -> list[Any]:
    """A record whose streams are in an order that is not that of time.

    Tasks that run at once end in any order, and plait tells a question when its super-step ends.
    """
    return [_entry_sorted(entry) for entry in record]


def _entry_sorted(entry: Any) -> Any:
    if len(entry) != 3:
        return entry
    kind, outcome, after = entry
    if kind == "stream" and isinstance(outcome, list):
        outcome = sorted(outcome, key=_key)
    if kind == "invoke" and isinstance(outcome, dict) and "__interrupt__" in outcome:
        outcome = {**outcome, "__interrupt__": sorted(outcome["__interrupt__"], key=_key)}
    return kind, outcome, _snapshot_sorted(after)


def _snapshot_sorted(value: Any) -> Any:
    """Snapshots whose questions are in an order that is not that of their coming up."""
    if isinstance(value, list):
        return [_snapshot_sorted(item) for item in value]
    if hasattr(value, "tasks"):
        tasks = tuple(_snapshot_sorted(task) for task in value.tasks)
        return value._replace(tasks=tasks, interrupts=tuple(sorted(value.interrupts, key=_key)))
    if hasattr(value, "interrupts"):
        asked = tuple(sorted(value.interrupts, key=_key))
        return value._replace(interrupts=asked, state=_snapshot_sorted(value.state))
    return value


def _key(part: Any) -> str:
    return repr(_comparable(normalise(part)))


def _comparable(value: Any) -> Any:
    """A plain result without what is each side's own affair: texts of errors, private keys."""
    if isinstance(value, dict):
        if value.get("$") == "StateSnapshot":
            value = _waiting(value)
        return {
            key: _error(item) if key == "error" else _comparable(item)
            for key, item in value.items()
            if not str(key).startswith("__pregel_") and key not in _TRACERS
        }
    if isinstance(value, list | tuple):
        return type(value)(_comparable(item) for item in value)
    return value


def _waiting(snapshot: dict[Any, Any]) -> dict[Any, Any]:
    """A snapshot without what failed tasks once asked ("Answered questions of a failed task")."""
    tasks = [{**t, "interrupts": ()} if t["error"] else t for t in snapshot["tasks"]]
    asked = tuple(question for task in tasks for question in task["interrupts"])
    return {**snapshot, "tasks": tuple(tasks), "interrupts": asked}


_TRACERS = ("ls_integration", "lc_versions")
"""What the peer tells for its vendor's tracer ("Metadata for LangSmith")."""


def _error(error: Any) -> Any:
    """The class of an error that is told as text; who was only cancelled did not fail."""
    name = error.split("(")[0] if isinstance(error, str) else _comparable(error)
    return None if name == "CancelledError" else name


def _load(text: str, side: Side) -> types.ModuleType:
    name = f"{side}_programs_random_{hashlib.sha1(text.encode()).hexdigest()[:8]}"
    tree = ast.parse(text)
    if side == "plait":
        tree = Translate().visit(tree)
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(ast.fix_missing_locations(tree), f"<{name}>", "exec"), module.__dict__)
    return module
