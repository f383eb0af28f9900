"""Annotations that name what only type checkers import, or what is defined later.

Python 3.14 evaluates an annotation when somebody asks for it; before, `from __future__ import
annotations` keeps its text. A program gives the same either way.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from typing import Any

import pytest

import plait
from plait.common.reflection import own_annotations

LAZY = sys.version_info >= (3, 14)
WRITTEN = [
    pytest.param("from __future__ import annotations\n", id="as text"),
    pytest.param("", id="evaluated late", marks=pytest.mark.skipif(not LAZY, reason="3.14")),
]

PROGRAM = """
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypedDict

from plait.func import entrypoint, task
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage
from plait.runnables import RunnableLambda
from plait.tools import BaseTool

if TYPE_CHECKING:
    from decimal import Decimal

    from plait.runtime import Runtime


class State(TypedDict):
    log: Annotated[list, operator.add]
    child: State | None


@dataclass
class Said:
    messages: list
    price: Decimal | None = None


class Priced(AIMessage):
    price: Decimal | None = None


class Adds(BaseTool):
    name: str = "adds"
    description: str = "Adds."
    prices: dict[str, Decimal] = {}

    def _run(self, x: int) -> str:
        return str(x + 1)


def node(state: State, runtime: Runtime[Decimal]) -> Decimal:
    return {"log": [type(runtime).__name__]}


def path(state: State) -> Decimal:
    return "__end__"


@task
def double(x: Decimal) -> Decimal:
    return 2 * x


@entrypoint()
def work(x: Decimal) -> Decimal:
    return double(x).result()


def told(update):
    graph = StateGraph(MessagesState).add_node("say", lambda state: update).add_edge(START, "say")
    parts = graph.compile().stream({"messages": []}, stream_mode="messages")
    return [message.content for message, _ in parts]


graph = StateGraph(State).add_node(node).add_edge(START, "node")
graph.add_conditional_edges("node", path)
GIVES = [
    graph.compile().invoke({"log": []}),
    work.invoke(2),
    RunnableLambda(double.func).get_input_schema().model_json_schema()["title"],
    Adds(prices={"a": 1}).invoke({"x": 1}),
    Priced(content="hi").price,
    told(Said([AIMessage("hello")])),
]
"""


@pytest.mark.parametrize("first_line", WRITTEN)
def test_a_program_need_not_have_the_names_of_its_annotations(
    first_line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = type(sys)("written_late")
    monkeypatch.setitem(sys.modules, "written_late", module)
    exec(compile(first_line + PROGRAM, "written_late.py", "exec"), vars(module))
    assert module.GIVES == [{"log": ["Runtime"]}, 4, "double_input", "2", None, ["hello"]]


def test_annotations_of_plait_can_be_read() -> None:
    """A method that is named as a type (`dict`) hides it from annotations that are read late."""
    wrong: list[str] = []
    for found in pkgutil.walk_packages(plait.__path__, "plait."):
        if found.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError:  # an extra that is not installed
            continue
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != found.name:
                continue
            wrong += [f"{found.name}.{name}: {error}" for error in _unreadable(value)]
    assert wrong == []


def _unreadable(value: Any) -> list[str]:
    owners = [value, *vars(value).values()] if inspect.isclass(value) else [value]
    errors: list[str] = []
    for owner in owners:
        code = getattr(owner, "fget", None) or getattr(owner, "__func__", owner)
        if not (inspect.isclass(code) or inspect.isfunction(code)):
            continue
        try:
            own_annotations(code)
        except Exception as error:
            errors.append(f"{code.__qualname__}: {error!r}")
    return errors
