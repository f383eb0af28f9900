"""Before new code goes live, `check` says what it makes of every thread, and touches none."""

import sqlite3
from dataclasses import dataclass, field
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass as pydantic_dataclass

from plait import START, Command, InMemorySaver, Send, SqliteSaver, StateGraph, deploy, interrupt
from plait.channels import Topic, UntrackedValue
from plait.checkpoint.log.requests import DropLanes, Renew, Transact
from plait.checkpoint.serde import GLOBAL
from plait.errors import ConfigError, MigrationError, UnreachableNodeWarning, UnusedAnswerWarning

from . import shop


class State(TypedDict, total=False):
    log: Annotated[list[str], add]


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def fill(saver: Any) -> None:
    """Four threads of the old shop: one at its end, two that wait, one that cannot migrate."""
    graph = shop.old().compile(checkpointer=saver)
    graph.invoke({"log": ["pack"], "total": "1"}, thread("done"))
    graph.invoke({"log": ["ask"], "total": "2"}, thread("renamed"))
    graph.invoke({"log": ["check"], "total": "3"}, thread("gone"))
    graph.invoke({"log": ["ask"], "total": "two"}, thread("unreadable"))


def by_thread(report: deploy.DeployReport) -> dict[str, deploy.ThreadReport]:
    return {each.thread_id: each for each in report.threads}


async def checked(graph: Any, saver: Any, way: str) -> deploy.DeployReport:
    return await deploy.acheck(graph, saver) if way == "async" else deploy.check(graph, saver)


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_code_that_did_not_change_resumes_every_thread(saver: Any, way: str) -> None:
    fill(saver)
    report = await checked(shop.same, saver, way)
    assert report.ok
    assert [each.verdict for each in report.threads] == ["resumes"] * 4
    waiting = by_thread(report)["renamed"]
    assert (waiting.next, waiting.questions) == (("ask",), 1)
    assert by_thread(report)["done"].next == ()


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_each_thread_gets_its_verdict_and_the_reasons(saver: Any, way: str) -> None:
    fill(saver)
    report = await checked(shop.new, saver, way)
    found = by_thread(report)
    assert {name: each.verdict for name, each in found.items()} == {
        "done": "migrates", "renamed": "migrates", "gone": "breaks", "unreadable": "breaks",
    }  # fmt: skip
    assert not report.ok
    told = [finding.what for finding in found["renamed"].findings]
    assert told == [
        "the task of node 'ask' goes on as 'approve'",
        "key 'log' becomes 'events'",
        "the state goes from version 1 to 2",
    ]
    (broken,) = [each for each in found["gone"].findings if each.effect == "breaks"]
    assert broken.name == "check"
    assert "Did you mean 'checks'?" in broken.what
    assert broken.checkpoint_id == found["gone"].checkpoint_id
    (failed,) = found["unreadable"].findings
    assert "from version 1 failed: ValueError" in failed.what


def test_the_verdicts_come_true(saver: Any) -> None:
    fill(saver)
    graph = shop.new.copy({"checkpointer": saver})
    verdicts = by_thread(deploy.check(shop.new, saver))
    assert {each.verdict for each in verdicts.values()} == {"migrates", "breaks"}
    for name, found in verdicts.items():
        given = Command(resume="yes") if found.questions else None
        try:
            graph.invoke(given, thread(name))
        except Exception:
            assert found.verdict == "breaks"
        else:
            assert found.verdict != "breaks"
            assert by_thread(deploy.check(shop.new, saver))[name].verdict in ("resumes", "migrates")


@pytest.mark.parametrize("kind", [InMemorySaver, SqliteSaver])
def test_it_only_reads_and_only_heads(kind: Any, tmp_path: Path) -> None:
    seen: list[Any] = []

    class Watched(kind):
        def execute(self, request: Any) -> Any:
            seen.append(request)
            return super().execute(request)

    saver = Watched() if kind is InMemorySaver else Watched(tmp_path / "threads.db")
    graph = shop.old().compile(checkpointer=saver)
    for _ in range(20):
        graph.invoke({"log": ["pack"], "total": "1"}, thread("long"))
    seen.clear()
    deploy.check(shop.new, saver)
    assert not any(isinstance(each, (Transact, DropLanes, Renew)) for each in seen)
    assert 0 < len(seen) < 20  # sixty checkpoints are stored


