"""Values stay with their key when it gets another name."""

from dataclasses import dataclass, field
from operator import add
from typing import Annotated, Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel

from plait import START, Command, RenamedFrom, Send, StateGraph, deploy, interrupt
from plait.errors import ConfigError, InvalidGraphError, UnknownKeyWarning

from .conftest import THREAD, Caller


class Old(TypedDict, total=False):
    log: Annotated[list[str], add]
    topic: str
    table: dict[str, int]


class New(TypedDict, total=False):
    events: Annotated[list[str], add, RenamedFrom("log")]
    subject: NotRequired[Annotated[str, RenamedFrom("topic")]]
    table: dict[str, int]


def one_node(schema: Any, action: Any, saver: Any, **more: Any) -> Any:
    builder = StateGraph(schema, **more).add_node("work", action).add_edge(START, "work")
    return builder.compile(checkpointer=saver)


def test_values_stored_as_segments_and_patches_are_read_under_the_new_name(
    saver: Any, caller: Caller
) -> None:
    def grow(state: Old) -> Old:
        number = len(state["log"])
        return {"log": [f"{number}" * 200], "topic": f"t{number}", "table": {f"{number}": number}}

    old = one_node(Old, grow, saver)
    for _ in range(30):
        caller.invoke(old, {"log": []})
    before = caller.state(old).values

    def more(state: New) -> New:
        return {"events": ["more"]}

    new = one_node(New, more, saver)
    after = caller.state(new).values
    assert after["events"] == before["log"]
    assert after["subject"] == before["topic"] == "t29"
    assert after["table"] == before["table"]
    assert caller.invoke(new, {"events": []})["events"] == [*before["log"], "more"]
    history = list(new.get_state_history(THREAD))
    assert [len(each.values["events"]) for each in history][::3] == list(range(31, 0, -1))


def two_ask(saver: Any, **keys: Any) -> Any:
    """Two nodes that ask; the first of them also writes the keys."""
    schema: Any = TypedDict("State", {"log": Annotated[list[str], add], **keys})
    builder = StateGraph(schema)
    for name in ("a", "b"):

        def ask(state: Any, name: str = name) -> Any:
            answer = interrupt(name)
            return {"log": [answer], **(dict.fromkeys(keys, answer) if name == "a" else {})}

        builder.add_node(name, ask).add_edge(START, name)
    return builder.compile(checkpointer=saver)


def test_of_what_newer_code_wrote_in_a_step_of_older_code_the_older_code_drops_its_new_keys(
    saver: Any, caller: Caller
) -> None:
    """In a rolling deploy, both answer the questions of one super-step."""
    older, newer = two_ask(saver), two_ask(saver, extra=str)
    a, b = caller.invoke(older, {"log": []})["__interrupt__"]
    caller.invoke(newer, Command(resume={a.id: "one"}))
    (found,) = deploy.check(older, saver).threads
    assert "extra" in [finding.name for finding in found.findings]
    with pytest.warns(UnknownKeyWarning, match=r"wrote key 'extra'.*the write is dropped"):
        assert caller.invoke(older, Command(resume={b.id: "two"}))["log"] == ["one", "two"]
    assert caller.state(newer).values == {"log": ["one", "two"]}


def test_the_next_commit_stores_the_new_name_so_that_the_declaration_may_go(
    saver: Any, caller: Caller
) -> None:
    caller.invoke(one_node(Old, lambda state: {"topic": "braids"}, saver), {"log": ["a"]})
    caller.invoke(one_node(New, lambda state: None, saver), {"events": ["b"]})

    class Later(TypedDict, total=False):
        events: Annotated[list[str], add]
        subject: str

    plain = one_node(Later, lambda state: {"events": ["c"]}, saver)
    assert caller.state(plain).values == {"events": ["a", "b"], "subject": "braids"}
    stored = saver.get_tuple(THREAD).checkpoint["channel_values"]
    assert not {"log", "topic"} & stored.keys()


def test_what_finished_tasks_wrote_arrives_under_the_new_key(saver: Any, caller: Caller) -> None:
    def graph(schema: Any, key: str, single: str) -> Any:
        builder = StateGraph(schema).add_node("ask", lambda state: {key: [interrupt("?")]})
        builder.add_node("write", lambda state: {key: ["written"], single: "told"})
        return builder.add_edge(START, "ask").add_edge(START, "write").compile(checkpointer=saver)

    caller.invoke(graph(Old, "log", "topic"), {"log": ["in"]})
    new = graph(New, "events", "subject")
    assert caller.state(new).values == {"events": ["in", "written"], "subject": "told"}
    result = caller.invoke(new, Command(resume="yes"))
    assert result == {"events": ["in", "yes", "written"], "subject": "told"}


def test_a_send_that_waits_carries_its_argument_under_the_key_that_its_node_reads(
    saver: Any, caller: Caller
) -> None:
    def work(given: dict[str, Any]) -> Any:
        answer = interrupt("?")
        return {"events": [f"{given['subject']} {given['private']} {answer}"]}

    def graph(schema: Any, action: Any, key: str) -> Any:
        builder = StateGraph(schema).add_node("work", action)
        send = Send("work", {key: "braids", "private": 1})
        builder.add_conditional_edges(START, lambda state: [send])
        return builder.compile(checkpointer=saver)

    caller.invoke(graph(Old, lambda given: interrupt("?"), "topic"), {"log": []})
    result = caller.invoke(graph(New, work, "subject"), Command(resume="yes"))
    assert result["events"] == ["braids 1 yes"]


