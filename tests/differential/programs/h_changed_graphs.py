"""Threads whose graph is another one at the next run: reducers, keys, nodes and edges changed."""

import operator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, TypedDict

from langgraph.channels import AnyValue, EphemeralValue, Topic, UntrackedValue
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Overwrite, Send, interrupt
from pydantic import BaseModel

CONFIG = {"configurable": {"thread_id": "1"}}


class Added(TypedDict, total=False):
    items: Annotated[list, operator.add]
    n: int


class Plain(TypedDict, total=False):
    items: list
    n: int


def add(*values):
    return lambda state: {"items": list(values)}


def built(schema, saver, *nodes, edges=None, **options):
    builder = StateGraph(schema)
    for name, code in nodes:
        builder.add_node(name, code)
    if edges is None:
        edges = pairwise([START, *(name for name, _ in nodes)])
    for edge in edges:
        builder.add_edge(*edge)
    return builder.compile(checkpointer=saver, **options)


def states(graph):
    return [(s.values, s.next) for s in graph.get_state_history(CONFIG)]


def case_a_reducer_goes(env):
    saver = env.saver()
    built(Added, saver, ("a", add("a"))).invoke({"items": ["in"]}, CONFIG)
    graph = built(Plain, saver, ("a", add("b")))
    before = graph.get_state(CONFIG).values
    return before, graph.invoke({"n": 1}, CONFIG), graph.invoke({"items": ["x"]}, CONFIG)


def case_a_reducer_comes(env):
    saver = env.saver()
    built(Plain, saver, ("a", add("a"))).invoke({"items": ["in"]}, CONFIG)
    graph = built(Added, saver, ("a", add("b")))
    return graph.get_state(CONFIG).values, graph.invoke({"items": ["x"]}, CONFIG)


def case_a_reducer_comes_over_a_value_that_it_cannot_take(env):
    class Number(TypedDict, total=False):
        items: int

    saver = env.saver()
    built(Number, saver, ("a", lambda state: {"items": 7})).invoke({"items": 1}, CONFIG)
    graph = built(Added, saver, ("a", add("b")))
    before = graph.get_state(CONFIG).values
    errors = [env.error(lambda: graph.invoke({"items": ["x"]}, CONFIG)) for _ in range(2)]
    errors.append(env.error(lambda: graph.get_state(CONFIG)))
    mended = graph.invoke({"items": Overwrite(["new"])}, CONFIG)
    return before, errors, mended, graph.get_state(CONFIG).values


def case_a_reducer_comes_before_a_half_done_step(env):
    saver, fails = env.saver(), [True]

    def failing(state):
        if fails:
            raise ValueError("once")
        return {"n": 1}

    edges = [(START, "a"), (START, "b")]
    nodes = [("a", add("a")), ("b", failing)]
    first = built(Plain, saver, *nodes, edges=edges)
    error = env.error(lambda: first.invoke({"items": ["in"]}, CONFIG))
    fails.clear()
    graph = built(Added, saver, *nodes, edges=edges)
    return error, graph.invoke(None, CONFIG)


def case_a_reducer_goes_before_a_half_done_step(env):
    saver, fails = env.saver(), [True]

    def failing(state):
        if fails:
            raise ValueError("once")
        return {"n": 1}

    edges = [(START, "a"), (START, "b")]
    nodes = [("a", add("a")), ("b", failing)]
    first = built(Added, saver, *nodes, edges=edges)
    error = env.error(lambda: first.invoke({"items": ["in"]}, CONFIG))
    fails.clear()
    graph = built(Plain, saver, *nodes, edges=edges)
    return error, graph.invoke(None, CONFIG)


def case_a_key_comes_with_a_reducer(env):
    class More(Added, total=False):
        total: Annotated[int, operator.add]
        log: Annotated[list, operator.add]

    saver = env.saver()
    built(Added, saver, ("a", add("a"))).invoke({"items": ["in"]}, CONFIG)
    seen = []

    def node(state):
        seen.append(dict(state))
        return {"total": 5, "log": ["x"]}

    graph = built(More, saver, ("a", node))
    return graph.get_state(CONFIG).values, graph.invoke({"n": 1}, CONFIG), seen


