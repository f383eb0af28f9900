"""Warns of tools that options of middleware name and the agent does not have, or does not run."""

import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast
from warnings import warn

from plait.agents.hooks import Middleware, defines
from plait.agents.middleware.guests import GuestMiddleware
from plait.errors import UnknownToolWarning, nearest
from plait.warnings import program_level

_EMULATOR = "plait.agents.middleware.tool_emulator"
_OF_HISTORY = "exclude_tools"
"""The option about results that are there already, which may be those of another agent's tools."""


def warn_of_unknown(middleware: Sequence[Middleware], tools: Sequence[Any], answers: bool) -> None:
    """Warn of each name that is no tool's, unless tools may come at run time.

    Args:
        middleware: The middleware of the agent.
        tools: What its model may call: tools, dicts of the provider's own, names.
        answers: Whether the agent's node may answer calls of tools that it does not have.
    """
    if _may_come_later(middleware, answers):
        return
    names = [name for tool in tools for name in _names_of(tool)]
    for one in middleware:
        for option, named in one.tools_by_option.items():
            for name in named:
                near = option != _OF_HISTORY or get_close_matches(name, names, n=1, cutoff=0.8)
                if name not in names and near:
                    warn(
                        f"{option} of middleware {one.name!r} names {name!r}, which is no tool of "
                        f"the agent. {nearest(name, names)}",
                        UnknownToolWarning,
                        stacklevel=program_level(),
                    )


def warn_of_answers(middleware: Sequence[Middleware], answers: Container[str]) -> None:
    """Warn where a person is to decide about what runs nothing.

    Args:
        middleware: The middleware of the agent.
        answers: The names of the tools by which the model gives its structured response.
    """
    for one in middleware:
        for name in one.tools_by_option.get("interrupt_on", ()):
            if name in answers:
                warn(
                    f"interrupt_on of middleware {one.name!r} names {name!r}, by which the model "
                    "gives its structured response: no tool runs then, and nobody is asked. To "
                    "have a person look at it, call interrupt() in an after_agent hook.",
                    UnknownToolWarning,
                    stacklevel=program_level(),
                )


def _may_come_later(middleware: Sequence[Middleware], answers: bool) -> bool:
    """Whether a hook of the program's may show the model more tools, and something answers their
    calls."""
    return any(_is_own(one, "wrap_model_call") for one in middleware) and (
        answers
        or any(
            _plays_tools(one) or _is_own(one, "wrap_tool_call") or _is_own(one, "after_model")
            for one in middleware
        )
    )


def _plays_tools(one: Any) -> bool:
    """Whether it is an `LLMToolEmulator`, whose module few agents load."""
    module = sys.modules.get(_EMULATOR)
    return module is not None and isinstance(one, module.LLMToolEmulator)


def _is_own(one: Middleware, hook: str) -> bool:
    """Whether a middleware has a hook that is not one of plait's."""
    if not (defines(one, hook) or defines(one, f"a{hook}")):
        return False
    its = next(base for base in type(one).__mro__ if {hook, f"a{hook}"} & vars(base).keys())
    return isinstance(one, GuestMiddleware) or not its.__module__.startswith("plait.")


def _names_of(tool: Any) -> Iterator[str]:
    """The names under which a model may call a tool; a provider says them in several ways."""
    if isinstance(tool, str):
        yield tool
    elif not isinstance(tool, Mapping):
        yield tool.name
    else:
        given = cast("Mapping[str, Any]", tool)
        for one in (given, given.get("function"), *given.get("function_declarations", ())):
            its: Any = cast("Any", one) if isinstance(one, Mapping) else {}
            yield from (its[key] for key in ("name", "type") if isinstance(its.get(key), str))


__all__ = ["warn_of_answers", "warn_of_unknown"]
