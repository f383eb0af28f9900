"""Pipelines: what document 004 shows, what is refused and when, and running them."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypedDict

import pytest
from langchain_core.prompts import PromptTemplate as LangChainPrompt
from langchain_core.tools import Tool as LangChainOneText
from langchain_core.tools import tool as langchain_tool

from plait.chat_models.fake import FakeListChatModel
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.config import get_config, get_stream_writer
from plait.documents import Document
from plait.errors import (
    InvalidGraphError,
    InvalidInputError,
    InvalidNodeError,
    InvalidOutputsError,
    InvalidUpdateError,
    InvalidValueError,
    UnknownNodeError,
)
from plait.graph import END, START, StateGraph
from plait.output_parsers import StrOutputParser
from plait.pipeline import (
    ComponentIntermediates,
    CustomQueryComponent,
    EvaluatorComponent,
    FnComponent,
    InputComponent,
    InputKeys,
    Link,
    LoopComponent,
    QueryPipeline,
    Settings,
    SimpleSummarize,
    TreeSummarize,
)
from plait.prompts import ChatPromptTemplate
from plait.retrievers import BaseRetriever
from plait.tools import tool
from plait.types import Command, interrupt


@dataclass
class Draft:
    topic: str


LIBRARY = {
    "braids": "Plaits are braids of three strands.",
    "threads": "A thread keeps a conversation.",
    "savers": "Savers store threads of braids.",
}


class Library(BaseRetriever):
    def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
        words = query.lower().split()
        return [
            Document(text, metadata={"window": text.upper()})
            for text in LIBRARY.values()
            if any(word in text.lower() for word in words)
        ]


class Reranker(CustomQueryComponent):
    top_n: int = 1

    @property
    def _input_keys(self) -> set[str]:
        return {"nodes", "query_str"}

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        return {"output": inputs["nodes"][-self.top_n :]}


class RagasComponent(CustomQueryComponent):
    """The evaluator of the document: a component of one's own with four inputs."""

    @property
    def _input_keys(self) -> set[str]:
        return {"question", "nodes", "answer", "ground_truth"}

    @property
    def _output_keys(self) -> Sequence[str]:
        return ("answer", "score")

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        hit = any(inputs["ground_truth"] in node.page_content for node in inputs["nodes"])
        return {"answer": inputs["answer"], "score": float(hit)}


def said(prompt: str) -> str:
    """A model: repeats what it was given to read."""
    return prompt.partition("Passages:\n")[2].partition("\n\nQuery:")[0]


def document_pipeline(**options: Any) -> QueryPipeline:
    """The second program of the document, line by line."""
    p = QueryPipeline(llm=said, **options)
    p.add_modules(
        {
            "input": InputComponent(),
            "query_rewriter": lambda query: f"{query} braids",
            "retriever": Library(),
            "meta_replacer": lambda nodes: [Document(n.metadata["window"]) for n in nodes],
            "reranker": Reranker(),
            "output": TreeSummarize(),
            "evaluator": RagasComponent(),
        }
    )
    p.add_link("input", "query_rewriter")
    p.add_link("input", "query_rewriter", src_key="input")
    p.add_link("query_rewriter", "retriever")
    p.add_link("retriever", "meta_replacer")
    p.add_link("input", "reranker", dest_key="query_str")
    p.add_link("input", "reranker", src_key="input", dest_key="query_str")
    p.add_link("meta_replacer", "reranker", dest_key="nodes")
    p.add_link("input", "output", dest_key="query_str")
    p.add_link("input", "output", src_key="input", dest_key="query_str")
    p.add_link("reranker", "output", dest_key="nodes")
    p.add_link("input", "evaluator", src_key="input", dest_key="question")
    p.add_link("input", "evaluator", src_key="ground_truth", dest_key="ground_truth")
    p.add_link("reranker", "evaluator", dest_key="nodes")
    p.add_link("output", "evaluator", dest_key="answer")
    return p


# --- what the document shows ---------------------------------------------------------------------