def test_threads_are_listed_in_pages(saver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deploy, "PAGE", 3)
    graph = shop.old().compile(checkpointer=saver)
    for number in range(7):
        graph.invoke({"log": ["pack"], "total": "1"}, thread(str(number)))
    saver.delete_thread("4")
    names = [each.thread_id for each in deploy.check(shop.same, saver).threads]
    assert names == ["0", "1", "2", "3", "5", "6"]


async def test_of_several_graphs_in_one_database_each_checks_its_own(saver: Any) -> None:
    fill(saver)
    asked: list[str] = []

    def own(id: str) -> bool:
        asked.append(id)
        return id in ("done", "renamed")

    told: list[str] = []
    report = deploy.check(
        shop.new, saver, threads=own, progress=lambda step: told.append(step.thread_id)
    )
    assert report.ok
    assert sorted(by_thread(report)) == sorted(told) == ["done", "renamed"]
    assert sorted(asked) == ["done", "gone", "renamed", "unreadable"]
    assert await deploy.acheck(shop.new, saver, threads=own) == report


def nested(name: str, outer: str, saver: Any = None, **former: Any) -> Any:
    inner = StateGraph(State).add_node(name, lambda state: {"log": [interrupt("?")]}, **former)
    inner.add_edge(START, name)
    builder = StateGraph(State).add_node(outer, inner.compile()).add_edge(START, outer)
    return builder.compile(checkpointer=saver)


def test_progress_is_told_thread_by_thread(saver: Any) -> None:
    fill(saver)
    told: list[Any] = []
    deploy.check(shop.same, saver, progress=told.append)
    assert [(each.thread_id, each.done) for each in told] == [
        ("done", 1), ("renamed", 2), ("gone", 3), ("unreadable", 4),
    ]  # fmt: skip


def test_a_node_that_is_gone_inside_a_subgraph_that_waits_is_found(saver: Any) -> None:
    nested("review", "inner", saver).invoke({"log": []}, thread("1"))
    report = deploy.check(nested("reviews", "inner"), saver)
    (finding,) = report.threads[0].findings
    assert (finding.effect, finding.name) == ("breaks", "review")
    assert finding.ns.startswith("inner:")
    renamed = nested("reviews", "inner", renamed_from="review")
    assert deploy.check(renamed, saver).threads[0].verdict == "migrates"


def test_a_send_and_a_route_to_nodes_that_are_gone_are_found(saver: Any) -> None:
    def graph(target: str, after: str, saver: Any = None) -> Any:
        builder = StateGraph(State).add_node(target, lambda given: interrupt("?"))
        builder.add_node("lead", lambda state: None).add_node(after, lambda state: None)
        sends = [Send(target, {"n": 1})]
        builder.add_conditional_edges(START, lambda state: sends)
        return builder.add_edge(START, "lead").add_edge("lead", after).compile(checkpointer=saver)

    graph("work", "after", saver).invoke({"log": []}, thread("1"))
    findings = deploy.check(graph("works", "later"), saver).threads[0].findings
    assert [(each.effect, each.name) for each in findings] == [
        ("breaks", "after"), ("breaks", "work"),
    ]  # fmt: skip


def test_keys_and_memories_that_get_out_of_reach_are_told(saver: Any) -> None:
    class More(TypedDict, total=False):
        log: Annotated[list[str], add]
        subject: str

    def graph(key: Any, name: str, saver: Any = None) -> Any:
        inner = StateGraph(key).add_node("say", lambda state: {"log": ["x"]}).add_edge(START, "say")
        builder = StateGraph(key).add_node(name, inner.compile(checkpointer=True))
        return builder.add_edge(START, name).compile(checkpointer=saver)

    graph(More, "talk", saver).invoke({"log": [], "subject": "braids"}, thread("1"))
    found = deploy.check(graph(State, "chat"), saver).threads[0]
    assert found.verdict == "migrates"
    assert found.loses
    assert {each.name for each in found.findings} == {"subject", "talk"}


