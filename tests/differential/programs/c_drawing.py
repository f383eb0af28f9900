"""What `get_graph()` says of graphs: nodes, edges, labels, and their Mermaid and ASCII pictures."""

import itertools
import re
from operator import add
from typing import Annotated, Literal, TypedDict

from langchain_core.runnables.graph import CurveStyle, Graph, NodeStyles
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send


class State(TypedDict):
    log: Annotated[list, add]


def node(state):
    return {"log": []}


def path(state):
    return "b"


def to_a_or_end(state) -> Literal["a", "__end__"]:
    return "a"


def to_a_or_b(state) -> Literal["a", "b"]:
    return "a"


def command(state) -> Command[Literal["a", "b"]]:
    return Command(goto="a")


def sends(state):
    return [Send("b", state)]


DEFERRED = {"defer": True}
ABC = ["a", "b", "c"]


def build(nodes, edges=(), choices=(), **options):
    """A graph of names (or of name, action and options), edges, and conditional edges."""
    graph = StateGraph(State)
    for one in nodes:
        name, action, more = (*((one,) if isinstance(one, str) else one), node, {})[:3]
        if isinstance(one, tuple) and len(one) == 2:
            name, action, more = one[0], one[1], {}
        graph.add_node(name, action, **more)
    for start, end in edges:
        graph.add_edge(start, end)
    for choice in choices:
        graph.add_conditional_edges(*choice)
    return graph.compile(**options)


def inner(*names):
    names = names or ("x", "y")
    return build(names, [(START, names[0]), *itertools.pairwise(names)])


def plain(graph):
    """A drawable graph as data; what nodes run has another class on each side."""
    shown = graph.to_json()
    for one in shown["nodes"]:
        if one.get("type") == "runnable":
            one["data"] = one["data"]["name"]
    first, last = graph.first_node(), graph.last_node()
    return shown, first and first.id, last and last.id


def drawn(app, **asked):
    graph = app.get_graph(**asked)
    return plain(graph), graph.draw_mermaid()


def case_chain(env):
    return drawn(build(ABC, [(START, "a"), ("a", "b"), ("b", "c"), ("c", END)]))


def case_ends_that_nobody_declared(env):
    return [
        drawn(build(ABC, [(START, "a"), ("a", "b"), ("a", "c")])),
        drawn(build(ABC, [(START, "a"), ("a", "b"), ("a", "c"), ("c", END)])),
        drawn(build(["a", "b"], [(START, "a"), ("a", "b"), ("a", END)])),
        drawn(build(["z", "y", "X"], [(START, "z"), ("z", "y"), ("z", "X")])),
        drawn(build(["a"], [(START, "a"), (START, END)])),
    ]


def case_conditional_edges(env):
    return [
        drawn(build(ABC, [(START, "a")], [("a", path, {"yes": "b", "no": "c", "stop": END})])),
        drawn(build(ABC, [(START, "a")], [("a", path, {"b": "b", "no": "c", "__end__": END})])),
        drawn(build(ABC, [(START, "a")], [("a", path, ["b", "c"])])),
        drawn(build(ABC, [(START, "a")], [("a", path, {True: "b", False: "c", None: "a"})])),
        drawn(build(ABC, [(START, "a")], [("a", path, {"yes": "b", "no": "b", "x": "c"})])),
        drawn(build(["a", "b"], [], [(START, path, {"x": "a", "y": "b", "z": END})])),
        drawn(build(["a", "b"], [(START, "b")], [("b", to_a_or_end)])),
    ]


def case_conditional_edges_that_do_not_say_where_to(env):
    return [
        drawn(build(["a", "b"], [(START, "a")], [("a", path)])),
        drawn(build(["a", "b"], [(START, "a"), ("a", "b")], [("b", path)])),
        drawn(build(["a", "b"], [], [(START, path)])),
        drawn(build(["a", "b"], [(START, "a")], [("a", sends)])),
        drawn(build(["a", "b"], [(START, "a")], [("a", sends, ["b"])])),
    ]