def test_the_short_program_of_the_document_runs_as_it_is_written():
    p = QueryPipeline(verbose=True, llm=said)
    p.add_modules({"input": InputComponent(), "retriever": Library(), "output": SimpleSummarize()})
    p.add_link("input", "retriever")
    p.add_link("input", "output", dest_key="query_str")
    p.add_link("retriever", "output", dest_key="nodes")
    assert p.run("conversation") == LIBRARY["threads"]
    assert p.run(question="conversation") == p.run(input="conversation") == LIBRARY["threads"]


async def test_the_long_program_of_the_document_runs_as_it_is_written():
    p = document_pipeline()
    wanted = {"answer": LIBRARY["savers"].upper(), "score": 1.0}
    given = {"input": "where?", "ground_truth": "SAVERS STORE"}
    assert p.run(**given) == p.invoke(given) == wanted
    assert await p.arun(**given) == wanted


async def test_intermediates_are_what_went_in_and_out_of_each_module():
    p = document_pipeline()
    given = {"input": "where?", "ground_truth": "x"}
    output, intermediates = p.run_with_intermediates(**given)
    assert output["score"] == 0.0
    assert list(intermediates) == list(p.modules)
    assert intermediates["input"].outputs == given
    assert intermediates["retriever"].inputs == {"input": "where? braids"}
    assert [len(intermediates[name].outputs["output"]) for name in ("retriever", "reranker")] == [
        2,
        1,
    ]
    assert (await p.arun_with_intermediates(**given))[1] == intermediates


def test_verbose_tells_each_module_with_its_inputs(capsys: pytest.CaptureFixture[str]):
    QueryPipeline(chain=[str.strip, str.upper], verbose=True).run(" hi ")
    told = capsys.readouterr().out
    assert "> Running module strip with input:\ninput:  hi " in told
    assert "> Running module upper with input:\ninput: hi" in told


def test_silence_is_the_default(capsys: pytest.CaptureFixture[str]):
    QueryPipeline(chain=[str.strip]).run(" hi ")
    assert capsys.readouterr().out == ""


# --- modules -------------------------------------------------------------------------------------


@langchain_tool
def scaled(a: int, b: int = 2) -> int:
    """Scales a number."""
    return a * b


def test_prompts_and_tools_of_langchain_take_their_own_names():
    prompt = LangChainPrompt.from_template("{what} by {who}")
    p = QueryPipeline(modules={"input": InputComponent(), "scale": scaled, "prompt": prompt})
    p.add_link("input", "scale", "n", "a")
    p.add_link("scale", "prompt", dest_key="what")
    p.add_link("input", "prompt", "who", "who")
    assert p.run(n=4, who="Bo").to_string() == "8 by Bo"
    assert QueryPipeline(chain=[scaled]).input_keys == InputKeys(("a",), ("b",))
    loud = QueryPipeline(chain=[LangChainOneText("loud", str.upper, "Shout.")])
    assert loud.run("hi") == "HI"


def test_prompts_models_parsers_tools_and_pipelines_are_modules():
    @tool
    def search(query: str, limit: int = 2) -> str:
        """Search."""
        return f"{limit} x {query}"

    model = FakeListChatModel(responses=["Braids!"])
    prompt = ChatPromptTemplate.from_template("{context} - {question}")
    inner = QueryPipeline(chain=[search])
    p = QueryPipeline(
        modules={
            "input": InputComponent(),
            "inner": inner,
            "prompt": prompt,
            "model": model,
            "parser": StrOutputParser(),
        },
        links=[
            Link("input", "inner", "question", "query"),
            Link("input", "inner", "limit", "limit"),
            Link("inner", "prompt", dest_key="context"),
            Link("input", "prompt", "question", "question"),
            Link("prompt", "model"),
            Link("model", "parser"),
        ],
    )
    output, seen = p.run_with_intermediates(question="what?", limit=5)
    assert output == "Braids!"
    assert seen["prompt"].outputs["output"].to_string() == "Human: 5 x what? - what?"


def test_a_partial_value_needs_no_link():
    fn = FnComponent(lambda nodes, top_n: nodes[:top_n]).partial(top_n=1)
    p = QueryPipeline(chain=[fn])
    assert p.run([3, 4]) == [3]
    assert p.input_keys.required == ("nodes",)
    with pytest.raises(InvalidInputError, match="no input 'top'"):
        fn.partial(top=1)