def case_a_key_goes_and_comes_back(env):
    class Less(TypedDict, total=False):
        n: int

    saver = env.saver()
    built(Added, saver, ("a", add("a"))).invoke({"items": ["in"], "n": 1}, CONFIG)
    less = built(Less, saver, ("a", lambda state: {"n": state["n"] + 1}))
    middle = less.invoke({}, CONFIG), less.get_state(CONFIG).values
    return middle


def case_a_key_is_untracked_from_now_on(env):
    class Untracked(TypedDict, total=False):
        items: Annotated[list, UntrackedValue]
        n: int

    saver, seen = env.saver(), []

    def node(state):
        seen.append(dict(state))
        return {"n": 2}

    built(Plain, saver, ("a", add("a"))).invoke({"items": ["in"], "n": 1}, CONFIG)
    graph = built(Untracked, saver, ("a", node))
    return graph.get_state(CONFIG).values, graph.invoke({"n": 1}, CONFIG), seen


def case_a_key_is_ephemeral_from_now_on(env):
    class Ephemeral(TypedDict, total=False):
        items: Annotated[list, EphemeralValue]
        n: int

    saver, seen = env.saver(), []

    def node(state):
        seen.append(dict(state))
        return {"n": 2}

    built(Plain, saver, ("a", add("a"))).invoke({"items": ["in"], "n": 1}, CONFIG)
    graph = built(Ephemeral, saver, ("a", node))
    return graph.get_state(CONFIG).values, graph.invoke({"n": 1}, CONFIG), seen


def case_a_dict_becomes_a_model(env):
    class Model(BaseModel):
        items: Annotated[list, operator.add] = []
        n: int = 9
        new: str = "default"

    saver, seen = env.saver(), []

    def node(state):
        seen.append((state.items, state.n, state.new))
        return {"items": ["b"]}

    built(Added, saver, ("a", add("a"))).invoke({"items": ["in"]}, CONFIG)
    graph = built(Model, saver, ("a", node))
    return graph.get_state(CONFIG).values, graph.invoke({"items": ["x"]}, CONFIG), seen


def case_a_dict_becomes_a_model_that_asks_for_more(env):
    class Model(BaseModel):
        items: Annotated[list, operator.add]
        new: str

    saver = env.saver()
    built(Added, saver, ("a", add("a"))).invoke({"items": ["in"]}, CONFIG)
    graph = built(Model, saver, ("a", add("b")))
    return graph.invoke({"items": ["y"], "new": "n"}, CONFIG), graph.get_state(CONFIG).values


def case_a_dict_becomes_a_dataclass(env):
    @dataclass
    class Data:
        items: Annotated[list, operator.add] = field(default_factory=list)
        n: int = 9
        new: str = "default"

    saver, seen = env.saver(), []

    def node(state):
        seen.append((state.items, state.n, state.new))
        return {"items": ["b"]}

    built(Added, saver, ("a", add("a"))).invoke({"items": ["in"]}, CONFIG)
    graph = built(Data, saver, ("a", node))
    return graph.invoke({"items": ["x"]}, CONFIG), seen


def case_messages_come_over_a_list_of_tuples(env):
    class Tuples(TypedDict, total=False):
        messages: list

    class Messages(TypedDict, total=False):
        messages: Annotated[list, add_messages]

    saver = env.saver()
    given = {"messages": [["user", "hi"]]}
    built(Tuples, saver, ("a", lambda state: {})).invoke(given, CONFIG)
    graph = built(Messages, saver, ("a", lambda state: {"messages": [("ai", "hello")]}))
    result = graph.invoke({"messages": [("user", "again")]}, CONFIG)
    return [(m.type, m.content) for m in result["messages"]]


