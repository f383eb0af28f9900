"""Collected runs, and debug output, reach what runs beside other callbacks and on other threads."""

import threading
from typing import Any

import pytest

from plait.callbacks import BaseCallbackHandler
from plait.globals import set_debug
from plait.graph import START, StateGraph
from plait.runnables import RunnableLambda
from plait.tracing import collect_runs
from plait.types import interrupt

double = RunnableLambda(lambda x: 2 * x, name="double")


def test_a_batch_is_collected_from_all_its_threads() -> None:
    with collect_runs() as collected:
        double.batch(list(range(20)))
    assert sorted(run.outputs["output"] for run in collected.traced_runs) == list(range(0, 40, 2))


def test_an_interrupted_run_has_neither_outputs_nor_an_error() -> None:
    def asks(state: Any) -> Any:
        return {"a": interrupt("?")}

    graph = StateGraph(dict).add_node("n", asks).add_edge(START, "n").compile()
    with collect_runs() as collected:
        graph.invoke({"a": 1})
    (node,) = collected.traced_runs[0].child_runs
    assert (node.name, node.outputs, node.error) == ("n", None, None)


def test_debugging_tells_of_graphs_threads_and_runs_with_callbacks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    graph = StateGraph(dict).add_node("n", lambda state: {"a": double.invoke(1)})
    compiled = graph.add_edge(START, "n").compile()
    set_debug(True)
    try:
        compiled.invoke({"a": 1})
        compiled.invoke({"a": 1}, {"callbacks": [BaseCallbackHandler()]})
        thread = threading.Thread(target=lambda: double.invoke(2))
        thread.start()
        thread.join()
    finally:
        set_debug(False)
    compiled.invoke({"a": 1})
    told = [
        line.split(" [")[0].replace(" (step 1)", "")
        for line in capsys.readouterr().err.splitlines()
    ]
    of_graph = [
        *("> chain LangGraph {'a': 1}", "  > chain n {'a': 1}", "    > chain double 1"),
        *("    < chain double 2", "  < chain n {'a': 2}", "< chain LangGraph {'a': 2}"),
    ]
    assert told == [*of_graph, *of_graph, "> chain double 2", "< chain double 4"]
