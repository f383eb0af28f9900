"""Links with conditions: who runs, who rests, and what of that is kept on a thread.

What the peer does was observed on llama-index-core 0.11.23 (`tests/recorded`, `h_pipelines`).
"""

from typing import Any

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import InvalidGraphError, InvalidUpdateError, InvalidValueError
from plait.pipeline import (
    ArgPackComponent,
    ComponentIntermediates,
    FnComponent,
    InputComponent,
    Link,
    QueryPipeline,
)
from plait.types import Command, interrupt


def is_question(text: str) -> bool:
    return text.endswith("?")


def is_statement(text: str) -> bool:
    return not text.endswith("?")


def fork(**options: Any) -> QueryPipeline:
    """Questions are answered, statements repeated; what joins the ways takes either."""
    p = QueryPipeline(
        modules={
            "clean": str.strip,
            "answer": lambda text: f"Yes: {text}",
            "repeat": lambda text: f"{text} {text}",
            "say": lambda text: f"<{text}>",
        },
        **options,
    )
    p.add_link("clean", "answer", condition_fn=is_question)
    p.add_link("clean", "repeat", condition_fn=is_statement)
    p.add_link("answer", "say")
    p.add_link("repeat", "say")
    return p


async def test_a_condition_decides_which_way_a_value_goes():
    assert fork().run(" so? ") == "<Yes: so?>"
    assert await fork().arun(" so ") == "<so so>"


def test_modules_that_rest_have_no_intermediates():
    output, seen = fork().run_with_intermediates("so")
    assert output == "<so so>"
    assert list(seen) == ["clean", "repeat", "say"]
    assert seen["say"] == ComponentIntermediates({"text": "so so"}, {"output": "<so so>"})


def test_a_turn_does_not_see_the_way_of_the_turn_before(tmp_path: Any):
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        p = fork(checkpointer=saver)
        config = {"configurable": {"thread_id": "1"}}
        said = [p.run(text, config=config) for text in ("so?", "so", "so?")]
        assert said == ["<Yes: so?>", "<so so>", "<Yes: so?>"]


def test_a_run_that_goes_on_asks_no_condition_again():
    asked: list[str] = []

    def condition(text: str) -> bool:
        asked.append(text)
        return True

    p = QueryPipeline(
        modules={"clean": str.strip, "ask": lambda text: f"{text}: {interrupt('Sure?')}"},
        checkpointer=InMemorySaver(),
    )
    p.add_link("clean", "ask", condition_fn=condition)
    config = {"configurable": {"thread_id": "1"}}
    assert p.invoke(" so ", config)["__interrupt__"][0].value == "Sure?"
    assert p.invoke(Command(resume="yes"), config) == "so: yes"
    assert asked == ["so"]


def test_what_rests_lets_rest_what_needs_it_and_the_last_that_ran_gives_the_output():
    p = QueryPipeline(modules={"a": str.strip, "b": str.upper, "c": str.lower})
    p.add_link("a", "b", condition_fn=lambda text: text == "go")
    p.add_link("b", "c")
    assert p.run(" go ") == "go"
    assert p.run(" Stop ") == "Stop"
    assert p.run_multi({"a": {"input": " Stop "}}) == {"a": {"output": "Stop"}}


@pytest.mark.parametrize("more", [False, True])
def test_a_value_that_does_not_go_on_to_a_module_that_ran_is_no_output(more: bool):
    """As on llama-index-core 0.11.23. Whether other modules rest makes no difference."""
    p = QueryPipeline(modules={"in": InputComponent(), "up": str.upper, "down": str.lower})
    p.add_modules({"say": lambda text, note="": f"<{text}{note}>", "sign": lambda text: f"{text}."})
    p.add_link("in", "up")
    p.add_link("in", "down")
    p.add_link("up", "say", dest_key="text", condition_fn=is_question)
    p.add_link("down", "say", dest_key="text", condition_fn=is_statement)
    p.add_link("say", "sign")
    if more:
        p.add("rests", str.strip)
        p.add_link("in", "rests", condition_fn=lambda text: False)
    assert [p.run("So?"), p.run("So")] == ["<SO?>.", "<so>."]
    q = QueryPipeline(modules={"up": str.upper, "say": lambda text, note="": f"<{text}{note}>"})
    q.add("in", InputComponent())
    q.add_link("in", "up")
    q.add_link("in", "say", dest_key="text")
    q.add_link("up", "say", dest_key="note", condition_fn=is_question)
    if more:
        q.add("rests", str.strip)
        q.add_link("in", "rests", condition_fn=lambda text: False)
    assert [q.run("So?"), q.run("So")] == ["<So?SO?>", "<So>"]