def case_a_node_comes_before_the_one_that_waits(env):
    saver = env.saver()
    first = built(Added, saver, ("a", add("a")), ("c", add("c")), interrupt_before=["c"])
    first.invoke({"items": []}, CONFIG)
    graph = built(Added, saver, ("a", add("a")), ("b", add("b")), ("c", add("c")))
    return graph.get_state(CONFIG).next, graph.invoke(None, CONFIG), graph.invoke({}, CONFIG)


def case_a_node_comes_behind_the_one_that_waits(env):
    saver = env.saver()
    first = built(Added, saver, ("a", add("a")), ("b", add("b")), interrupt_before=["b"])
    first.invoke({"items": []}, CONFIG)
    graph = built(Added, saver, ("a", add("a")), ("b", add("b")), ("c", add("c")))
    return graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


def case_breakpoints_come_and_go(env):
    saver = env.saver()
    nodes = [("a", add("a")), ("b", add("b")), ("c", add("c"))]
    first = built(Added, saver, *nodes, interrupt_before=["b"])
    first.invoke({"items": []}, CONFIG)
    graph = built(Added, saver, *nodes, interrupt_before=["c"])
    stopped = graph.invoke(None, CONFIG), graph.get_state(CONFIG).next
    again = built(Added, saver, *nodes, interrupt_after=["c"], interrupt_before=["c"])
    return stopped, again.invoke(None, CONFIG), again.get_state(CONFIG).next


def case_an_edge_leads_elsewhere(env):
    saver = env.saver()
    nodes = [("a", add("a")), ("b", add("b")), ("c", add("c"))]
    edges = [(START, "a"), ("a", "b")]
    built(Added, saver, *nodes, edges=edges, interrupt_after=["a"]).invoke({"items": []}, CONFIG)
    graph = built(Added, saver, *nodes, edges=[(START, "a"), ("a", "c")])
    return graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


def case_a_join_waits_for_one_more(env):
    saver = env.saver()
    nodes = [(name, add(name)) for name in "abcz"]
    edges = [(START, "a"), ("a", "b"), (["a", "b"], "z")]
    first = built(Added, saver, *nodes[:2], nodes[3], edges=edges, interrupt_after=["a"])
    first.invoke({"items": []}, CONFIG)
    edges = [(START, "a"), ("a", "b"), ("b", "c"), (["a", "b", "c"], "z")]
    return built(Added, saver, *nodes, edges=edges).invoke(None, CONFIG)


def case_an_edge_becomes_a_path_function(env):
    saver = env.saver()
    nodes = [(name, add(name)) for name in "abc"]
    edges = [(START, "a"), ("a", "b")]
    built(Added, saver, *nodes, edges=edges, interrupt_before=["b"]).invoke({"items": []}, CONFIG)
    builder = StateGraph(Added)
    for name, code in nodes:
        builder.add_node(name, code)
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", lambda state: "c", ["b", "c"])
    graph = builder.compile(checkpointer=saver)
    return graph.invoke(None, CONFIG), graph.invoke({}, CONFIG)


def case_a_node_that_waits_asks_twice_now(env):
    saver = env.saver()
    once = built(Added, saver, ("a", lambda state: {"items": [interrupt("one")]}))
    once.invoke({"items": []}, CONFIG)

    def twice(state):
        return {"items": [interrupt("one"), interrupt("two")]}

    graph = built(Added, saver, ("a", twice))
    asked = graph.invoke(Command(resume="1"), CONFIG)
    return asked, graph.invoke(Command(resume="2"), CONFIG)


def case_a_node_that_waits_asks_no_more(env):
    saver = env.saver()
    once = built(Added, saver, ("a", lambda state: {"items": [interrupt("one")]}))
    once.invoke({"items": []}, CONFIG)
    graph = built(Added, saver, ("a", add("done")))
    return graph.invoke(None, CONFIG), graph.get_state(CONFIG).next


def case_another_question_at_the_same_place(env):
    saver = env.saver()
    built(Added, saver, ("a", lambda s: {"items": [interrupt("old")]})).invoke(
        {"items": []}, CONFIG
    )
    graph = built(Added, saver, ("a", lambda s: {"items": [interrupt("new")]}))
    shown = [i.value for i in graph.get_state(CONFIG).interrupts]
    return shown, graph.invoke(None, CONFIG), graph.invoke(Command(resume="A"), CONFIG)


