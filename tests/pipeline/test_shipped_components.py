"""The components that ship: summarizers, selectors, routers, evaluators; graphs made of graphs."""

import re
import threading
from collections.abc import Callable
from typing import Any, TypedDict

import pytest

from plait.documents import Document
from plait.errors import (
    InvalidGraphError,
    InvalidInputError,
    InvalidUpdateError,
    InvalidValueError,
    ModelError,
)
from plait.graph import START, StateGraph
from plait.pipeline import (
    EmbeddingSingleSelector,
    EvaluatorComponent,
    FnComponent,
    Judge,
    LLMMultiSelector,
    LLMSingleSelector,
    LoopComponent,
    QueryPipeline,
    RouterComponent,
    RouterQueryEngine,
    SimpleSummarize,
    TreeSummarize,
    create_parallel_pipeline,
    create_sequential_pipeline,
)
from plait.tools import StructuredTool, tool

CHOICES = ["about cats", "about dogs", "about fish"]


def passages(prompt: str) -> list[str]:
    return prompt.partition("Passages:\n")[2].partition("\n\nQuery:")[0].split("\n\n")


# --- summarizers ---------------------------------------------------------------------------------


async def test_a_simple_summary_asks_once_and_cuts_what_is_too_long():
    prompts: list[str] = []
    last = SimpleSummarize(llm=lambda prompt: prompts.append(prompt) or "done", max_chars=10)
    given: dict[str, Any] = {"query_str": "q?", "nodes": [Document("12345"), "6789abcdef"]}
    assert last.run_component(**given) == await last.arun_component(**given) == {"output": "done"}
    assert [passages(prompt) for prompt in prompts] == [["12345", "678"]] * 2


async def test_a_tree_summary_reads_everything_whatever_its_length():
    seen: list[str] = []

    def model(prompt: str) -> str:
        seen.extend(passages(prompt))
        return f"<{len(passages(prompt))}>"

    nodes = [f"{number:04}" * 5 for number in range(40)]
    tree = TreeSummarize(llm=model, max_chars=100)
    given: dict[str, Any] = {"query_str": "q?", "nodes": nodes}
    output = tree.run_component(**given)
    assert set(nodes) <= set(seen)
    assert await tree.arun_component(**given) == output
    assert tree.run_component(query_str="q?", nodes=[]) == {"output": "<1>"}


def test_a_tree_summary_ends_even_if_each_answer_is_longer_than_its_question():
    tree = TreeSummarize(llm=lambda prompt: prompt * 2, max_chars=50)
    assert tree.run_component(query_str="q?", nodes=["x" * 50] * 9)["output"]


def test_a_text_that_fits_in_no_prompt_is_read_in_parts():
    seen: list[str] = []
    tree = TreeSummarize(llm=lambda prompt: seen.extend(passages(prompt)) or "!", max_chars=10)
    tree.run_component(query_str="q?", nodes=["abcdefghij" * 3])
    assert seen.count("abcdefghij") == 3


def test_braces_in_passages_are_text():
    last = SimpleSummarize(llm=lambda prompt: passages(prompt)[0])
    assert last.run_component(query_str="{context}", nodes=["{query}"])["output"]


# --- selectors and routers -----------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["2", "Choice 2.", "**2** (dogs, not 3)"])
def test_a_model_picks_one(answer: str):
    pick = LLMSingleSelector(llm=lambda prompt: answer)
    assert pick.run_component(choices=CHOICES, query="?") == {"output": [1]}


def test_a_model_picks_several():
    pick = LLMMultiSelector(llm=lambda prompt: "3, 1, 3, 2", max_outputs=2)
    assert pick.run_component(choices=CHOICES, query="?") == {"output": [2, 0]}


@pytest.mark.parametrize("answer", ["dogs", "4", "0"])
def test_an_answer_that_picks_nothing_is_an_error(answer: str):
    with pytest.raises(ModelError, match="numbers 1 to 3"):
        LLMSingleSelector(llm=lambda prompt: answer).run_component(choices=CHOICES, query="?")