def test_an_optional_input_is_left_out_where_its_way_is_not_gone():
    p = QueryPipeline(
        modules={"in": InputComponent(), "up": str.upper, "end": lambda a, b="none": f"{a} {b}"}
    )
    p.add_link("in", "up", src_key="more", condition_fn=bool)
    p.add_link("in", "end", src_key="text", dest_key="a")
    p.add_link("up", "end", dest_key="b")
    assert p.run(text="x", more="y") == "x Y"
    assert p.run(text="x", more="") == "x none"


def test_input_fn_makes_of_a_value_what_arrives():
    p = QueryPipeline(
        modules={"a": str.strip, "b": str.upper},
        links=[Link("a", "b", input_fn=lambda text: f"({text})")],
    )
    assert p.run_with_intermediates(" x ")[1]["b"].inputs == {"input": "(x)"}


def test_two_links_between_the_same_ends_differ_in_their_conditions():
    p = QueryPipeline(modules={"a": str.strip, "b": str.upper})
    p.add_link("a", "b", condition_fn=is_question, input_fn=lambda text: f"q: {text}")
    p.add_link("a", "b", condition_fn=is_statement, input_fn=lambda text: f"s: {text}")
    assert [p.run("so?"), p.run("so")] == ["Q: SO?", "S: SO"]


def test_several_outputs_of_one_run_come_by_module():
    p = QueryPipeline(modules={"a": str.strip, "b": str.upper, "c": str.lower})
    p.add_link("a", "b", condition_fn=bool)
    p.add_link("a", "c", condition_fn=bool)
    assert p.run(" Hi ") == {"b": {"output": "HI"}, "c": {"output": "hi"}}


def test_two_values_for_one_input_are_refused():
    p = QueryPipeline(modules={"a": str.strip, "b": str.upper, "c": str.lower, "end": str.title})
    for way in ("b", "c"):
        p.add_link("a", way, condition_fn=bool)
        p.add_link(way, "end")
    with pytest.raises(InvalidUpdateError, match=r"'input' of module 'end'.*exclude one another"):
        p.run("x")


def test_links_that_join_ways_come_after_the_conditions():
    p = QueryPipeline(modules={"a": str.strip, "b": str.upper, "end": str.title})
    p.add_link("a", "end")
    with pytest.raises(InvalidGraphError, match=r"unless conditions decide.*condition_fn="):
        p.add_link("b", "end")


def test_an_error_of_a_condition_names_its_link():
    p = QueryPipeline(modules={"a": str.strip, "b": str.upper})
    p.add_link("a", "b", condition_fn=lambda text: text.nothing)
    with pytest.raises(AttributeError) as caught:
        p.run("x")
    notes = "\n".join(caught.value.__notes__)
    assert "In a function of add_link('a', 'b', src_key='output', dest_key='input')" in notes


def test_the_picture_shows_conditions():
    edges = {edge[:2]: edge.conditional for edge in fork().get_graph().edges}
    assert edges["clean", "answer"]
    assert not edges["answer", "say"]


async def test_a_conditional_pipeline_is_a_module_of_another():
    outer = QueryPipeline(modules={"fork": fork(), "up": str.upper})
    outer.add_link("fork", "up")
    assert await outer.arun("so") == "<SO SO>"


def test_arguments_are_packed_in_the_order_of_the_links():
    p = QueryPipeline(modules={"in": InputComponent(), "up": str.upper, "pack": ArgPackComponent()})
    p.add_link("in", "up", src_key="text")
    p.add_link("up", "pack")
    p.add_link("in", "pack", src_key="text", dest_key="plain")
    assert p.run(text="x") == ["X", "x"]
    packed = ArgPackComponent(convert_fn=len).run_component(a="xy", b="z")
    assert packed == {"output": [2, 1]}


def test_a_partial_value_changes_the_component_itself_and_pipelines_that_have_it():
    """As on llama-index-core 0.11.23, where it returns nothing: it is called for its effect."""
    times = FnComponent(lambda text, n=2: text * n)
    p = QueryPipeline(chain=[times])
    assert p.run("x") == "xx"
    assert times.partial(n=3) is times
    assert p.run("x") == "xxx"
    with pytest.raises(InvalidValueError, match=r"no input 'm'.*'n'"):
        times.partial(m=3)