def case_a_waiting_send_and_other_code(env):
    saver = env.saver()

    def spread(state):
        return [Send("work", {"n": n}) for n in (1, 2)]

    def made(code, **options):
        builder = StateGraph(Added).add_node("work", code).add_node("go", lambda state: {})
        builder.add_edge(START, "go").add_conditional_edges("go", spread, ["work"])
        return builder.compile(checkpointer=saver, **options)

    first = made(lambda state: {"items": ["old", state["n"]]}, interrupt_before=["work"])
    first.invoke({"items": []}, CONFIG)
    graph = made(lambda state: {"items": ["new", state["n"]]})
    return graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


def case_a_subgraph_gets_another_node(env):
    saver = env.saver()
    ask = ("ask", lambda state: {"items": [interrupt("q")]})
    inner = built(Added, None, ("first", add("first")), ask)
    built(Added, saver, ("inner", inner)).invoke({"items": []}, CONFIG)
    inner = built(Added, None, ("first", add("FIRST")), ask, ("last", add("last")))
    graph = built(Added, saver, ("inner", inner), ("end", add("end")))
    return graph.invoke(Command(resume="A"), CONFIG)


def case_a_node_becomes_a_subgraph(env):
    saver = env.saver()
    built(Added, saver, ("a", add("a")), interrupt_before=["a"]).invoke({"items": []}, CONFIG)
    inner = built(Added, None, ("x", add("x")), ("y", lambda s: {"items": [interrupt("q")]}))
    graph = built(Added, saver, ("a", inner))
    asked = graph.invoke(None, CONFIG)
    return asked, graph.invoke(Command(resume="A"), CONFIG)


def case_updates_by_a_node_that_is_new(env):
    saver = env.saver()
    built(Added, saver, ("a", add("a"))).invoke({"items": []}, CONFIG)
    graph = built(Added, saver, ("a", add("a")), ("b", add("b")), ("c", add("c")))
    graph.update_state(CONFIG, {"items": ["by hand"]}, as_node="b")
    return graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


def case_updates_without_a_node_where_the_last_one_is_gone(env):
    saver = env.saver()
    built(Added, saver, ("a", add("a"))).invoke({"items": []}, CONFIG)
    graph = built(Added, saver, ("b", add("b")), ("c", add("c")))
    error = env.error(lambda: graph.update_state(CONFIG, {"items": ["x"]}) and None)
    return error


def case_history_of_a_graph_that_lost_a_node(env):
    saver = env.saver()
    built(Added, saver, ("a", add("a")), ("b", add("b"))).invoke({"items": []}, CONFIG)
    graph = built(Added, saver, ("a", add("A")))
    return [values for values, _ in states(graph)], graph.invoke({}, CONFIG)


def case_another_graph_on_the_same_thread(env):
    class Other(TypedDict, total=False):
        words: Annotated[list, operator.add]

    saver = env.saver()
    built(Added, saver, ("a", add("a"))).invoke({"items": ["in"], "n": 3}, CONFIG)
    graph = built(Other, saver, ("w", lambda state: {"words": ["w"]}))
    return graph.invoke({"words": ["in"]}, CONFIG), graph.get_state(CONFIG).values


def case_a_workflow_of_another_name(env):
    saver = env.saver()

    @entrypoint(checkpointer=saver)
    def one(given, *, previous: Any = None):
        return [*(previous or []), given]

    @entrypoint(checkpointer=saver)
    def two(given, *, previous: Any = None):
        return [*(previous or []), given, "two"]

    return one.invoke(1, CONFIG), two.invoke(2, CONFIG), one.invoke(3, CONFIG)


