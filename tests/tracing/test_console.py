"""The console tracer prints a tree of what happens."""

from io import StringIO

import pytest

from plait.runnables import RunnableLambda
from plait.tracing import ConsoleTracer


def test_runs_are_indented_under_their_parents_and_failures_are_marked() -> None:
    def fail(_: str) -> str:
        raise ValueError("no")

    out = StringIO()
    chain = RunnableLambda(str.upper, name="upper") | RunnableLambda(fail, name="fail")
    with pytest.raises(ValueError, match="no"):
        chain.invoke("hi", {"callbacks": [ConsoleTracer(out, times=False)]})
    assert out.getvalue().splitlines() == [
        "> chain RunnableSequence 'hi'",
        "  > chain upper 'hi'",
        "  < chain upper 'HI'",
        "  > chain fail 'HI'",
        "  ! chain fail failed: ValueError: no",
        "! chain RunnableSequence failed: ValueError: no",
    ]