def test_an_input_component_may_know_what_a_caller_leaves_out():
    """As on llama-index-core 0.11.23, but a value that is given counts before it."""
    entry = InputComponent(partial_dict={"b": 9})
    p = QueryPipeline(modules={"in": entry, "pair": lambda a, b: (a, b)})
    p.add_link("in", "pair", src_key="a", dest_key="a")
    p.add_link("in", "pair", src_key="b", dest_key="b")
    assert p.run(a=1) == (1, 9)
    assert p.run(a=1, b=2) == (1, 2)
    entry.partial(b=8)
    assert p.run(1) == (1, 8)
    assert p.run_with_intermediates(a=1)[1]["in"].outputs == {"a": 1, "b": 8}
    alone = QueryPipeline(chain=[InputComponent(partial_dict={"input": "x"}), str.upper])
    assert (alone.run(), alone.run(input="y")) == ("X", "Y")
    assert FnComponent(len, partial_dict={"input": "abc"}).run_component() == {"output": 3}
    assert ArgPackComponent(partial_dict={"a": 1}).run_component(b=2) == {"output": [1, 2]}


def test_a_condition_that_is_no_function_is_refused():
    p = QueryPipeline(modules={"a": str.strip, "b": str.upper})
    with pytest.raises(InvalidGraphError, match="functions of the value, got 'yes'"):
        p.add_link("a", "b", condition_fn="yes")  # pyright: ignore[reportArgumentType]


def test_the_value_of_the_only_input_may_be_a_dict():
    assert QueryPipeline(chain=[sorted]).run({"b": 1, "a": 2}) == ["a", "b"]


def test_a_batch_is_as_many_runs_as_its_lists_are_long():
    p = QueryPipeline(chain=[lambda a, b: a + b, repr])
    assert p.run(a=[1, 2], b=[3, 4], batch=True) == ["4", "6"]
    with pytest.raises(InvalidValueError, match="one length"):
        p.run(a=[1, 2], b=[3], batch=True)
    with pytest.raises(InvalidValueError, match="a list of values; 'b'"):
        p.run(a=[1, 2], b="34", batch=True)


async def test_long_pipelines_are_batched_without_a_limit():
    p = QueryPipeline(chain=[lambda n: n + 1 for _ in range(40)])
    assert p.batch([0, 1]) == [40, 41]
    assert await p.arun([0, 1], batch=True) == [40, 41]


async def test_a_module_whose_required_input_does_not_come_rests_though_others_come():
    def tell(text: str, size: int) -> str:
        return f"{text} {size}"

    p = QueryPipeline(modules={"in": InputComponent(), "size": len, "tell": tell})
    p.add_link("in", "size")
    p.add_link("in", "tell", dest_key="text", condition_fn=is_question)
    p.add_link("size", "tell", dest_key="size")
    assert p.run("so?") == await p.arun("so?") == "so? 3"
    for output, seen in (
        p.run_with_intermediates("so"),
        await p.arun_with_intermediates("so"),
    ):
        assert (output, list(seen)) == (2, ["in", "size"])


def test_a_module_rests_to_which_none_of_its_optional_inputs_comes():
    ran: list[Any] = []

    def tell(text: str = "nothing") -> str:
        ran.append(text)
        return text

    p = QueryPipeline(modules={"clean": str.strip, "tell": tell})
    p.add_link("clean", "tell", dest_key="text", condition_fn=is_question)
    assert [p.run("so"), p.run(" so?")] == ["so", "so?"]
    assert ran == ["so?"]


def test_what_a_module_that_rests_has_sent_in_an_earlier_turn_counts_no_more():
    p = QueryPipeline(
        modules={
            "clean": str.strip,
            "answer": lambda text: f"Yes: {text}",
            "repeat": lambda text: f"{text} {text}",
            "say": lambda text: f"<{text}>",
        },
        checkpointer=InMemorySaver(),
    )
    p.add_link("clean", "answer", condition_fn=is_question)
    p.add_link("clean", "repeat", condition_fn=is_statement)
    p.add_link("answer", "say", input_fn=str.upper)
    p.add_link("repeat", "say")
    thread: Any = {"configurable": {"thread_id": "1"}}
    assert p.run("so?", config=thread) == "<YES: SO?>"
    output, seen = p.run_with_intermediates("so", config=thread)
    assert (output, list(seen)) == ("<so so>", ["clean", "repeat", "say"])


@pytest.mark.parametrize("first", [None, is_question])
def test_a_link_that_always_carries_takes_no_input_beside_one_with_a_condition(first: Any):
    p = QueryPipeline(modules={"a": str.strip, "b": str.strip, "say": lambda text: text})
    p.add_link("a", "say", condition_fn=first)
    with pytest.raises(InvalidGraphError, match="already gets its value"):
        p.add_link("b", "say", condition_fn=is_question if first is None else None)