def with_memory(node: str, saver: Any = None, *, keeps: Any = True, **options: Any) -> Any:
    """A graph with memory that asks on its second turn, inside another."""

    def say(state: State) -> State:
        return {"log": ["hello" if len(state["log"]) < 2 else interrupt("?")]}

    inner = StateGraph(State, **options).add_node(node, say).add_edge(START, node)
    builder = StateGraph(State).add_node("talk", inner.compile(checkpointer=keeps))
    return builder.add_edge(START, "talk").compile(checkpointer=saver)


def fails(values: Any) -> Any:
    raise ValueError("no such version")


def test_a_memory_that_newer_code_cannot_read_breaks(saver: Any) -> None:
    graph = with_memory("say", saver)
    graph.invoke({"log": ["a"]}, thread("1"))
    newer = with_memory("say", version=2, migrations={1: fails})
    (finding,) = deploy.check(newer, saver).threads[0].findings
    assert (finding.effect, finding.ns) == ("breaks", "talk")
    graph.invoke({"log": ["b"]}, thread("1"))
    assert graph.get_state(thread("1")).interrupts
    (finding,) = deploy.check(newer, saver).threads[0].findings
    assert "no such version" in finding.what
    with pytest.raises(MigrationError):
        newer.copy({"checkpointer": saver}).invoke(Command(resume="c"), thread("1"))


def test_a_node_that_is_gone_breaks_a_memory_only_where_it_is_about_to_run(saver: Any) -> None:
    graph = with_memory("say", saver)
    graph.invoke({"log": ["a"]}, thread("1"))
    assert deploy.check(with_memory("speak"), saver).threads[0].verdict == "resumes"
    graph.invoke({"log": ["b"]}, thread("1"))
    (finding,) = deploy.check(with_memory("speak"), saver).threads[0].findings
    assert (finding.effect, finding.name, finding.ns) == ("breaks", "say", "talk")


@pytest.mark.parametrize("then", [True, None])
def test_a_question_of_a_graph_that_looks_elsewhere_now_is_told(saver: Any, then: Any) -> None:
    asked = with_memory("say", saver, keeps=then).invoke({"log": ["a", "b"]}, thread("1"))
    (question,) = asked["__interrupt__"]
    now = with_memory("say", saver, keeps=None if then else True)
    told = [each.what for each in deploy.check(now, saver).threads[0].findings]
    assert any(
        question.id in what and "with another checkpointer=: the answer would" in what
        for what in told
    )
    with pytest.warns(UnusedAnswerWarning):
        now.invoke(Command(resume="c"), thread("1"))


def test_a_memory_that_nothing_reads_any_more_is_told(saver: Any) -> None:
    with_memory("say", saver).invoke({"log": ["a"]}, thread("1"))
    inner = StateGraph(State).add_node("say", lambda state: None).add_edge(START, "say").compile()
    builder = StateGraph(State, version=2, migrations={1: dict})
    now = builder.add_node("talk", inner).add_edge(START, "talk").compile()
    (finding,) = [each for each in deploy.check(now, saver).threads[0].findings if each.name]
    assert (finding.effect, finding.name) == ("loses", "talk")
    assert "not been compiled with checkpointer=True" in finding.what


def joined(starts: list[str], saver: Any = None, *, defer: bool = False) -> Any:
    """`sums` waits for several nodes, of which `asks` stops."""
    builder = StateGraph(State).add_node("asks", lambda state: {"log": [interrupt("?")]})
    for name in ("one", "two"):
        builder.add_node(name, lambda state: None).add_edge(START, name)
    builder.add_node("sums", lambda state: {"log": ["sum"]}, defer=defer).add_edge("two", "asks")
    return builder.add_edge(starts, "sums").compile(checkpointer=saver)


