"""Errors can be copied, and come back from a pool of processes as themselves."""

import copy
import importlib
import multiprocessing
import pickle
import pkgutil
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

import plait
from plait import errors, warnings
from plait.agents import structured_output
from plait.agents.middleware import model_call_limit, tool_call_limit
from plait.chat_models import structured
from plait.checkpoint.serde.failures import RemoteError
from plait.exceptions import OutputParserException
from plait.func import entrypoint
from plait.haystack import errors as haystack
from plait.messages import AIMessage
from plait.prebuilt import tool_errors
from plait.types import Command, Interrupt


class Forecast(BaseModel):
    degrees: int


def unfit() -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Forecast.model_validate({"degrees": "warm"})
    return caught.value


SAID = AIMessage("Let me see.", id="1")
LATE = errors.NodeTimeoutError("ask", 2.5, kind="run", run_timeout=2.0)
MADE: dict[type[BaseException], Callable[[], BaseException]] = {
    errors.ApprovalMismatchError: lambda: errors.ApprovalMismatchError(
        "It was another call.", tool="pay", tool_call_id="c1"
    ),
    errors.GraphDrained: lambda: errors.GraphDrained("deploy"),
    errors.GraphInterrupt: lambda: errors.GraphInterrupt([Interrupt("ok?", id="i")]),
    errors.InvalidPatternError: lambda: errors.InvalidPatternError("pattern", re.error("bad")),
    errors.JournalMismatchError: lambda: errors.JournalMismatchError(
        "Another task.", node="ask", recorded="a", called="b"
    ),
    errors.MigrationError: lambda: errors.MigrationError(
        "None is there.", checkpoint_id="1f0", version=2
    ),
    errors.ModelError: lambda: errors.ModelError("Not now.", provider="openai", status=503),
    errors.NodeCancelledError: lambda: errors.NodeCancelledError("ask"),
    errors.NodeTimeoutError: lambda: LATE,
    errors.PIIDetectionError: lambda: errors.PIIDetectionError("email", [{"start": 0}]),
    errors.ParentCommand: lambda: errors.ParentCommand(Command(goto="a")),
    errors.UnknownInterruptError: lambda: errors.UnknownInterruptError(
        "Nobody asked.", reason="not_pending", interrupt_ids=["i"]
    ),
    OutputParserException: lambda: OutputParserException("No JSON.", "Say it again.", "Hm"),
    RemoteError: lambda: RemoteError("httpx:ReadTimeout", "no answer"),
    haystack.BreakpointException: lambda: haystack.BreakpointException("Here.", "ranker"),
    haystack.PipelineRuntimeError: lambda: haystack.PipelineRuntimeError(
        "ranker", dict, "It failed."
    ),
    haystack.StringConversionError: lambda: haystack.StringConversionError(
        "add", "str", ValueError("no")
    ),
    haystack.ToolInvocationError: lambda: haystack.ToolInvocationError("No.", "add"),
    haystack.ToolNotFoundException: lambda: haystack.ToolNotFoundException("add", ["sub"]),
    model_call_limit.ModelCallLimitExceededError: lambda: (
        model_call_limit.ModelCallLimitExceededError(3, 1, 3, None)
    ),
    structured.StructuredOutputError: lambda: structured.StructuredOutputError("No.", "Hm"),
    structured_output.MultipleStructuredOutputsError: lambda: (
        structured_output.MultipleStructuredOutputsError(["a", "b"], SAID)
    ),
    structured_output.StructuredOutputValidationError: lambda: (
        structured_output.StructuredOutputValidationError("a", ValueError("no"), SAID)
    ),
    tool_call_limit.ToolCallLimitExceededError: lambda: tool_call_limit.ToolCallLimitExceededError(
        3, 1, 3, None, "add"
    ),
    tool_errors.ToolInvocationError: lambda: tool_errors.ToolInvocationError(
        "add", unfit(), {"degrees": "warm"}
    ),
    tool_errors.ToolTimeoutError: lambda: tool_errors.ToolTimeoutError(LATE),
    warnings.LangGraphDeprecationWarning: lambda: warnings.LangGraphDeprecationWarning(
        "Gone.", since=(1, 0)
    ),
}
"""An error of each class with a constructor of its own."""


def classes() -> list[type[BaseException]]:
    """All errors and warnings of plait, as far as the extras are there."""
    found: set[type[BaseException]] = set()
    for module in pkgutil.walk_packages(plait.__path__, "plait."):
        if module.name.endswith("__main__"):
            continue
        try:
            names = vars(importlib.import_module(module.name))
        except errors.MissingExtraError:
            continue
        for each in names.values():
            if isinstance(each, type) and issubclass(each, BaseException):
                found.add(each)
    own = [cls for cls in found if cls.__module__.startswith("plait")]
    return sorted(own, key=lambda cls: f"{cls.__module__}.{cls.__qualname__}")


def sample(cls: type[BaseException]) -> BaseException:
    """An error of a class: that of the table, or one that says a text."""
    if cls in MADE:
        return MADE[cls]()
    try:
        return cls("It failed.")
    except TypeError:
        pytest.fail(f"{cls.__qualname__} asks for more than a text: add an error of it to MADE.")


@pytest.mark.parametrize("cls", [cls for cls in classes() if cls is not errors.NodeInterrupt],
                         ids=lambda cls: f"{cls.__module__}.{cls.__qualname__}")  # fmt: skip
def test_an_error_is_the_same_after_a_journey(cls: type[BaseException]) -> None:
    error = sample(cls)
    error.add_note("While it rained.")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is cls
        assert str(again) == str(error)
        assert repr(again.args) == repr(error.args)
        assert repr(sorted(vars(again).items())) == repr(sorted(vars(error).items()))


def ask(number: int) -> Any:
    """Runs a workflow, which fails in a way of its own."""

    @entrypoint()
    def work(number: int) -> int:
        if number == 1:
            raise errors.MigrationError("It cannot.", checkpoint_id="1f0", version=2)
        return number

    return work.invoke(number)


def test_a_pool_of_processes_hears_which_error_it_was_and_goes_on() -> None:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        with pytest.raises(errors.MigrationError, match="It cannot") as caught:
            pool.submit(ask, 1).result()
        assert (caught.value.checkpoint_id, caught.value.version) == ("1f0", 2)
        assert pool.submit(ask, 2).result() == 2