def test_an_optional_input_may_stay_empty_or_be_linked():
    def greet(name: str, greeting: str = "Hello") -> str:
        return f"{greeting} {name}"

    p = QueryPipeline(modules={"greet": greet})
    assert p.run("you") == "Hello you"
    assert p.run(name="you", greeting="Hi") == "Hi you"


async def test_async_functions_serve_async_runs_and_say_so_in_sync_ones():
    async def double(x: int) -> int:
        return 2 * x

    p = QueryPipeline(chain=[double])
    assert await p.arun(4) == 8
    with pytest.raises(InvalidInputError, match="arun"):
        p.run(4)


def test_inputs_of_a_custom_component_are_validated_before_it_runs():
    class Strict(CustomQueryComponent):
        @property
        def _input_keys(self) -> set[str]:
            return {"text"}

        def _validate_component_inputs(self, input: dict[str, Any]) -> dict[str, Any]:
            if not isinstance(input["text"], str):
                raise InvalidInputError("text must be a str")
            return {**input, "text": input["text"].strip()}

        def _run_component(self, **inputs: Any) -> dict[str, Any]:
            return {"output": inputs["text"]}

    p = QueryPipeline(chain=[Strict()])
    assert p.run(" x ") == "x"
    with pytest.raises(InvalidInputError, match="must be a str"):
        p.run(1)


# --- several inputs and outputs ------------------------------------------------------------------


def test_several_first_and_last_modules_take_and_give_by_name():
    p = QueryPipeline(modules={"a": str.upper, "b": lambda x, y: x + y, "c": len, "d": str.lower})
    p.add_link("a", "c")
    p.add_link("a", "d")
    assert p.input_keys.required == ("a", "b")
    assert p.output_keys == ("b", "c", "d")
    given = {"a": "hi", "b": {"x": 1, "y": 2}}
    assert p.invoke(given) == {"b": {"output": 3}, "c": {"output": 2}, "d": {"output": "hi"}}
    assert p.run(**given) == p.invoke(given)


def test_one_module_may_give_several_values_and_two_modules_share_several_links():
    class Split(CustomQueryComponent):
        @property
        def _input_keys(self) -> set[str]:
            return {"text"}

        @property
        def _output_keys(self) -> Sequence[str]:
            return ("head", "tail")

        def _run_component(self, **inputs: Any) -> dict[str, Any]:
            head, _, tail = inputs["text"].partition(" ")
            return {"head": head, "tail": tail}

    p = QueryPipeline(modules={"split": Split(), "swap": lambda left, right: f"{right} {left}"})
    p.add_link("split", "swap", src_key="head", dest_key="left")
    p.add_link("split", "swap", src_key="tail", dest_key="right")
    assert p.run("b a") == "a b"
    assert QueryPipeline(chain=[Split()]).run("b a") == {"head": "b", "tail": "a"}


# --- what is refused, and when -------------------------------------------------------------------


def two() -> QueryPipeline:
    return QueryPipeline(modules={"a": str.upper, "b": lambda x, y: x + y})


@pytest.mark.parametrize(
    ("link", "error", "says"),
    [
        (("a", "bb"), UnknownNodeError, "Did you mean 'b'"),
        (("a", "b"), InvalidGraphError, r"2 inputs \('x', 'y'\); say which one"),
        (("a", "b", None, "z"), InvalidGraphError, "no input 'z'"),
        (("a", "b", "other", "x"), InvalidGraphError, "no output 'other'"),
        (("a", "a"), InvalidGraphError, "closes a circle"),
    ],
)
def test_a_wrong_link_is_refused_where_it_is_added(link: Any, error: Any, says: str):
    p = two()
    with pytest.raises(error, match=says):
        p.add_link(*link)
    assert p.links == ()


def test_an_input_takes_one_link():
    p = QueryPipeline(modules={"a": str.upper, "b": str.lower, "c": str.strip})
    p.add_link("a", "c")
    with pytest.raises(InvalidGraphError, match="already gets its value by add_link"):
        p.add_link("b", "c")