def test_the_nearest_choice_is_picked_by_embeddings():
    class Letters:
        """Counts letters."""

        def embed_query(self, text: str) -> list[float]:
            return [float(text.count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

    pick = EmbeddingSingleSelector(embeddings=Letters())
    assert pick.run_component(choices=CHOICES, query="about fish") == {"output": [2]}


@pytest.mark.parametrize("count", [0, -1, "2", None])
def test_counts_that_are_none_are_refused(count: Any):
    for kind in (SimpleSummarize, TreeSummarize):
        with pytest.raises(InvalidGraphError, match=f"max_chars of a {kind.__name__}"):
            kind(llm=str, max_chars=count)
    if count is not None:
        with pytest.raises(InvalidGraphError, match="max_outputs of a LLMMultiSelector"):
            LLMMultiSelector(llm=str, max_outputs=count)


async def test_who_has_nothing_to_pick_from_says_so():
    nothing: dict[str, Any] = {"choices": [], "query": "q"}
    nearest = EmbeddingSingleSelector(embeddings=lambda texts: [[1.0] for _ in texts])
    for selector in (LLMSingleSelector(llm=lambda prompt: "1"), nearest):
        with pytest.raises(InvalidValueError, match="no choices"):
            selector.run_component(**nothing)
        with pytest.raises(InvalidValueError, match="no choices"):
            await selector.arun_component(**nothing)
    with pytest.raises(InvalidGraphError, match="without components"):
        RouterComponent(selector=lambda choices, query: 0, components=[])


def router(selector: Any, **options: Any) -> RouterComponent:
    def answer(what: str) -> Callable[[str], str]:
        return lambda question: f"{what}: {question}"

    parts = [answer(choice.split()[-1]) for choice in CHOICES]
    return RouterComponent(selector=selector, choices=CHOICES, components=parts, **options)


async def test_a_router_sends_a_query_to_one_component():
    one = router(LLMSingleSelector(llm=lambda prompt: re.findall(r"about (\w+)\?", prompt)[0][-1:]))
    with pytest.raises(ModelError):
        one.run_component(query="about dogs?")
    one = router(lambda choices, query: next(i for i, c in enumerate(choices) if c in query))
    for output in (
        QueryPipeline(chain=[one]).run("what about dogs"),
        await QueryPipeline(chain=[one]).arun("what about dogs"),
    ):
        assert output == "dogs: what about dogs"


async def test_answers_of_several_components_are_joined_by_the_summarizer():
    model = {"pick": "1, 3"}
    both = router(
        LLMMultiSelector(llm=lambda prompt: model["pick"]),
        summarizer=SimpleSummarize(llm=lambda prompt: " | ".join(passages(prompt))),
    )
    pipeline = QueryPipeline(chain=[both])
    assert pipeline.run("?") == await pipeline.arun("?") == "cats: ? | fish: ?"
    model["pick"] = "2"
    assert pipeline.run("?") == "dogs: ?"
    without = QueryPipeline(chain=[router(lambda choices, query: [0, 1])])
    assert without.run("?") == await without.arun("?") == ["cats: ?", "dogs: ?"]


def test_the_components_that_a_router_picks_run_at_once():
    barrier = threading.Barrier(2)

    def meet(query: str) -> str:
        barrier.wait(timeout=20)
        return query

    both = RouterComponent(
        selector=lambda choices, query: [0, 1], choices=["a", "b"], components=[meet, meet]
    )
    assert both.run_component(query="x") == {"output": ["x", "x"]}


def test_parts_of_a_router_use_the_model_of_the_pipeline():
    lacking = router(LLMSingleSelector())
    with pytest.raises(InvalidGraphError, match="needs a model"):
        QueryPipeline(chain=[lacking]).build()
    assert QueryPipeline(chain=[lacking], llm=lambda prompt: "1").run("?") == "cats: ?"


def test_routers_that_cannot_work_are_refused():
    with pytest.raises(InvalidGraphError, match="a choice"):
        RouterComponent(selector=lambda choices, query: 0, components=[len, len], choices=["a"])
    with pytest.raises(InvalidGraphError, match="partial"):
        RouterComponent(
            selector=lambda choices, query: 0, components=[lambda a, b: a], choices=["a"]
        )
    with pytest.raises(InvalidUpdateError, match="index from 0 to 2"):
        router(lambda choices, query: 3).run_component(query="?")
    with pytest.raises(InvalidUpdateError, match="picked none"):
        router(lambda choices, query: []).run_component(query="?")


async def test_a_router_over_tools_is_asked_directly_and_joins_by_default():
    @tool
    def cats(query: str) -> str:
        """About cats."""
        return "Purr."

    @tool
    def dogs(query: str) -> str:
        """About dogs."""
        return "Woof."

    def model(prompt: str) -> str:
        return " and ".join(passages(prompt)) if "Passages" in prompt else "1, 2"

    engine = RouterQueryEngine(LLMMultiSelector(), [cats, dogs], llm=model)
    assert engine.choices == ["About cats.", "About dogs."]
    assert engine.query("?") == await engine.aquery("?") == "Purr. and Woof."
    assert QueryPipeline(chain=[engine]).run("?") == "Purr. and Woof."
    with pytest.raises(InvalidGraphError, match="needs a model"):
        RouterQueryEngine(LLMMultiSelector(), [cats, dogs]).query("?")


@pytest.mark.parametrize(
    "selector",
    [
        LLMSingleSelector(llm=lambda prompt: "2"),
        LLMMultiSelector(llm=lambda prompt: "2, 1", max_outputs=1),
        EmbeddingSingleSelector(
            embeddings=lambda texts: [[float("dogs" in t), 1.0] for t in texts]
        ),
    ],
)
def test_who_picks_one_needs_no_model_to_join_several(selector):
    cats = StructuredTool.from_function(lambda query: "Purr.", name="c", description="On cats.")
    dogs = StructuredTool.from_function(lambda query: "Woof.", name="d", description="On dogs.")
    assert RouterQueryEngine(selector, [cats, dogs]).query("On dogs?") == "Woof."


# --- evaluators ----------------------------------------------------------------------------------


async def test_judges_and_functions_grade_side_by_side():
    evaluator = EvaluatorComponent(
        metrics={
            "polite": Judge(criterion="The answer is polite."),
            "short": lambda answer: float(len(answer) < 10),
            "found": lambda contexts, answer: float(answer in contexts),
        }
    )
    pipeline = QueryPipeline(modules={"grade": evaluator}, llm=lambda prompt: "0.8 of 1")
    given = {"question": "Hi?", "answer": "Good day", "nodes": [Document("Good day")]}
    wanted = {"polite": 0.8, "short": 1.0, "found": 1.0}
    assert pipeline.run(**given) == await pipeline.arun(**given) == wanted
    del given["nodes"]
    assert pipeline.run(**given) == {"polite": 0.8, "short": 1.0}


def test_what_cannot_be_graded_is_refused():
    with pytest.raises(InvalidGraphError, match="takes 'reference'"):
        EvaluatorComponent(metrics={"m": lambda reference: 1.0})
    with pytest.raises(InvalidInputError, match="None of the metrics"):
        EvaluatorComponent().run_component(question="?", answer="!")
    with pytest.raises(ModelError, match="number from 0 to 1"):
        Judge(criterion="x", llm=lambda prompt: "7").run_component(question="?", answer="!")


@pytest.mark.parametrize(
    ("answer", "grade"),
    [("0.7", 0.7), (".5", 0.5), ("Grade: 0,25.", 0.25), ("1/1", 1.0), ("0.9 out of 1.0", 0.9)],
)
def test_a_grade_is_read_as_it_was_meant(answer: str, grade: float):
    judge = Judge(criterion="polite", llm=lambda prompt: answer)
    assert judge.run_component(question="q", answer="a") == {"output": grade}


@pytest.mark.parametrize("answer", ["-0.5", "1/5", "0 out of 10", "1 %", "8/10", "fine"])
def test_a_number_on_another_scale_is_no_grade(answer: str):
    judge = Judge(criterion="polite", llm=lambda prompt: answer)
    with pytest.raises(ModelError, match="number from 0 to 1"):
        judge.run_component(question="q", answer="a")


async def test_an_error_of_a_metric_says_which_one_it_was():
    def broken(answer: str) -> float:
        raise OSError("no")

    evaluator = EvaluatorComponent(metrics={"fine": lambda answer: 1.0, "broken": broken})
    with pytest.raises(OSError, match="no") as told:
        evaluator.run_component(question="?", answer="!")
    assert told.value.__notes__ == ["In the metric 'broken'"]
    with pytest.raises(OSError, match="no") as told:
        await evaluator.arun_component(question="?", answer="!")
    assert told.value.__notes__ == ["In the metric 'broken'"]


# --- functions as components ---------------------------------------------------------------------


def test_a_function_may_be_told_its_inputs_and_output():
    def joined(**texts: str) -> str:
        return "".join(texts[key] for key in sorted(texts))

    fn = FnComponent(joined, req_params=["a", "b"], output_key="text")
    assert fn.run_component(a="1", b="2") == {"text": "12"}
    assert fn.input_keys.required == ("a", "b")


# --- graphs of graphs ----------------------------------------------------------------------------


class State(TypedDict, total=False):
    n: int


def named(name: str | None) -> Any:
    builder = StateGraph(State).add_node("step", lambda state: {"n": state["n"] + 1})
    builder.add_edge(START, "step")
    return builder.compile(name=name)


def test_graphs_without_a_name_of_their_own_are_refused():
    for make in (create_sequential_pipeline, create_parallel_pipeline):
        with pytest.raises(InvalidGraphError, match="name of its own"):
            make([named(None)], State)
        with pytest.raises(InvalidGraphError, match="Two graphs are called 'a'"):
            make([named("a"), named("a")], State)
        with pytest.raises(InvalidGraphError, match="compiled graph"):
            make([StateGraph(State)], State)
        with pytest.raises(InvalidGraphError):
            make([], State)
    assert create_sequential_pipeline([named("a"), named("b")], State).invoke({"n": 0}) == {"n": 2}


def test_selectors_and_routers_are_made_as_llama_index_makes_them(
    capsys: pytest.CaptureFixture[str],
):
    """The answer is what llama-index-core 0.11.23 asks a model for, and picks the same there."""

    def model(prompt: str) -> str:
        return '[{"choice": 2, "reason": "It has 4 legs."}]'

    router = RouterComponent(
        selector=LLMSingleSelector.from_defaults(llm=model),
        choices=["about birds", "about dogs"],
        components=[lambda query: "Tweet.", lambda query: "Woof."],
        verbose=True,
    )
    assert QueryPipeline(chain=[router]).run("What barks?") == "Woof."
    assert capsys.readouterr().out == "> Picked for the query: about dogs\n"
    several = LLMMultiSelector.from_defaults(llm=lambda prompt: "2 1", max_outputs=1)
    assert several.run_component(choices=["a", "b"], query="q") == {"output": [1]}

    @tool
    def birds(query: str) -> str:
        """About birds."""
        return "Tweet."

    @tool
    def dogs(query: str) -> str:
        """About dogs."""
        return "Woof."

    assert RouterQueryEngine.from_defaults([birds, dogs], llm=model).query("Bark?") == "Woof."


def test_a_loop_runs_a_pipeline_at_least_once_and_no_text():
    step = QueryPipeline(chain=[str.upper])
    with pytest.raises(InvalidGraphError, match="at least once: max_iterations=0"):
        LoopComponent(step, max_iterations=0)
    with pytest.raises(InvalidGraphError, match="takes a QueryPipeline, got 'step'"):
        LoopComponent("step")  # pyright: ignore[reportArgumentType]


async def test_a_loop_runs_as_often_as_it_may():
    runs: list[int] = []

    def step(n: int) -> int:
        runs.append(n)
        return n + 1

    loop = LoopComponent(
        QueryPipeline(chain=[step]),
        add_output_to_input_fn=lambda inputs, outputs: {"n": outputs["output"]},
        max_iterations=2,
    )
    assert loop.run_component(n=0) == await loop.arun_component(n=0) == {"output": 2}
    assert runs == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("config", lambda config: config + 1),
        ("batch", lambda batch: batch + 1),
        ("return_values_direct", lambda return_values_direct: return_values_direct + 1),
    ],
)
async def test_an_input_of_a_loop_may_be_called_like_an_option_of_a_run(
    name: str, step: Callable[[int], int]
):
    loop = LoopComponent(
        QueryPipeline(chain=[step]),
        add_output_to_input_fn=lambda inputs, outputs: {name: outputs["output"]},
        max_iterations=2,
    )
    assert loop.run_component(**{name: 0}) == {"output": 2}
    assert await loop.arun_component(**{name: 0}) == {"output": 2}