def case_several_edges_between_two_nodes(env):
    return [
        drawn(build(["a", "b"], [(START, "a"), ("a", "b")], [("a", path, {"q": "b"})])),
        drawn(build(["a", "b"], [(START, "a")], [("a", path, {"q": "b"}), ("a", to_a_or_b)])),
        drawn(build(ABC, [(START, "a")], [("a", path, {"x": "b"}), ("a", to_a_or_b, {"y": "b"})])),
        drawn(
            build(
                [("a", node, {"destinations": {"b": "D"}}), "b"],
                [(START, "a")],
                [("a", path, {"C": "b"})],
            )
        ),
    ]


def case_commands(env):
    return [
        drawn(build([("x", command), "a", "b"], [(START, "x")])),
        drawn(build([("x", node, {"destinations": ("a", "b")}), "a", "b"], [(START, "x")])),
        drawn(
            build(
                [("x", node, {"destinations": {"a": "first", "b": "b", END: "done"}}), "a", "b"],
                [(START, "x"), ("x", "a")],
            )
        ),
        drawn(
            build(
                [("boss", node, {"destinations": ("y", "z", END)}), "y", "z"],
                [(START, "boss"), ("y", "boss"), ("z", "boss")],
            )
        ),
    ]


def case_joins(env):
    return [
        drawn(build([*ABC, "d"], [(START, "a"), (START, "b"), (["a", "b"], "c"), ("c", "d")])),
        drawn(build([*ABC, "m"], [(START, "a"), (START, "m"), ("m", "b"), (["a", "b"], "c")])),
        drawn(build(ABC, [(START, "a"), (START, "b"), (["a", "b"], "c"), ("c", "a")])),
        drawn(build(ABC, [(START, "a"), (START, "b"), (["a", "b"], "c"), ("a", "c")])),
    ]


def case_loops(env):
    return [
        drawn(build(["a"], [(START, "a")], [("a", path, {"again": "a", "end": END})])),
        drawn(build(["a", "b"], [(START, "a"), ("b", "a")], [("a", path, ["b", END])])),
        drawn(build(ABC, [(START, "a"), ("b", "a"), ("c", "a")], [("a", path, ["b", "c", END])])),
        drawn(build(ABC, [(START, "a"), ("a", "b"), ("b", "a"), ("b", "c")])),
    ]


def case_loops_without_an_end(env):
    return [
        drawn(build(["a", "b"], [(START, "a"), ("a", "b"), ("b", "a")])),
        drawn(build(["a", "b"], [(START, "a"), ("a", "b"), ("b", "a"), ("a", END)])),
        drawn(build(ABC, [(START, "a"), ("a", "b"), ("b", "c"), ("c", "a")])),
        drawn(build(["a", "b"], [(START, "a"), ("b", "a")], [("a", path, ["b"])])),
        drawn(build(ABC, [(START, "a"), ("a", "b"), ("b", "c")], [("c", path, ["a"])])),
        drawn(
            build(
                [*ABC, "d"],
                [(START, "a"), (START, "c"), ("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")],
            )
        ),
        drawn(build(["a"], [(START, "a"), ("a", "a")])),
    ]


def case_what_nothing_leads_to_has_no_edges(env):
    return [
        drawn(build(ABC, [(START, "a"), ("b", "c")])),
        drawn(build(ABC, [(START, "a"), (["a", "b"], "c")])),
    ]