def test_a_circle_is_refused_with_its_modules_and_the_way_to_a_state_graph():
    p = QueryPipeline(modules={"a": str.upper, "b": str.lower, "c": str.strip})
    p.add_link("a", "b")
    p.add_link("b", "c")
    with pytest.raises(InvalidGraphError, match=r"'c' -> 'a' -> 'b' -> 'c'.*StateGraph"):
        p.add_link("c", "a")


def test_a_missing_input_is_told_before_anything_runs():
    ran: list[str] = []
    p = QueryPipeline(modules={"a": lambda text: ran.append(text), "b": lambda x, y: x + y})
    p.add_link("a", "b", dest_key="x")
    with pytest.raises(InvalidGraphError, match=r"'b' needs a value for its input 'y'.*partial"):
        p.run("go")
    assert ran == []


def test_links_from_an_input_must_say_which_of_its_values_they_carry():
    p = QueryPipeline(modules={"in": InputComponent(), "b": lambda x, y, z: x})
    p.add_link("in", "b", src_key="x", dest_key="x")
    p.add_link("in", "b", src_key="y", dest_key="y")
    p.add_link("in", "b", dest_key="z")
    with pytest.raises(InvalidGraphError, match=r"takes 2 values \('x', 'y'\)"):
        p.build()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"x": 1}, "needs a value for 'y'"),
        ({"x": 1, "y": 2, "z": 3}, "no input 'z'"),
        (5, "pass a dict"),
    ],
)
def test_a_call_with_the_wrong_values_is_refused(given: Any, says: str):
    p = QueryPipeline(modules={"b": lambda x, y: x + y})
    with pytest.raises(InvalidInputError, match=says):
        p.invoke(given)


def test_what_cannot_be_a_module_is_refused():
    with pytest.raises(InvalidNodeError, match="give an object of it"):
        QueryPipeline(modules={"a": InputComponent})
    with pytest.raises(InvalidNodeError, match="runnable or a function"):
        QueryPipeline(modules={"a": 5})
    for name in ("", "a.b", "a:b", "__start__", 1, None):
        with pytest.raises(InvalidGraphError, match="cannot be the name"):
            QueryPipeline(modules={name: len})
    with pytest.raises(InvalidGraphError, match="already in the pipeline"):
        QueryPipeline(modules={"a": len}).add("a", len)
    with pytest.raises(InvalidGraphError, match="empty"):
        QueryPipeline().run("x")
    with pytest.raises(InvalidGraphError, match="add_chain"):
        QueryPipeline(modules=[len])
    for chain in (len, "len", {"a": len}):
        with pytest.raises(InvalidGraphError, match="a list of modules"):
            QueryPipeline(chain=chain)
    with pytest.raises(InvalidGraphError, match="Link"):
        QueryPipeline(modules={"a": len}, links=[("a", "a")])


def test_a_summarizer_without_a_model_says_where_one_can_come_from():
    p = QueryPipeline(modules={"sum": SimpleSummarize()})
    with pytest.raises(InvalidGraphError, match="QueryPipeline\\(llm="):
        p.build()


def test_a_model_for_all_pipelines_can_be_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Settings, "llm", lambda prompt: "for all")
    given = {"query_str": "?", "nodes": ["x"]}
    assert QueryPipeline(modules={"sum": SimpleSummarize()}).run(**given) == "for all"
    own = QueryPipeline(modules={"sum": SimpleSummarize()}, llm=lambda prompt: "its own")
    assert own.run(**given) == "its own"


def test_outputs_that_were_not_declared_are_refused():
    class Wrong(CustomQueryComponent):
        @property
        def _input_keys(self) -> set[str]:
            return {"x"}

        def _run_component(self, **inputs: Any) -> dict[str, Any]:
            return inputs["x"]

    p = QueryPipeline(chain=[Wrong()])
    with pytest.raises(InvalidUpdateError, match="output 'outputs' that it does not declare"):
        p.invoke({"x": {"outputs": 1}})
    with pytest.raises(InvalidUpdateError, match="did not return its output 'output'"):
        p.invoke({"x": {}})
    with pytest.raises(InvalidUpdateError, match="must return a dict"):
        p.invoke({"x": "text"})