def test_a_join_that_is_half_full_and_gone_is_told_and_warned_of(saver: Any) -> None:
    joined(["one", "asks"], saver).invoke({"log": []}, thread("1"))
    now = joined(["one", "two", "asks"], saver)
    (finding,) = deploy.check(now, saver).threads[0].findings
    assert finding.effect == "loses"
    assert "some of ['one', 'asks'] have finished, for all of which 'sums' waits" in finding.what
    with pytest.warns(UnreachableNodeWarning, match="On thread '1', some of"):
        assert now.invoke(Command(resume="a"), thread("1"))["log"] == ["a"]


@pytest.mark.parametrize("defer", [True, False])
def test_a_join_stays_half_full_when_its_node_is_deferred_or_no_more(
    saver: Any, defer: bool
) -> None:
    joined(["one", "asks"], saver, defer=defer).invoke({"log": []}, thread("1"))
    now = joined(["one", "asks"], saver, defer=not defer)
    assert deploy.check(now, saver).threads[0].verdict == "resumes"
    assert now.invoke(Command(resume="a"), thread("1"))["log"] == ["a", "sum"]


def test_a_write_that_waits_and_does_not_fit_a_new_reducer_breaks(saver: Any) -> None:
    def graph(reducer: Any, saver: Any = None) -> Any:
        class Kept(TypedDict, total=False):
            log: Annotated[list[str], reducer]

        builder = StateGraph(Kept).add_node("writes", lambda state: {"log": ["a"]})
        builder.add_node("asks", lambda state: {"log": [interrupt("?")]})
        return builder.add_edge(START, "writes").add_edge(START, "asks").compile(saver)

    def only_sets(old: Any, new: Any) -> Any:
        return sorted({*old} | new)

    graph(add, saver).invoke({"log": []}, thread("1"))
    assert deploy.check(graph(add), saver).threads[0].verdict == "resumes"
    (finding,) = deploy.check(graph(only_sets), saver).threads[0].findings
    assert (finding.effect, finding.name) == ("breaks", "writes")
    assert "TypeError" in finding.what
    with pytest.raises(TypeError):
        graph(only_sets, saver).invoke(Command(resume="b"), thread("1"))


@dataclass
class Signed:
    signer: str
    text: str = ""


class Model(BaseModel):
    signer: str
    text: str = ""


class FilledModel(Model):
    @model_validator(mode="before")
    @classmethod
    def fill(cls, values: Any) -> Any:
        return {"signer": "nobody", **values}


class SignedDict(TypedDict):
    signer: str
    text: str


@pytest.mark.parametrize(
    ("schema", "error"),
    [
        (Signed, TypeError),
        (Model, ValidationError),
        (pydantic_dataclass(Signed), ValidationError),
        (FilledModel, None),
        (SignedDict, None),
    ],
)
def test_a_state_that_a_node_cannot_be_handed_breaks(
    saver: Any, schema: Any, error: type[Exception] | None
) -> None:
    def graph(state: Any) -> Any:
        builder = StateGraph(state).add_node("ask", lambda _: {"text": interrupt("?")})
        return builder.add_edge(START, "ask").compile(checkpointer=saver)

    class Before(TypedDict, total=False):
        text: str

    graph(Before).invoke({"text": "hi"}, thread("1"))
    (found,) = deploy.check(graph(schema), saver).threads
    if error is None:
        assert found.verdict == "resumes"
        return
    assert found.verdict == "breaks"
    assert [finding.name for finding in found.findings] == ["ask"]
    assert "has nothing for its 'signer'" in found.findings[0].what
    with pytest.raises(error, match="signer"):
        graph(schema).invoke(Command(resume="yes"), thread("1"))