def case_deferred_nodes_follow_what_ran_last(env):
    late = ("c", node, DEFERRED)
    return [
        drawn(build(["a", "b", late], [(START, "a"), ("a", "b"), ("a", "c"), ("b", "c")])),
        drawn(build(["a", "b", late], [(START, "a"), (START, "b"), (START, "c")])),
        drawn(build(["a", "b", "d", late], [(START, "a"), ("a", "c"), ("a", "b"), ("b", "d")])),
        drawn(build(["a", "b", late], [(START, "a"), ("a", "b")], [("a", path, ["c"])])),
        drawn(build(["a", "b", "e", "f", late], [
            (START, "a"), (START, "b"), (START, "e"), ("e", "f"), (["a", "b"], "c")
        ])),
        drawn(build(["a", "b", late], [(START, "a"), ("a", "b"), ("a", "c"), ("c", "a")])),
    ]  # fmt: skip


def case_metadata_defer_and_interrupts_are_shown(env):
    nodes = [
        ("a", node, {"metadata": {"k": 1, "text": '<b>&"', "no": None, "list": [1, "x"]}}),
        ("b", node, {"defer": True, "metadata": {"owner": "me"}}),
        "c",
    ]
    edges = [(START, "a"), ("a", "b"), ("b", "c")]
    return [
        drawn(build(nodes, edges, interrupt_before=["b"], interrupt_after=["b", "c"])),
        drawn(build(nodes, edges, interrupt_before="*")),
    ]


def case_subgraphs_are_boxes_with_xray(env):
    app = build([("s", inner()), "t"], [(START, "s"), ("s", "t")])
    return [drawn(app, xray=depth) for depth in (False, True, 0, 1, 2)]


def case_nested_subgraphs(env):
    deep = build([("in", inner()), "z"], [(START, "in"), ("in", "z")])
    app = build([("d", deep), "t"], [(START, "d"), ("d", "t")], interrupt_before=["d"])
    return [drawn(app, xray=depth) for depth in (False, True, 1, 2)]


def case_subgraphs_with_several_ways_in_or_out(env):
    fan = build(["x", "y"], [(START, "x"), (START, "y")])
    choice = build(["x", "y"], [(START, "x")], [("x", path, {"go": "y", "no": END})])
    loop = build(["x", "y"], [(START, "x"), ("x", "y"), ("y", "x")])
    lost = build(["x", "y"], [(START, "x")])
    return [
        drawn(build([("s", one), "t"], [(START, "s"), ("s", "t")]), xray=True)
        for one in (fan, choice, loop, lost)
    ]


def case_loops_around_and_inside_subgraphs(env):
    again = {"again": "s", "t": "t"}
    loop = build(["x", "y"], [(START, "x")], [("x", path, {"x": "x", "go": "y"})])
    return [
        drawn(build([("s", one), "t"], [(START, "s")], [("s", path, again)]), xray=True)
        for one in (inner(), loop, build(["x", "y"], [(START, "x"), (START, "y")]))
    ]


INNER = inner("p", "q")


def calls_a_graph(state):
    return INNER.invoke(state)


async def awaits_a_graph(state):
    return await INNER.ainvoke(state)


def case_graphs_that_functions_call(env):
    def closes_over(graph):
        def call(state):
            return graph.invoke(state)

        return call

    return [
        drawn(build([("f", action), "t"], [(START, "f"), ("f", "t")]), xray=True)
        for action in (
            calls_a_graph,
            awaits_a_graph,
            closes_over(INNER),
            INNER.with_config(tags=["x"]),
        )
    ]


def case_names_that_need_escaping_in_ids(env):
    names = ["a b", "c-d", "e.f", "g/h", "ü", "100%", "3", "_x_", "*a*", "`c`", "_y", "~z~", "日本"]
    return drawn(build(names, [(START, "a b"), *itertools.pairwise(names)]))


def case_long_labels_are_wrapped(env):
    label = "a label of many words that goes on and on and on and does not end"
    app = build(["a", "b"], [(START, "a")], [("a", path, {label: "b", "short": END})])
    graph = app.get_graph()
    return [graph.draw_mermaid(wrap_label_n_words=words) for words in (1, 3, 9, 14, 50)]