async def test_what_one_component_answers_is_not_summed_up():
    def refuse(prompt: str) -> str:
        raise AssertionError(prompt)

    one = router(lambda choices, query: [1], summarizer=SimpleSummarize(llm=refuse))
    assert one.run_component(query="?") == {"output": "dogs: ?"}
    assert await one.arun_component(query="?") == {"output": "dogs: ?"}


def test_a_selector_counts_no_choice_twice_and_a_router_none_from_its_end():
    pick = LLMMultiSelector(llm=lambda prompt: "2, 2, 1", max_outputs=2)
    assert pick.run_component(choices=["a", "b"], query="?") == {"output": [1, 0]}
    with pytest.raises(InvalidUpdateError, match="index from 0 to 2"):
        router(lambda choices, query: -1).run_component(query="?")


def test_a_component_of_a_router_that_lacks_a_model_has_the_one_of_the_router():
    summarize = SimpleSummarize().partial(nodes=["a"])
    one = RouterComponent(
        selector=lambda choices, query: 0, components=[summarize], choices=["sums up"]
    )
    assert QueryPipeline(chain=[one], llm=lambda prompt: "summed up").run("?") == "summed up"


def test_a_choice_without_any_likeness_can_be_nearest():
    nothing = EmbeddingSingleSelector(embeddings=lambda texts: [[0.0, 0.0] for _ in texts])
    assert nothing.run_component(choices=["a", "b"], query="?") == {"output": [0]}