def test_a_value_that_a_key_of_another_kind_cannot_hold_breaks(saver: Any) -> None:
    class Before(TypedDict, total=False):
        found: str

    class After(TypedDict, total=False):
        found: Annotated[list[str], Topic(str, accumulate=True)]

    def graph(state: Any, **options: Any) -> Any:
        builder = StateGraph(state, **options).add_node("ask", lambda _: interrupt("?") and None)
        return builder.add_edge(START, "ask").compile(checkpointer=saver)

    graph(Before).invoke({"found": "one"}, thread("1"))
    now = graph(After)
    (found,) = deploy.check(now, saver).threads
    assert found.verdict == "breaks"
    with pytest.raises(MigrationError, match=r"key 'found' does not fit its Topic.*next version"):
        now.invoke(Command(resume="yes"), thread("1"))
    listed = graph(After, version=2, migrations={1: lambda values: {"found": [values["found"]]}})
    assert deploy.check(listed, saver).ok
    assert listed.invoke(Command(resume="yes"), thread("1")) == {"found": ["one"]}


def test_a_key_that_is_not_stored_any_more_is_told(saver: Any) -> None:
    class Before(TypedDict, total=False):
        found: str

    class After(TypedDict, total=False):
        found: Annotated[str, UntrackedValue]

    def graph(state: Any) -> Any:
        builder = StateGraph(state).add_node("ask", lambda _: interrupt("?") and None)
        return builder.add_edge(START, "ask").compile(checkpointer=saver)

    graph(Before).invoke({"found": "one"}, thread("1"))
    (found,) = deploy.check(graph(After), saver).threads
    assert (found.verdict, found.loses) == ("migrates", True)
    assert "UntrackedValue" in found.findings[0].what
    assert not graph(After).invoke(Command(resume="yes"), thread("1"))
    (found,) = deploy.check(graph(After), saver).threads
    assert found.verdict == "resumes"


class Older(BaseModel):
    price: int


class Newer(BaseModel):
    price: int
    tags: list[str] = Field(default_factory=list)
    currency: str


@dataclass
class OlderOffer:
    parts: list[Older]


@dataclass
class NewerOffer:
    parts: list[Newer]
    sold: bool = False
    by: Signed = field(default_factory=lambda: Signed("shop"))
    notes: str = field(init=False)


class Offers(TypedDict, total=False):
    offers: list[Any]


def test_objects_that_were_stored_before_their_class_got_a_field_break(saver: Any) -> None:
    def graph(offer: Any, part: Any, **settings: Any) -> Any:
        GLOBAL.register(offer, name="tests.migrations:Offer")
        GLOBAL.register(part, name="tests.migrations:Part")
        builder = StateGraph(Offers, **settings)
        builder.add_node("ask", lambda state: {"offers": [interrupt("?")]})
        return builder.add_edge(START, "ask").compile(checkpointer=saver)

    graph(OlderOffer, Older).invoke({"offers": [OlderOffer([Older(price=1)])]}, thread("1"))
    report = deploy.check(graph(NewerOffer, Newer), saver)
    (found,) = report.threads
    assert [finding.what.partition(". ")[0] for finding in found.findings] == [
        "key 'offers' holds NewerOffer that was stored without its 'by'",
        "key 'offers' holds Newer that was stored without its 'currency'",
    ]
    assert not report.ok

    def fill_in(values: Any) -> Any:
        for offer in values["offers"]:
            offer.by = Signed("shop")
            offer.parts = [Newer(price=part.price, currency="EUR") for part in offer.parts]
        return values

    (found,) = deploy.check(
        graph(NewerOffer, Newer, version=2, migrations={1: fill_in}), saver
    ).threads
    assert found.verdict == "migrates"


def test_a_damaged_thread_breaks_and_the_others_are_still_told(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with SqliteSaver(path) as saver:
        fill(saver)
    with sqlite3.connect(path) as conn:
        conn.execute("UPDATE checkpoints SET record = x'00' WHERE lane = 1")
    with SqliteSaver(path) as saver:
        found = by_thread(deploy.check(shop.same, saver))
    assert found["done"].verdict == "breaks"
    assert "cannot be read" in found["done"].findings[0].what
    assert found["renamed"].verdict == "resumes"


def test_a_saver_that_cannot_list_threads_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot list the heads"):
        deploy.check(shop.new, object())