def case_options_of_mermaid(env):
    graph = build(["a", "b"], [(START, "a"), ("a", "b")]).get_graph()
    return [
        graph.draw_mermaid(with_styles=False),
        graph.draw_mermaid(curve_style=CurveStyle.BASIS),
        graph.draw_mermaid(node_colors=NodeStyles(default="fill:#fff", first="x", last="y")),
        [style.value for style in CurveStyle],
        NodeStyles(),
    ]


def case_frontmatter(env):
    graph = build(["a"], [(START, "a")]).get_graph()
    return [
        graph.draw_mermaid(frontmatter_config=config)
        for config in (
            {},
            {"title": "hi", "config": {"theme": "neutral", "look": "handDrawn"}},
            {"config": {"flowchart": {"curve": "basis", "nodeSpacing": 5}}},
            {
                "config": {
                    "themeVariables": {"c": "#e2e2e2", "n": 5, "t": True, "e": "", "z": "a'b"}
                }
            },
            {"config": {"l": [1, "a"], "s": "a: b", "y": "yes", "none": None, "d": {}, "f": 1.5}},
            {"config": {"num": "5", "space": " x", "font": "Arial, sans-serif", "x": "1px"}},
        )
    ]


def case_ascii_of_graphs_without_loops(env):
    shapes = [
        build(["a"], [(START, "a")]),
        inner("ab", "c", "a_long_name"),
        build(["a", "b"], [(START, "a"), (START, "b")]),
        build(["a", "b"], [(START, "a")], [("a", path, {"x": "b"})]),
    ]
    return [shape.get_graph().draw_ascii() for shape in shapes]


def case_messages_graph_of_the_docs(env):
    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda state: {})
    graph.add_node("tools", lambda state: {})
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", path, {"continue": "tools", "end": END})
    graph.add_edge("tools", "agent")
    return drawn(graph.compile())


def case_entrypoint(env):
    @task
    def work(x):
        return x

    @entrypoint()
    def flow(x):
        return work(x).result()

    return drawn(flow)


def case_graph_over_channels(env):
    from langgraph.channels import LastValue
    from langgraph.pregel import NodeBuilder, Pregel

    app = Pregel(
        nodes={
            "one": NodeBuilder().subscribe_only("a").do(str.upper).write_to("b"),
            "two": NodeBuilder().subscribe_only("b").do(str.lower).write_to("c"),
        },
        channels={name: LastValue(str) for name in "abc"},
        input_channels="a",
        output_channels="c",
    )
    return sorted((e.source, e.target) for e in app.get_graph().edges)


async def case_async(env):
    app = build([("s", inner()), "t"], [(START, "s"), ("s", "t")])
    return [plain(await app.aget_graph(xray=xray)) for xray in (False, True)]


def case_config_does_not_change_the_graph(env):
    app = build(["a"], [(START, "a")])
    return plain(app.get_graph({"configurable": {"thread_id": "1"}, "metadata": {"m": 1}}))


# --- graphs made by hand ---------------------------------------------------------------------


def by_hand(nodes, edges):
    graph = Graph()
    made = {name: graph.add_node(None, id=name) for name in nodes}
    for source, target, *more in edges:
        graph.add_edge(made[source], made[target], *more)
    return graph


def case_ends_of_graphs_made_by_hand(env):
    graph = by_hand("abc", [("a", "b"), ("b", "c"), ("a", "c", 3, True)])
    results = [plain(graph), bool(graph), bool(Graph())]
    graph.trim_first_node()
    graph.trim_last_node()
    results.append(plain(graph))
    chain = by_hand("abc", [("a", "b"), ("b", "c")])
    chain.trim_first_node()
    results.append(plain(chain))
    chain.trim_last_node()
    results.append(plain(chain))
    loop = by_hand("abc", [("a", "b"), ("b", "c"), ("c", "b")])
    loop.trim_first_node()
    results.append(plain(loop))
    loop.remove_node(loop.nodes["b"])
    return [*results, plain(loop)]