def test_an_input_that_has_not_entered_yet_enters_under_the_new_keys(
    saver: Any, caller: Caller
) -> None:
    old = one_node(Old, lambda state: None, saver)
    caller.invoke(old, {"log": ["in"], "topic": "braids"})
    first = list(old.get_state_history(THREAD))[-1]
    new = one_node(New, lambda state: None, saver)
    assert caller.invoke(new, None, first.config) == {"events": ["in"], "subject": "braids"}


def test_of_several_former_names_the_latest_counts_and_todays_before_all(
    saver: Any, caller: Caller
) -> None:
    class Both(TypedDict, total=False):
        a: str
        b: str
        today: str

    class Renamed(TypedDict, total=False):
        today: Annotated[str, RenamedFrom("a", "b")]

    caller.invoke(one_node(Both, lambda state: None, saver), {"a": "1", "b": "2"})
    new = one_node(Renamed, lambda state: None, saver)
    assert caller.state(new).values == {"today": "2"}
    caller.invoke(one_node(Both, lambda state: None, saver), {"today": "3"})
    assert caller.state(new).values == {"today": "3"}


@pytest.mark.parametrize("kind", ["dataclass", "pydantic"])
def test_keys_of_state_objects_are_renamed_too(saver: Any, caller: Caller, kind: str) -> None:
    @dataclass
    class Data:
        subject: Annotated[str, RenamedFrom("topic")] = ""
        events: Annotated[list[str], add, RenamedFrom("log")] = field(default_factory=list)

    class Model(BaseModel):
        subject: Annotated[str, RenamedFrom("topic")] = ""
        events: Annotated[list[str], add, RenamedFrom("log")] = []

    caller.invoke(one_node(Old, lambda state: {"topic": "braids"}, saver), {"log": ["a"]})
    schema = Data if kind == "dataclass" else Model
    seen: list[str] = []

    def work(state: Any) -> Any:
        seen.append(f"{state.subject} {state.events}")
        return {"events": ["more"]}

    caller.invoke(one_node(schema, work, saver), {})
    assert seen == ["braids ['a']"]


def test_keys_of_a_subgraph_that_waits_are_renamed_by_its_own_declarations(
    saver: Any, caller: Caller
) -> None:
    def graph(inner: Any, key: str) -> Any:
        builder = StateGraph(inner).add_node("first", lambda state: {key: ["first"]})
        builder.add_node("ask", lambda state: {key: [interrupt("?")]})
        builder.add_edge(START, "first").add_edge("first", "ask")
        outer = StateGraph(inner).add_node("inner", builder.compile()).add_edge(START, "inner")
        return outer.compile(checkpointer=saver)

    caller.invoke(graph(Old, "log"), {"log": ["in"], "topic": "braids"})
    result = caller.invoke(graph(New, "events"), Command(resume="yes"))
    assert result["events"][-2:] == ["first", "yes"]
    assert result["subject"] == "braids"


def test_a_finished_tasks_write_to_a_key_that_is_gone_is_dropped_by_name_and_not_repeated(
    saver: Any, caller: Caller
) -> None:
    ran: list[str] = []

    def writes(state: Any) -> Any:
        ran.append("write")
        return {"topic": "told"}

    def graph(schema: Any, key: str) -> Any:
        builder = StateGraph(schema).add_node("ask", lambda state: {key: [interrupt("?")]})
        builder.add_node("write", writes)
        return builder.add_edge(START, "ask").add_edge(START, "write").compile(checkpointer=saver)

    class Fewer(TypedDict, total=False):
        log: Annotated[list[str], add]

    caller.invoke(graph(Old, "log"), {"log": []})
    with pytest.warns(UnknownKeyWarning, match=r"'topic'.*RenamedFrom\('topic'\)"):
        assert caller.invoke(graph(Fewer, "log"), Command(resume="yes")) == {"log": ["yes"]}
    assert ran == ["write"]


def test_a_former_name_that_is_a_key_today_is_refused() -> None:
    class Twice(TypedDict):
        a: str
        b: Annotated[str, RenamedFrom("a")]

    builder = StateGraph(Twice).add_node("work", lambda state: None).add_edge(START, "work")
    with pytest.raises(InvalidGraphError, match="Key 'b' is declared as renamed from 'a'"):
        builder.compile()


def test_whoever_uses_the_old_name_of_a_key_is_told_the_one_of_today(
    saver: Any, caller: Caller
) -> None:
    tells = one_node(New, lambda state: {"log": ["old"]}, saver)
    graph = one_node(New, lambda state: None, saver)
    today = "'log'.*It is called 'events' today"
    with pytest.warns(UnknownKeyWarning, match=f"Node 'work' wrote key {today}"):
        caller.invoke(tells, {"events": []})
    with pytest.warns(UnknownKeyWarning, match=f"The input has key {today}"):
        caller.invoke(graph, {"log": ["in"]})
    with pytest.warns(UnknownKeyWarning, match=today):
        caller.invoke(graph, Command(update={"log": ["by hand"]}))
    with pytest.warns(UnknownKeyWarning, match=today):
        caller.update(graph, THREAD, {"log": ["by hand"]})
    with pytest.raises(ConfigError, match=today):
        caller.invoke(graph, {"events": []}, output_keys=["log"])
