"""The graphs that these tests draw."""

from itertools import pairwise
from operator import add
from typing import Annotated, Any, TypedDict

from plait.graph import END, START, StateGraph
from plait.types import interrupt


class State(TypedDict):
    log: Annotated[list[str], add]


def node(state: State) -> dict[str, list[str]]:
    return {"log": []}


def path(state: State) -> str:
    return "done"


def builder(names: list[str], edges: list[tuple[Any, str]]) -> StateGraph[State]:
    graph = StateGraph(State)
    for name in names:
        graph.add_node(name, node)
    for start, end in edges:
        graph.add_edge(start, end)
    return graph


def chain(*names: str) -> Any:
    """A compiled graph of nodes one after the other."""
    return builder(list(names), [(START, names[0]), *pairwise(names)]).compile()


def agent() -> Any:
    graph = builder(["agent", "tools"], [(START, "agent"), ("tools", "agent")])
    return graph.add_conditional_edges("agent", path, {"call": "tools", "done": END}).compile()


DESK = [
    *("receive", "classify", "billing", "technical", "sales", "lookup_invoice", "check_refund"),
    *("refund", "explain_invoice", "reproduce", "search_docs", "search_tickets", "search_code"),
    *("rank", "diagnose", "propose_fix", "human_review", "qualify", "quote", "schedule_call"),
    *("draft_reply", "check_tone", "check_facts", "check_policy", "merge_checks", "rewrite"),
    *("approve", "send", "archive", "report"),
]


def service_desk() -> StateGraph[State]:
    """Thirty nodes as a real graph has them: branches, fan-outs, joins, and loops."""
    searches = ["search_docs", "search_tickets", "search_code"]
    checks = ["check_tone", "check_facts", "check_policy"]
    plain = (
        "receive>classify billing>lookup_invoice technical>reproduce sales>qualify rank>diagnose"
    )
    plain += " approve>send send>archive archive>report"
    drafted = ("refund", "explain_invoice", "propose_fix", "human_review", "quote", "schedule_call")
    edges: list[tuple[Any, str]] = [(START, "receive"), ("report", END)]
    edges += [(one, other) for one, _, other in (pair.partition(">") for pair in plain.split())]
    edges += [(name, "draft_reply") for name in drafted]
    edges += [("reproduce", name) for name in searches] + [(searches, "rank")]
    edges += [(one, name) for one in ("draft_reply", "rewrite") for name in checks]
    graph = builder(DESK, [*edges, (checks, "merge_checks")])
    choices = {
        "classify": {"billing": "billing", "technical": "technical", "sales": "sales"}
        | {"spam": "archive"},
        "lookup_invoice": {"refund asked": "check_refund", "question": "explain_invoice"},
        "check_refund": {"ok": "refund", "too much": "human_review"},
        "diagnose": {"found": "propose_fix", "unclear": "reproduce", "stuck": "human_review"},
        "qualify": {"hot": "schedule_call", "warm": "quote"},
        "merge_checks": {"bad": "rewrite", "good": "approve"},
    }
    for source, ends in choices.items():
        graph.add_conditional_edges(source, path, ends)
    return graph


def paper() -> StateGraph[State]:
    """Two subgraphs, one with a loop, and a way back between them."""
    research = builder(
        ["find", "read", "judge"], [(START, "find"), ("find", "read"), ("read", "judge")]
    )
    research.add_conditional_edges("judge", path, {"again": "find", "done": END})
    graph = StateGraph(State)
    graph.add_node("plan", node)
    graph.add_node("research", research.compile())
    graph.add_node("write", chain("outline", "draft", "polish"))
    graph.add_node("publish", node)
    graph.add_edge(START, "plan").add_edge("plan", "research").add_edge("research", "write")
    graph.add_conditional_edges("write", path, {"needs facts": "research", "done": "publish"})
    return graph.add_edge("publish", END)


def ask(state: State) -> dict[str, list[str]]:
    return {"log": [interrupt("go on?")]}


def waiting() -> StateGraph[State]:
    """plan, then side and (ask inside a subgraph), then write."""
    inner = StateGraph(State).add_node("x", node).add_node("ask", ask).add_node("z", node)
    inner.add_edge(START, "x").add_edge("x", "ask").add_edge("ask", "z")
    graph = StateGraph(State)
    for name, action in {"plan": node, "done": chain("p", "q"), "side": node}.items():
        graph.add_node(name, action)
    graph.add_node("inner", inner.compile()).add_node("write", node)
    graph.add_edge(START, "plan").add_edge("plan", "done").add_edge("done", "inner")
    graph.add_edge("done", "side").add_edge(["inner", "side"], "write")
    return graph.add_conditional_edges("write", path, {"again": "plan", "done": END})