def case_extend_and_reid(env):
    graph = by_hand("ab", [("a", "b")])
    first, last = graph.extend(by_hand("mn", [("m", "n")]), prefix="box")
    nameless = Graph()
    one, other = nameless.add_node(None), nameless.add_node(None)
    nameless.add_edge(one, other)
    graph.extend(nameless, prefix="unused")
    found = graph.extend(Graph(), prefix="x")
    ids = [name if len(name) < 32 else "unique" for name in graph.nodes]
    return plain(graph)[0]["edges"][:2], (first.id, last.id), found, ids, len(graph.next_id())


def case_copies_of_nodes_and_edges(env):
    graph = by_hand("ab", [("a", "b", "label")])
    node, edge = graph.nodes["a"], graph.edges[0]
    return [
        tuple(node.copy(id="z")),
        tuple(node.copy(name="y")),
        tuple(edge.copy(source="c")),
        tuple(edge.copy(target="d")),
    ]


def case_mistakes_with_graphs_made_by_hand(env):
    graph, other = by_hand("a", []), by_hand("z", [])
    return [
        env.error(lambda: graph.add_node(None, id="a")),
        env.error(lambda: graph.add_edge(graph.nodes["a"], other.nodes["z"])),
        env.error(lambda: graph.add_edge(other.nodes["z"], graph.nodes["a"])),
        env.error(lambda: graph.draw_mermaid_png(draw_method="no such method")),
        env.error(lambda: Graph().draw_ascii()),
    ]


def case_labels_of_edges_made_by_hand(env):
    edges = [("a", "b"), ("b", "c", "label"), ("a", "c", 3, True), ("c", "d", "  two  spaces ")]
    return by_hand("abcd", edges).draw_mermaid()


def case_print_ascii(env):
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        by_hand(["left", "right"], [("left", "right")]).print_ascii()
    return printed.getvalue()


def case_ids_of_nodes_of_runnables_are_unique(env):
    graph = Graph()
    ids = {graph.next_id() for _ in range(5)}
    return len(ids), all(re.fullmatch("[0-9a-f]{32}", one) for one in ids)


# --- where plait differs, by a row in docs/compatibility.md ----------------------------------


def case_names_that_are_syntax_or_markup(env):
    names = ["(par)", "[x]", "<script>alert(1)</script>", 'quo"te', "end", "a#b", "a"]
    edges = [(START, "(par)"), *itertools.pairwise(names)]
    app = build(names, edges, [("a", path, {"<b>": "end"})])
    return app.get_graph().draw_mermaid()


def case_graphs_of_one_name_in_two_boxes(env):
    twice = build([("in", inner()), ("in2", inner())], [(START, "in"), ("in", "in2")])
    app = build([("a", twice), ("b", twice)], [(START, "a"), ("a", "b")])
    return env.error(lambda: app.get_graph(xray=True).draw_mermaid())


def case_nodes_of_one_name_in_two_boxes(env):
    app = build([("s", inner("only")), ("t", inner("only"))], [(START, "s"), ("s", "t")])
    return app.get_graph(xray=True).draw_mermaid()


def case_boxes_that_hold_one_box(env):
    deep = build([("in", inner("x"))], [(START, "in")])
    return build([("d", deep), "t"], [(START, "d"), ("d", "t")]).get_graph(xray=True).draw_mermaid()


def case_long_graphs(env):
    names = [f"n{number}" for number in range(300)]
    return len(build(names, [(START, "n0"), *itertools.pairwise(names)]).get_graph().edges)


def case_ascii_of_a_node_that_leads_to_itself(env):
    app = build(["a"], [(START, "a")], [("a", path, {"again": "a", "end": END})])
    return env.error(lambda: app.get_graph().draw_ascii())


def case_classes_of_nodes_in_json(env):
    return build(["a"], [(START, "a")]).get_graph().to_json()