def case_a_workflow_calls_one_task_more_behind(env):
    saver, ran = env.saver(), []

    @task
    def step(name):
        ran.append(name)
        return name

    def made(more):
        def flow(given):
            out = [step("a").result(), interrupt("q")]
            if more:
                out.append(step("b").result())
            return out

        return entrypoint(checkpointer=saver)(flow)

    made(False).invoke(1, CONFIG)
    return made(True).invoke(Command(resume="A"), CONFIG), ran


def case_a_deferred_node_is_one_no_more(env):
    saver = env.saver()

    def made(defer, **options):
        builder = StateGraph(Added).add_node("a", add("a")).add_node("b", add("b"), defer=defer)
        builder.add_node("c", add("c")).add_edge(START, "a").add_edge("a", "b").add_edge("a", "c")
        return builder.compile(checkpointer=saver, **options)

    made(True, interrupt_before=["b"]).invoke({"items": []}, CONFIG)
    graph = made(False)
    return graph.get_state(CONFIG).next, graph.invoke(None, CONFIG), graph.invoke({}, CONFIG)


def case_a_fork_of_an_old_checkpoint_by_new_code(env):
    saver = env.saver()
    nodes = [("a", add("a")), ("b", add("b"))]
    first = built(Added, saver, *nodes)
    first.invoke({"items": ["in"]}, CONFIG)
    at = next(s.config for s in first.get_state_history(CONFIG) if s.next == ("b",))
    graph = built(Plain, saver, ("a", add("A")), ("b", add("B")), ("c", lambda s: {"n": 1}))
    return graph.invoke(None, at), graph.get_state(CONFIG).values, len(states(graph))


def case_channels_of_another_kind_and_back(env):
    found = []
    for number, kind in enumerate((EphemeralValue, AnyValue, UntrackedValue)):

        class Kind(TypedDict, total=False):
            v: Annotated[int, kind]
            n: int

        class Usual(TypedDict, total=False):
            v: int
            n: int

        saver = env.saver(f"of {number}")
        built(Kind, saver, ("a", lambda state: {"v": 5})).invoke({"v": 1, "n": 0}, CONFIG)
        for schema in (Usual, Kind):
            graph = built(schema, saver, ("a", lambda state: {"n": state.get("v")}))
            found.append(graph.invoke({"n": 1}, CONFIG))
    return found


def case_a_topic_becomes_a_list_and_back(env):
    class Topics(TypedDict, total=False):
        items: Annotated[list, Topic(int, True)]

    saver = env.saver()
    one = built(Topics, saver, ("a", lambda state: {"items": 5})).invoke({"items": [1]}, CONFIG)
    two = built(Added, saver, ("a", add(6))).invoke({"items": [2]}, CONFIG)
    return one, two, built(Topics, saver, ("a", add(7))).invoke({"items": [3]}, CONFIG)


def case_the_memory_of_a_subgraph_comes_and_goes(env):
    saver, found = env.saver(), []
    for kept in (True, True, None, True, False, True):
        inner = built(Added, kept, ("c", lambda state: {"items": [len(state["items"])]}))

        def call(state, inner=inner):
            return {"n": len(inner.invoke({"items": ["x"]})["items"])}

        found.append(built(Plain, saver, ("inner", call)).invoke({"n": 0}, CONFIG)["n"])
    return found


def case_a_half_done_step_gets_one_node_more(env):
    saver, fails = env.saver(), [True]

    def failing(state):
        if fails:
            raise ValueError("once")
        return {"items": ["mended"]}

    nodes, edges = [("ok", add("ok")), ("then", failing)], [(START, "ok"), (START, "then")]
    first = built(Added, saver, *nodes, edges=edges)
    in_turn = {**CONFIG, "max_concurrency": 1}  # in the order of their names: "ok" is done by then
    error = env.error(lambda: first.invoke({"items": []}, in_turn))
    fails.clear()
    edges = [*edges, (START, "new"), (["ok", "then"], "end")]
    graph = built(Added, saver, *nodes, ("new", add("new")), ("end", add("end")), edges=edges)
    return error, graph.invoke(None, CONFIG), graph.invoke({}, CONFIG)
