"""The import footprint: messages cost what they are, and nothing heavy comes along."""

import subprocess
import sys

import pytest

HEAVY = ("pydantic", "pydantic_core", "asyncio", "langchain_core", "langgraph", "typing_extensions")


@pytest.mark.parametrize("module", ["plait.messages", "plait.graph.message"])
def test_import_brings_no_heavy_module(module: str) -> None:
    code = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_making_comparing_and_reducing_messages_brings_none_either() -> None:
    code = (
        "import sys\n"
        "from plait.messages import AIMessage, HumanMessage\n"
        "from plait.graph.message import add_messages\n"
        "ms = add_messages([HumanMessage('a')], [AIMessage('b', tool_calls=[]), ('user', 'c')])\n"
        "assert ms == list(ms) and ms[0].model_dump()\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
