"""Values of an older version of the state go through the author's migrations, once."""

from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from plait import START, Command, RenamedFrom, StateGraph, interrupt
from plait.errors import InvalidGraphError, MigrationError

from .conftest import THREAD, Caller


class One(TypedDict, total=False):
    name: str
    log: Annotated[list[str], add]


class Two(TypedDict, total=False):
    first: str
    last: str
    log: Annotated[list[str], add]


class Three(Two, total=False):
    length: int


def split(values: dict[str, Any]) -> dict[str, Any]:
    first, _, last = values.pop("name", "").partition(" ")
    return {**values, "first": first, "last": last}


async def asplit(values: dict[str, Any]) -> dict[str, Any]:
    return split(values)


def measure(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "length": len(values["first"]) + len(values["last"])}


def one_node(schema: Any, action: Any, saver: Any, **more: Any) -> Any:
    builder = StateGraph(schema, **more).add_node("work", action).add_edge(START, "work")
    return builder.compile(checkpointer=saver)


def nothing(state: Any) -> None:
    return None


def test_an_older_state_is_migrated_through_every_version_and_stored_with_the_next_commit(
    saver: Any, caller: Caller
) -> None:
    caller.invoke(one_node(One, nothing, saver), {"name": "Ada Lovelace", "log": ["a"]})
    three = one_node(Three, nothing, saver, version=3, migrations={1: split, 2: measure})
    expected = {"first": "Ada", "last": "Lovelace", "length": 11, "log": ["a"]}
    assert caller.state(three).values == expected
    stored = saver.get_tuple(THREAD).checkpoint["channel_values"]
    assert stored["name"] == "Ada Lovelace"  # reading stores nothing
    assert caller.invoke(three, {"log": ["b"]}) == {**expected, "log": ["a", "b"]}
    stored = saver.get_tuple(THREAD).checkpoint["channel_values"]
    assert "name" not in stored
    assert stored["first"] == "Ada"

    def never(values: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("migrated twice")

    again = one_node(Three, nothing, saver, version=3, migrations={1: never, 2: never})
    assert caller.state(again).values["length"] == 11


def test_every_checkpoint_of_the_history_is_shown_migrated(saver: Any, caller: Caller) -> None:
    old = one_node(One, nothing, saver)
    for name in ("Ada Lovelace", "Mary Shelley"):
        caller.invoke(old, {"name": name, "log": []})
    two = one_node(Two, nothing, saver, version=2, migrations={1: split})
    shown = [each.values.get("first") for each in two.get_state_history(THREAD)]
    assert shown == ["Mary", "Mary", "Ada", "Ada", "Ada", None]


def test_a_migration_may_change_what_it_is_given_in_place(saver: Any, caller: Caller) -> None:
    class Deep(TypedDict, total=False):
        table: dict[str, list[int]]

    def grow(values: dict[str, Any]) -> dict[str, Any]:
        values["table"]["a"].append(2)
        return values

    caller.invoke(one_node(Deep, nothing, saver), {"table": {"a": [1]}})
    two = one_node(Deep, nothing, saver, version=2, migrations={1: grow})
    for _ in range(2):
        assert caller.state(two).values == {"table": {"a": [1, 2]}}
    caller.update(two, THREAD, None)
    assert caller.state(two).values == {"table": {"a": [1, 2]}}
    assert saver.get_tuple(THREAD).checkpoint["channel_values"]["table"] == {"a": [1, 2]}


def two_tasks(schema: Any, saver: Any, writes: dict[str, Any], **more: Any) -> Any:
    """One node that asks beside one that writes."""
    builder = StateGraph(schema, **more).add_node("ask", lambda state: {"log": [interrupt("?")]})
    builder.add_node("write", lambda state: writes)
    return builder.add_edge(START, "ask").add_edge(START, "write").compile(checkpointer=saver)


def test_what_a_finished_task_wrote_is_migrated_as_the_value_that_it_is(
    saver: Any, caller: Caller
) -> None:
    old = two_tasks(One, saver, {"name": "Mary Shelley", "log": ["written"]})
    caller.invoke(old, {"name": "Ada Lovelace", "log": []})
    two = two_tasks(Two, saver, {}, version=2, migrations={1: split})
    assert caller.state(two).values["first"] == "Mary"
    result = caller.invoke(two, Command(resume="yes"))
    assert result == {"first": "Mary", "last": "Shelley", "log": ["yes", "written"]}


def test_what_new_code_wrote_beside_an_old_checkpoint_is_not_migrated_again(
    saver: Any, caller: Caller
) -> None:
    class Count(TypedDict, total=False):
        number: int
        log: Annotated[list[str], add]

    def double(values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "number": values["number"] * 2}

    def graph(version: int) -> Any:
        more = {"version": 2, "migrations": {1: double}} if version == 2 else {}
        builder = StateGraph(Count, **more)
        builder.add_node("ask", lambda state: {"log": [interrupt("?")]})
        builder.add_node("count", lambda state: {"number": interrupt("number?")})
        builder.add_edge(START, "ask").add_edge(START, "count")
        return builder.compile(checkpointer=saver)

    asked = caller.invoke(graph(1), {"number": 1, "log": []})["__interrupt__"]
    by_text = {each.value: each.id for each in asked}
    caller.invoke(graph(2), Command(resume={by_text["number?"]: 10}))  # acknowledged by version 2
    assert caller.state(graph(2)).values["number"] == 10
    assert caller.invoke(graph(2), Command(resume="yes")) == {"number": 10, "log": ["yes"]}


def test_what_a_caller_steers_into_an_old_checkpoint_is_not_migrated_again(
    saver: Any, caller: Caller
) -> None:
    class Count(TypedDict, total=False):
        number: int

    def double(values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "number": values["number"] * 2}

    def asks(state: Any) -> None:
        interrupt("one?")
        interrupt("two?")

    caller.invoke(one_node(Count, asks, saver), {"number": 1})
    two = one_node(Count, asks, saver, version=2, migrations={1: double})
    caller.invoke(two, Command(resume="yes", update={"number": 7}))
    assert caller.state(two).values == {"number": 7}
    assert caller.invoke(two, Command(resume="yes")) == {"number": 7}


def test_an_input_of_an_older_version_is_migrated_before_it_enters(
    saver: Any, caller: Caller
) -> None:
    old = one_node(One, nothing, saver)
    caller.invoke(old, {"name": "Ada Lovelace", "log": ["a"]})
    first = list(old.get_state_history(THREAD))[-1]
    two = one_node(Two, nothing, saver, version=2, migrations={1: split})
    assert caller.invoke(two, None, first.config) == {
        "first": "Ada", "last": "Lovelace", "log": ["a"],
    }  # fmt: skip


def test_migrations_see_todays_names_of_keys(saver: Any, caller: Caller) -> None:
    class Today(TypedDict, total=False):
        title: Annotated[str, RenamedFrom("name")]
        log: Annotated[list[str], add]

    def louder(values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "title": values["title"].upper()}

    caller.invoke(one_node(One, nothing, saver), {"name": "ada", "log": []})
    today = one_node(Today, nothing, saver, version=2, migrations={1: louder})
    assert caller.state(today).values["title"] == "ADA"


def fails(values: dict[str, Any]) -> dict[str, Any]:
    return {"n": values["nowhere"]}


@pytest.mark.parametrize(
    ("migrate", "message"),
    [
        (fails, r"from version 1 failed: KeyError\('nowhere'\)"),
        (lambda values: None, "returned None instead of a dict"),
        (lambda values: {**values, "fist": ""}, "'fist'.*Did you mean 'first'"),
    ],
)
def test_a_migration_that_fails_names_thread_checkpoint_and_versions(
    saver: Any, caller: Caller, migrate: Any, message: str
) -> None:
    caller.invoke(one_node(One, nothing, saver), {"name": "Ada", "log": []})
    head = saver.get_tuple(THREAD).config["configurable"]["checkpoint_id"]
    two = one_node(Two, nothing, saver, version=2, migrations={1: migrate})
    with pytest.raises(MigrationError, match=message) as caught:
        caller.invoke(two, {"log": []})
    for part in ("'order-7'", head, "from version 1 to 2"):
        assert part in str(caught.value)
    assert (caught.value.stored_version, caught.value.version) == (1, 2)
    assert caught.value.checkpoint_id == head
    with pytest.raises(MigrationError, match=f"'order-7'.*{head}"):
        caller.state(two)
    mended = one_node(Two, nothing, saver, version=2, migrations={1: split})
    assert caller.state(mended).values["first"] == "Ada"  # nothing was stored by the failure


def test_a_state_written_by_newer_code_is_refused(saver: Any, caller: Caller) -> None:
    two = one_node(Two, nothing, saver, version=2, migrations={1: split})
    caller.invoke(two, {"first": "Ada", "log": []})
    with pytest.raises(MigrationError, match=r"from version 2 to 1.*newer code"):
        caller.invoke(one_node(One, nothing, saver), {"log": []})


def test_a_version_without_a_migration_is_refused(saver: Any, caller: Caller) -> None:
    caller.invoke(one_node(One, nothing, saver), {"name": "Ada", "log": []})
    three = one_node(Three, nothing, saver, version=3, migrations={2: measure})
    with pytest.raises(MigrationError, match="no migration from version 1"):
        caller.state(three)


@pytest.mark.parametrize(
    ("version", "migrations", "message"),
    [
        (0, {}, "whole number from 1"),
        (3, {1: split}, "one by one"),
        (2, {2: split}, "one by one"),
        (2, {1: "split"}, "must be a function"),
        (2, {1: asplit}, "not async.*asplit"),
    ],
)
def test_migrations_that_do_not_lead_to_the_version_are_refused(
    version: int, migrations: Any, message: str
) -> None:
    with pytest.raises(InvalidGraphError, match=message):
        StateGraph(Two, version=version, migrations=migrations)


def test_a_subgraph_has_a_version_of_its_own(saver: Any, caller: Caller) -> None:
    def graph(inner: Any, action: Any, **more: Any) -> Any:

        class Outer(TypedDict, total=False):
            log: Annotated[list[str], add]

        nested = StateGraph(inner, output_schema=Outer, **more).add_node("work", action)
        nested.add_edge(START, "work")
        builder = StateGraph(Outer).add_node("inner", nested.compile()).add_edge(START, "inner")
        return builder.compile(checkpointer=saver)

    def asks(state: Any) -> Any:
        return {"log": [interrupt("?")], "name": "Ada Lovelace"}

    def tells(state: Any) -> Any:
        return {"log": [f"{interrupt('?')} {state['first']}"]}

    def named(values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "first": "nobody"}

    caller.invoke(graph(One, asks), {"log": []})
    two = graph(Two, tells, version=2, migrations={1: named})
    assert caller.invoke(two, Command(resume="yes"))["log"][-1] == "yes nobody"