# --- how it runs ---------------------------------------------------------------------------------


def side_by_side(barrier: threading.Barrier) -> QueryPipeline:
    def meet(text: str) -> str:
        barrier.wait(timeout=20)
        return text

    p = QueryPipeline(
        modules={
            "input": InputComponent(),
            "left": meet,
            "right": meet,
            "join": lambda left, right: left + right,
        }
    )
    for side in ("left", "right"):
        p.add_link("input", side)
        p.add_link(side, "join", dest_key=side)
    return p


async def test_modules_that_do_not_wait_for_each_other_run_at_once():
    assert side_by_side(threading.Barrier(2)).run("x") == "xx"
    assert await side_by_side(threading.Barrier(2)).arun("x") == "xx"


def test_max_concurrency_of_one_runs_modules_one_by_one():
    running, most = [0], [0]

    def count(text: str) -> str:
        running[0] += 1
        most[0] = max(most[0], running[0])
        threading.Event().wait(0.005)
        running[0] -= 1
        return text

    modules = {"input": InputComponent(), **{f"m{i}": count for i in range(6)}}
    p = QueryPipeline(modules=modules, max_concurrency=1)
    for i in range(6):
        p.add_link("input", f"m{i}")
    p.run("x")
    assert most == [1]


def test_a_slow_branch_does_not_hold_back_the_next_module_of_another():
    released = threading.Event()

    def slow(text: str) -> str:
        assert released.wait(20)
        return text

    def after_fast(text: str) -> str:
        released.set()  # runs while `slow` still does
        return text

    p = QueryPipeline(
        modules={
            "input": InputComponent(),
            "slow": slow,
            "fast": str.upper,
            "after_fast": after_fast,
        }
    )
    p.add_link("input", "slow")
    p.add_link("input", "fast")
    p.add_link("fast", "after_fast")
    assert p.run("x") == {"slow": {"output": "x"}, "after_fast": {"output": "X"}}


async def test_a_pipeline_is_a_runnable():
    p = QueryPipeline(chain=[str.strip, str.upper])
    chain = itemgetter("text") | p | (lambda text: {"loud": text})
    assert chain.invoke({"text": " hi "}) == {"loud": "HI"}
    assert p.batch([" a", "b "]) == await p.abatch([" a", "b "]) == ["A", "B"]
    assert list(p.stream(" a")) == [part async for part in p.astream(" a")] == ["A"]
    assert p.get_input_jsonschema()["required"] == ["input"]


def test_a_pipeline_can_be_a_node_of_a_graph_and_streams_from_inside():
    class State(TypedDict, total=False):
        text: str
        loud: str

    def shout(text: str) -> str:
        get_stream_writer()("shouting")
        return text.upper()

    p = QueryPipeline(chain=[shout])
    builder = StateGraph(State)
    builder.add_node("shout", itemgetter("text") | p | (lambda loud: {"loud": loud}))
    builder.add_edge(START, "shout")
    builder.add_edge("shout", END)
    graph = builder.compile()
    assert graph.invoke({"text": "hi"}) == {"text": "hi", "loud": "HI"}
    parts = graph.stream({"text": "hi"}, stream_mode="custom", subgraphs=True)
    assert [part for _, part in parts] == ["shouting"]


def test_tokens_of_a_model_stream_out_of_a_pipeline():
    p = QueryPipeline(chain=[FakeListChatModel(responses=["abc"])])
    tokens = [chunk.content for chunk, _ in p.stream("go", stream_mode="messages")]
    assert "".join(tokens) == "abc"
    assert len(tokens) >= 3


def test_each_value_has_a_key_in_the_stream_of_updates():
    p = QueryPipeline(chain=[str.strip, str.upper])
    parts = list(p.stream(" a ", stream_mode="updates"))
    assert parts == [{"strip": {"strip.output": "a"}}, {"upper": {"upper.output": "A"}}]


