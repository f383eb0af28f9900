"""Programs of peers that the tests do without: their answers were recorded, ours are compared.

As in `tests/differential`, a program is one source file, written against the peer; the rules for it
are in the head of `differential/harness.py`. What the peer returned is in `answers/<program>.txt`,
as Python literals. `python -m tests.recorded.record SITE_PACKAGES` writes them anew, with the
site-packages of an environment that has langchain-classic (1.0.8), langgraph-supervisor (0.0.31),
langgraph-swarm (0.1.0) and llama-index-core (0.11.23).
"""

import ast
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.differential import harness as differential
from tests.differential import loading
from tests.differential.normal import difference

PROGRAMS = Path(__file__).parent / "programs"
ANSWERS = Path(__file__).parent / "answers"

IMPORT_ROOTS = {
    "langchain_classic.agents": "plait.agents",
    "langchain_core.language_models": "plait.language_models",
    "langchain_core.chat_history": "plait.chat_history",
    "llama_index.core.bridge.pydantic": "pydantic",
    "llama_index.core.base.query_pipeline.query": "plait.pipeline",
    "llama_index.core.query_pipeline": "plait.pipeline",
    "langgraph_supervisor": "plait.agents.supervisor",
    "langgraph_swarm": "plait.agents.swarm",
}

BETTER: dict[str, str] = {
    "h_executor::callbacks": "the finish that handlers are told is the agent's, nothing is added",
    "h_executor::creation_errors": "missing arguments are a TypeError, as of any function",
    "h_executor::generate_stop": "an agent that is a chain is asked once more for its answer",
    "h_executor::more_return_values": "a decision that is none is named, instead of AttributeError",
    "h_executor::parsing_errors": "error texts are our own, without an address of the peer's",
    "h_executor::parsing_errors_kinds": "error texts are our own",
    "h_executor::react_parse": "both quotes around an input go, not only the first",
    "h_executor_more::parser_raises_plainly": "error texts have no address of the peer's",
    "h_executor_more::parser_sends_to_the_model": "error texts have no address of the peer's",
    "h_executor_more::parsing_errors_are_told": "error texts have no address of the peer's",
    "h_executor_more::parsing_errors_async": "error texts have no address of the peer's",
    "h_executor_more::parsing_errors_count": "error texts have no address of the peer's",
    "h_executor_more::return_direct_of_several": "`iter` tells the last step, too",
    "h_executor_more::self_ask_parse": "a line end after a question is none of it",
    "h_executor_more::unknown_fields": "a mistyped option is refused",
    "h_executor_more::validation_errors": "what does not fit is told",
    "h_executor_more::xml_left_open": "the model stops before it closes the tag; its input counts",
    "h_executor_more::xml_parse": "the last tag may be left open",
    "h_several_more::unknown_options": "a mistyped option is refused",
    "h_executor_odd::no_actions": "a list of no actions is named, instead of an IndexError",
    "h_executor_odd::xml_errors_are_handled": "what cannot be read is an OutputParserException",
    "h_several_odd::response_format": "the answer in its form is given",
    "h_several_created::handoff_beside_a_tool": "the history stays one that models take",
    "h_pipelines_odd::module_names_of_all_kinds": "names are parts of the keys of a state",
    "h_pipelines::arg_pack": "what packs arguments waits for those that are linked to it",
    "h_pipelines::condition_joins": "the module that joins the ways waits for the one that is gone",
    "h_pipelines::errors_while_building": "unknown modules and keys are told where links are added",
    "h_pipelines::fork_positional": "what several links take from one input may be given as it is",
    "h_pipelines::missing_link": "a module that can never run is told, instead of left out",
    "h_pipelines::more_than_was_linked": "a value that nothing takes is refused",
    "h_pipelines::one_positional_through_input": "the one value of an input needs no name",
    "h_pipelines::partial_and_given": "a value that is given counts before a partial one",
    "h_pipelines::run_multi_errors": "an input that no module has is refused",
    "h_pipelines::run_multi_with_intermediates_async": "each module has its own intermediates",
    "h_pipelines::two_values_through_input": "a missing value is a ValueError, not a KeyError",
    "h_pipelines::wrong_inputs": "a missing value is a ValueError, not an UnboundLocalError",
    "h_supervisor::parallel_handoff_and_tool": "what a tool answered beside a handoff is kept",
    "h_supervisor::parallel_handoffs": "all agents that are handed off to are heard",
    "h_swarm::tool_and_handoff_at_once": "the history stays one that models take",
    "h_executor::string_input": "a text is the input, where the peer raises StopIteration",
}
"""Cases whose answer differs on purpose, and why."""


@contextmanager
def programs() -> Generator[None]:
    """The differential harness, over these programs."""
    roots = {**loading.IMPORT_ROOTS, **IMPORT_ROOTS}
    with (
        patch.object(loading, "PROGRAMS", PROGRAMS),
        patch.object(loading, "IMPORT_ROOTS", roots),
    ):
        yield


def cases() -> list[differential.Case]:
    """Every case of every program."""
    with programs():
        return differential.cases()


def answers(program: str) -> dict[str, Any]:
    """What the peer returned, by case."""
    return ast.literal_eval((ANSWERS / f"{program}.txt").read_text())


def check(case: differential.Case) -> None:
    """Run a case on plait and compare with the recorded answer."""
    with programs():
        ours = differential.run(case, "plait")
    found = difference(answers(case.program)[case.id], ours)
    if case.title in BETTER:
        assert found, f"{case.id} no longer differs: delete it from BETTER"
    else:
        assert not found, f"{case.id} differs from the peer's recorded answer\n{found}"