async def test_each_way_to_run_a_pipeline_takes_an_answer():
    def asking():
        return QueryPipeline(
            chain=[str.strip, lambda text: f"{text}: {interrupt('Sure?')}"],
            checkpointer=InMemorySaver(),
        )

    config: Any = {"configurable": {"thread_id": "1"}}
    answer: Any = Command(resume="yes")
    p = asking()
    assert p.run(" so ", config=config)["__interrupt__"][0].value == "Sure?"
    assert p.run(answer, config=config) == "so: yes"
    assert (await p.arun(" so ", config=config))["__interrupt__"][0].value == "Sure?"
    assert await p.arun(answer, config=config) == "so: yes"
    p.run_with_intermediates(" so ", config=config)
    output, seen = p.run_with_intermediates(answer, config=config)
    assert (output, seen["strip"].inputs) == ("so: yes", {"input": " so "})
    p.run_multi({"strip": {"input": " so "}}, config)
    assert p.run_multi(answer, config) == {"function": {"output": "so: yes"}}


def test_what_waits_has_no_intermediates_without_a_saver_either():
    p = QueryPipeline(chain=[str.strip, lambda text: interrupt("Sure?"), str.upper])
    asked, seen = p.run_with_intermediates(" so ")
    assert asked["__interrupt__"][0].value == "Sure?"
    assert list(seen) == ["strip"]


async def test_what_waits_for_a_person_has_no_intermediates_of_an_earlier_turn():
    p = QueryPipeline(
        chain=[str.strip, lambda text: f"{text}: {interrupt('Sure?')}", str.upper],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    for text in ("so", "now"):
        asked, seen = p.run_with_intermediates(f" {text} ", config=config)
        assert list(asked) == ["__interrupt__"]
        assert seen == {"strip": ComponentIntermediates({"input": f" {text} "}, {"output": text})}
        again = await p.arun_with_intermediates(f" {text} ", config=config)
        assert again[1] == seen
        output, seen = p.run_with_intermediates(Command(resume="yes"), config=config)
        assert output == f"{text}: yes".upper()
        assert list(seen) == ["strip", "function", "upper"]


def test_a_question_waits_in_a_checkpoint_and_is_answered_later(tmp_path: Any):
    def approve(draft: str) -> str:
        return f"{draft}: {interrupt({'approve?': draft})}"

    drafted: list[str] = []

    def draft(topic: str) -> str:
        drafted.append(topic)
        return f"On {topic}"

    config = {"configurable": {"thread_id": "1"}}
    with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
        first = QueryPipeline(chain=[draft, approve], checkpointer=saver).invoke("braids", config)
    assert first["__interrupt__"][0].value == {"approve?": "On braids"}
    with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
        p = QueryPipeline(chain=[draft, approve], checkpointer=saver)
        assert p.invoke(Command(resume="yes"), config) == "On braids: yes"
    assert drafted == ["braids"]


def test_a_failed_run_goes_on_without_what_was_done():
    ran: list[str] = []

    def first(text: str) -> str:
        ran.append("first")
        return text

    def second(text: str) -> str:
        ran.append("second")
        if ran.count("second") == 1:
            raise OSError("the line is down")
        return text.upper()

    p = QueryPipeline(chain=[first, second], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    with pytest.raises(OSError, match="down"):
        p.invoke("x", config)
    assert p.invoke(None, config) == "X"
    assert ran == ["first", "second", "second"]


async def test_what_a_turn_leaves_out_is_not_taken_from_the_turn_before(tmp_path: Any):
    def tell(topic: str, times: int = 1, end: str = ".") -> str:
        return topic * times + end

    config = {"configurable": {"thread_id": "1"}}
    with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
        p = QueryPipeline(chain=[tell], checkpointer=saver)
        assert p.invoke({"topic": "a", "times": 3, "end": "!"}, config) == "aaa!"
        assert p.invoke({"topic": "b", "end": "?"}, config) == "b?"
        assert await p.ainvoke("c", config) == "c."
        output, seen = p.run_with_intermediates("d", config=config)
    assert output == "d."
    assert seen["tell"].inputs == {"topic": "d"}


def test_the_annotation_of_a_function_lets_its_result_be_stored(tmp_path: Any):
    def draft(topic: str) -> Draft:
        return Draft(topic)

    def approve(draft: Draft) -> str:
        return f"{draft.topic}: {interrupt('?')}"

    config = {"configurable": {"thread_id": "1"}}
    for given in ("braids", Command(resume="yes")):
        with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
            p = QueryPipeline(chain=[draft, approve], checkpointer=saver)
            output = p.invoke(given, config)
    assert output == "braids: yes"


def test_a_pipeline_that_grows_runs_with_its_new_module():
    p = QueryPipeline(modules={"a": str.strip})
    assert p.run(" x") == "x"
    p.add("b", str.upper)
    p.add_link("a", "b")
    assert p.run(" x") == "X"


def test_the_picture_says_which_output_becomes_which_input():
    drawn = document_pipeline().get_graph()
    labels = {(edge.source, edge.target): edge.data for edge in drawn.edges}
    assert labels["reranker", "evaluator"] == "nodes"
    assert labels["input", "evaluator"] == "input as question, ground_truth"
    assert "reranker -- &nbsp;nodes&nbsp; --> evaluator" in drawn.draw_mermaid()


def asking_pipeline(wrapped: Any) -> QueryPipeline:
    """One that asks a person inside a module, which `wrapped` makes of a pipeline of its own."""

    def ask(draft: str) -> str:
        return f"{draft}: {interrupt('Send it?')}"

    asking = QueryPipeline(modules={"ask": ask, "shout": str.upper})
    asking.add_link("ask", "shout")
    p = QueryPipeline(
        modules={"strip": str.strip, "desk": wrapped(asking), "end": lambda text: f"{text}!"},
        checkpointer=InMemorySaver(),
    )
    p.add_chain(["strip", "desk", "end"])
    return p


@pytest.mark.parametrize("wrapped", [lambda p: p, lambda p: p.graph_input | p.graph, LoopComponent])
def test_the_graph_inside_a_module_is_seen_while_it_waits(wrapped: Any):
    p, config = asking_pipeline(wrapped), {"configurable": {"thread_id": "1"}}
    p.invoke(" hi ", config)
    assert [name for name, _ in p.graph.get_subgraphs()] == ["desk"]
    (task,) = p.graph.get_state(config, subgraphs=True).tasks
    assert task.state.next == ("ask",)
    assert task.state.values["ask.in.draft"] == "hi"


def test_the_picture_shows_what_is_inside_modules_if_it_is_asked():
    p = asking_pipeline(lambda p: p)
    assert {edge.target for edge in p.get_graph().edges} == {"strip", "desk", "end", "__end__"}
    drawn = p.get_graph(xray=True)
    labels = {(edge.source, edge.target): edge.data for edge in drawn.edges}
    assert labels["strip", "desk:ask"] == "draft"
    assert labels["desk:shout", "end"] == "text"
    assert ("desk:ask", "desk:shout") in labels


def test_long_chains_need_no_recursion_limit():
    assert QueryPipeline(chain=[lambda n: n + 1 for _ in range(60)]).run(0) == 60


async def test_many_runs_of_one_pipeline_at_once_keep_apart():
    p = document_pipeline()
    runs = [p.arun(input=f"{i}", ground_truth=f"{i}") for i in range(30)]
    assert len({str(run) for run in await asyncio.gather(*runs)}) == 1


def test_an_evaluator_grades_what_is_linked_to_it():
    p = QueryPipeline(modules={"input": InputComponent(), "grade": EvaluatorComponent()})
    for key in ("question", "answer", "nodes", "ground_truth"):
        p.add_link("input", "grade", src_key=key, dest_key=key)
    grades = p.run(
        question="What?", answer="a runtime", nodes=["it is a runtime"], ground_truth="one runtime"
    )
    assert grades == {"answer_similarity": 0.5, "context_recall": 0.5, "groundedness": 1.0}


def test_only_pipelines_with_branches_of_different_lengths_are_scheduled_eagerly():
    def is_uneven(*links: str) -> bool:
        names = sorted({name for link in links for name in link.split(">")})
        p = QueryPipeline(
            modules={name: FnComponent(lambda **k: k, opt_params="abc") for name in names}
        )
        for link in links:
            src, dest = link.split(">")
            p.add_link(src, dest, dest_key=src)
        return p.build().wiring.is_uneven()

    assert not is_uneven("a>b", "b>c")
    assert not is_uneven("a>b", "a>c", "b>d", "c>d")
    assert is_uneven("a>b", "a>c", "b>d")
    assert is_uneven("a>b", "b>d", "c>d")


def test_a_chain_goes_on_from_modules_that_are_there():
    pipeline = QueryPipeline(chain=[str.strip])
    pipeline.add_chain(["strip", str.upper, len])
    assert pipeline.run(" abc ") == 3
    with pytest.raises(UnknownNodeError, match="there is no module 'nowhere'"):
        pipeline.add_chain(["nowhere", len])
    with pytest.raises(UnknownNodeError, match="there is no module 'strop'"):
        pipeline.add_chain(["strop"])
    assert list(pipeline.modules) == ["strip", "upper", "len"]


def test_of_links_from_an_input_the_one_that_names_its_value_stays():
    p = QueryPipeline(modules={"input": InputComponent(), "say": lambda text: text})
    p.add_link("input", "say", src_key="topic", dest_key="text")
    p.add_link("input", "say", dest_key="text")
    assert [link.src_key for link in p.links] == ["topic"]
    assert p.run(topic="braids") == "braids"
    with pytest.raises(InvalidValueError, match="no input 'subject'"):
        p.run(subject="braids")


def test_an_input_without_names_takes_one_value_and_no_more():
    p = QueryPipeline(chain=[InputComponent(), str.upper])
    assert p.run(anything="a") == "A"
    with pytest.raises(InvalidValueError, match="no input 'one'"):
        p.run(one="a", other="b")


def test_a_value_beside_keywords_is_refused():
    with pytest.raises(InvalidValueError, match=r"one value, or .* keywords \['topic'\]"):
        QueryPipeline(chain=[lambda topic: topic]).run("a", topic="b")


def test_a_link_to_an_input_that_has_a_value_says_so():
    repeat = FnComponent(lambda text, times: text * times).partial(times=2)
    p = QueryPipeline(modules={"size": len, "repeat": repeat})
    with pytest.raises(InvalidGraphError, match=r"'times' of module 'repeat' has a value by"):
        p.add_link("size", "repeat", dest_key="times")


def test_a_value_that_a_module_gets_later_is_no_input_of_the_pipeline_any_more():
    p = QueryPipeline(modules={"repeat": lambda text, times: text * times})
    assert p.input_keys.required == ("text", "times")
    p.modules["repeat"].partial(times=2)
    assert p.run("ha") == "haha"
    p.modules["repeat"].partial(times=3)
    assert p.run("ha") == "hahaha"


async def test_a_call_may_bound_what_runs_at_once_otherwise_than_its_pipeline():
    p = QueryPipeline(chain=[lambda text: get_config().get("max_concurrency")], max_concurrency=1)
    assert [p.run("a"), p.run("a", config={"max_concurrency": 2})] == [1, 2]
    assert [await p.arun("a"), await p.arun("a", config={"max_concurrency": 2})] == [1, 2]


async def test_a_batch_of_one_is_a_list():
    p = QueryPipeline(chain=[lambda topic: topic.upper()])
    assert p.run(topic=["a"], batch=True) == ["A"]
    assert await p.arun(topic=["a"], batch=True) == ["A"]
    multi = p.run_multi({"function": {"topic": ["a"]}}, batch=True)
    assert multi == {"function": {"output": ["A"]}}


async def test_outputs_that_are_not_declared_are_refused_in_async_runs_too():
    class Wrong(CustomQueryComponent):
        @property
        def _input_keys(self) -> set[str]:
            return {"text"}

        def _run_component(self, **inputs: Any) -> dict[str, Any]:
            return {"other": 1}

    with pytest.raises(InvalidOutputsError, match="'other'"):
        Wrong().run_component(text="a")
    with pytest.raises(InvalidOutputsError, match="'other'"):
        await Wrong().arun_component(text="a")


def test_a_module_with_a_model_keeps_it():
    own = SimpleSummarize(llm=lambda prompt: "own")
    p = QueryPipeline(modules={"own": own}, llm=lambda prompt: "the pipeline's")
    assert p.run(query_str="?", nodes=["a"]) == "own"
