"""interrupt(): questions in nodes and helpers, in sequence, parallel and fan-outs; answers."""

import operator
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


def add(value):
    return lambda state: {"items": [value]}


def asks(name, *questions):
    def node(state):
        return {"items": [[name, [interrupt(q) for q in questions]]]}

    return node


def aasks(name, *questions):
    async def node(state):
        return {"items": [[name, [interrupt(q) for q in questions]]]}

    return node


def chain(saver, *nodes, **options):
    """A graph of named nodes, one after the other."""
    builder = StateGraph(State)
    builder.add_sequence(list(nodes))
    builder.add_edge(START, nodes[0][0])
    return builder.compile(checkpointer=saver, **options)


def parallel(saver, **nodes):
    """START fans out to every node; all join in `z`."""
    builder = StateGraph(State)
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(START, name)
    builder.add_node("z", add("z"))
    builder.add_edge(list(nodes), "z")
    return builder.compile(checkpointer=saver)


def fan_out(saver, node, count=3):
    builder = StateGraph(State)
    builder.add_node("w", node)
    builder.add_conditional_edges(
        START, lambda state: [Send("w", {"x": i}) for i in range(count)], ["w"]
    )
    return builder.compile(checkpointer=saver)


def plain(result):
    """A result with its interrupts in the order of their questions, not of their arrival."""
    found = result.pop("__interrupt__", None)
    return result, found and sorted(found, key=lambda i: str(i.value))


def case_question_in_the_result(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", {"q": "go?"})))
    return graph.invoke({"items": ["i"]}, CONFIG)


async def case_question_in_the_result_async(env):
    async with env.asaver() as saver:
        graph = chain(saver, ("a", add("a")), ("ask", aasks("ask", {"q": "go?"})))
        first = await graph.ainvoke({"items": ["i"]}, CONFIG)
        return first, await graph.ainvoke(Command(resume="yes"), CONFIG)


def case_answer_continues(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q")), ("z", add("z")))
    graph.invoke({"items": []}, CONFIG)
    return graph.invoke(Command(resume="yes"), CONFIG), graph.get_state(CONFIG)


def case_several_in_one_node_answered_in_order(env):
    graph = chain(env.saver(), ("ask", asks("ask", "q1", "q2", "q3")))
    results = [graph.invoke({"items": []}, CONFIG)]
    for answer in ("A", "B", "C"):
        results.append(graph.invoke(Command(resume=answer), CONFIG))
    return results


async def case_several_in_one_node_answered_in_order_async(env):
    async with env.asaver() as saver:
        graph = chain(saver, ("ask", aasks("ask", "q1", "q2")))
        results = [await graph.ainvoke({"items": []}, CONFIG)]
        for answer in ("A", "B"):
            results.append(await graph.ainvoke(Command(resume=answer), CONFIG))
        return results


def case_node_runs_again_from_its_top(env):
    runs = []

    def node(state):
        runs.append("top")
        first = interrupt("q1")
        runs.append(first)
        second = interrupt("q2")
        runs.append(second)
        return {"items": [first, second]}

    graph = chain(env.saver(), ("ask", node))
    graph.invoke({"items": []}, CONFIG)
    graph.invoke(Command(resume="A"), CONFIG)
    graph.invoke(Command(resume="B"), CONFIG)
    return runs


def case_question_in_a_helper(env):
    def approve(tool, args):
        return interrupt({"tool": tool, "args": args})

    def node(state):
        return {"items": [approve("search", {"q": 1}), approve("mail", {"to": "me"})]}

    graph = chain(env.saver(), ("tools", node))
    return [
        graph.invoke({"items": []}, CONFIG),
        graph.invoke(Command(resume="ok"), CONFIG),
        graph.invoke(Command(resume="no"), CONFIG),
    ]


async def case_question_in_an_async_helper(env):
    async def approve(tool):
        return interrupt(tool)

    async def node(state):
        return {"items": [await approve("search")]}

    async with env.asaver() as saver:
        graph = chain(saver, ("tools", node))
        first = await graph.ainvoke({"items": []}, CONFIG)
        return first, await graph.ainvoke(Command(resume="ok"), CONFIG)


async def case_sync_node_asks_in_an_async_run(env):
    async with env.asaver() as saver:
        graph = chain(saver, ("ask", asks("ask", "q")))
        first = await graph.ainvoke({"items": []}, CONFIG)
        return first, await graph.ainvoke(Command(resume="ok"), CONFIG)


def case_parallel_questions_surface_together(env):
    graph = parallel(env.saver(), a=asks("a", "qa"), b=asks("b", "qb"), c=add("c"))
    first = plain(graph.invoke({"items": []}, CONFIG))
    return first, graph.get_state(CONFIG)


async def case_parallel_questions_surface_together_async(env):
    async with env.asaver() as saver:
        graph = parallel(saver, a=aasks("a", "qa"), b=aasks("b", "qb"), c=add("c"))
        first = plain(await graph.ainvoke({"items": []}, CONFIG))
        snapshot = await graph.aget_state(CONFIG)
        answers = {i.id: i.value.upper() for i in snapshot.interrupts}
        return first, snapshot, await graph.ainvoke(Command(resume=answers), CONFIG)


def case_b16_scalar_with_several_pending(env):
    graph = parallel(env.saver(), a=asks("a", "qa"), b=asks("b", "qb"))
    graph.invoke({"items": []}, CONFIG)
    error = env.error(lambda: graph.invoke(Command(resume="x"), CONFIG))
    return error, graph.get_state(CONFIG)


async def case_b16_scalar_with_several_pending_async(env):
    async with env.asaver() as saver:
        graph = parallel(saver, a=aasks("a", "qa"), b=aasks("b", "qb"))
        await graph.ainvoke({"items": []}, CONFIG)
        return await env.aerror(graph.ainvoke(Command(resume="x"), CONFIG))


def case_b17_mapping_answers_several_at_once(env):
    graph = parallel(env.saver(), a=asks("a", "qa"), b=asks("b", "qb"))
    graph.invoke({"items": []}, CONFIG)
    answers = {i.id: i.value.upper() for i in graph.get_state(CONFIG).interrupts}
    return graph.invoke(Command(resume=answers), CONFIG)


def case_mapping_answers_one_of_two_then_scalar(env):
    graph = parallel(env.saver(), a=asks("a", "qa"), b=asks("b", "qb"), c=add("c"))
    graph.invoke({"items": []}, CONFIG)
    second = graph.get_state(CONFIG).interrupts[1]
    partly = graph.invoke(Command(resume={second.id: "B"}), CONFIG)
    between = graph.get_state(CONFIG)
    return partly, between, graph.invoke(Command(resume="A"), CONFIG), graph.get_state(CONFIG)


def case_b18_several_nodes_with_several_questions(env):
    graph = parallel(env.saver(), a=asks("a", "a1", "a2"), b=asks("b", "b1", "b2"))
    rounds = [plain(graph.invoke({"items": []}, CONFIG))]
    for number in (1, 2):
        answers = {i.id: f"{i.value}-{number}" for i in graph.get_state(CONFIG).interrupts}
        rounds.append(plain(graph.invoke(Command(resume=answers), CONFIG)))
    return rounds


def case_fan_out_questions(env):
    graph = fan_out(env.saver(), lambda s: {"items": [[s["x"], interrupt(f"q{s['x']}")]]})
    first = plain(graph.invoke({"items": []}, CONFIG))
    snapshot = graph.get_state(CONFIG)
    answers = {i.id: i.value.upper() for i in snapshot.interrupts}
    return first, snapshot, graph.invoke(Command(resume=answers), CONFIG), graph.get_state(CONFIG)


async def case_fan_out_questions_async(env):
    async def node(state):
        return {"items": [[state["x"], interrupt(f"q{state['x']}")]]}

    async with env.asaver() as saver:
        graph = fan_out(saver, node)
        first = plain(await graph.ainvoke({"items": []}, CONFIG))
        snapshot = await graph.aget_state(CONFIG)
        answers = {i.id: i.value.upper() for i in snapshot.interrupts}
        return first, snapshot, await graph.ainvoke(Command(resume=answers), CONFIG)


def case_fan_out_where_some_ask(env):
    calls = []

    def node(state):
        calls.append(state["x"])
        if state["x"] % 2:
            return {"items": [[state["x"], interrupt(f"q{state['x']}")]]}
        return {"items": [state["x"]]}

    graph = fan_out(env.saver(), node, count=4)
    first = plain(graph.invoke({"items": []}, CONFIG))
    snapshot = graph.get_state(CONFIG)
    answers = {i.id: "ok" for i in snapshot.interrupts}
    return first, snapshot.next, graph.invoke(Command(resume=answers), CONFIG), sorted(calls)


def case_questions_have_distinct_ids(env):
    graph = parallel(env.saver(), a=asks("a", "same"), b=asks("b", "same"))
    graph.invoke({"items": []}, CONFIG)
    ids = [i.id for i in graph.get_state(CONFIG).interrupts]
    graph.invoke({"items": []}, {"configurable": {"thread_id": "2"}})
    other = [i.id for i in graph.get_state({"configurable": {"thread_id": "2"}}).interrupts]
    return len(set(ids)), len(set(ids) | set(other)), [(type(i).__name__, len(i)) for i in ids]


def case_id_is_stable_until_answered(env):
    graph = chain(env.saver(), ("ask", asks("ask", "q1", "q2")))
    first = graph.invoke({"items": []}, CONFIG)["__interrupt__"][0].id
    again = graph.invoke(None, CONFIG)["__interrupt__"][0].id
    snapshot = graph.get_state(CONFIG).interrupts[0].id
    second = graph.invoke(Command(resume="A"), CONFIG)["__interrupt__"][0].id
    return first == again, again == snapshot, first == second


def case_none_asks_again(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q")))
    graph.invoke({"items": []}, CONFIG)
    return graph.invoke(None, CONFIG), graph.get_state(CONFIG)


def case_falsy_scalars_are_answers(env):
    results = []
    for number, answer in enumerate([0, "", False, [], 0.0]):
        graph = chain(env.saver(), ("ask", asks("ask", "q")))
        config = {"configurable": {"thread_id": str(number)}}
        graph.invoke({"items": []}, config)
        results.append(graph.invoke(Command(resume=answer), config))
    return results


def case_falsy_values_in_a_mapping_are_answers(env):
    results = []
    for number, answer in enumerate([0, "", False, [], None, {}]):
        graph = chain(env.saver(), ("ask", asks("ask", "q")))
        config = {"configurable": {"thread_id": str(number)}}
        asked = graph.invoke({"items": []}, config)["__interrupt__"][0]
        results.append(graph.invoke(Command(resume={asked.id: answer}), config))
    return results


def case_a_dict_without_ids_is_a_scalar(env):
    graph = chain(env.saver(), ("ask", asks("ask", "q")))
    graph.invoke({"items": []}, CONFIG)
    return graph.invoke(Command(resume={"type": "accept", "args": None}), CONFIG)


def case_falsy_questions(env):
    results = []
    for number, question in enumerate([None, 0, "", {}, []]):
        graph = chain(env.saver(), ("ask", asks("ask", question)))
        config = {"configurable": {"thread_id": str(number)}}
        results.append(graph.invoke({"items": []}, config))
        results.append(graph.invoke(Command(resume="ok"), config))
    return results


def case_resume_with_update(env):
    def node(state):
        return {"items": [[interrupt("q"), list(state["items"]), state.get("x")]]}

    graph = chain(env.saver(), ("a", add("a")), ("ask", node), ("z", add("z")))
    graph.invoke({"items": []}, CONFIG)
    result = graph.invoke(Command(resume="R", update={"items": ["U"], "x": 7}), CONFIG)
    return result, list(graph.get_state_history(CONFIG))


def case_resume_with_goto(env):
    builder = StateGraph(State)
    builder.add_sequence([("a", add("a")), ("ask", asks("ask", "q")), ("z", add("z"))])
    builder.add_node("other", add("other"))
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    result = graph.invoke(Command(resume="R", goto="other"), CONFIG)
    return result, [(s.metadata, s.next, s.values) for s in graph.get_state_history(CONFIG)]


def case_resume_with_goto_send(env):
    builder = StateGraph(State)
    builder.add_sequence([("a", add("a")), ("ask", asks("ask", "q"))])
    builder.add_node("other", lambda state: {"items": [["other", state]]})
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    return graph.invoke(Command(resume="R", goto=Send("other", {"x": 5})), CONFIG)


def case_update_alone_asks_again_with_it(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q")))
    graph.invoke({"items": []}, CONFIG)
    second = graph.invoke(Command(update={"items": ["U"]}), CONFIG)
    return second, graph.get_state(CONFIG).values, graph.invoke(Command(resume="R"), CONFIG)


def case_update_as_pairs(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q")))
    graph.invoke({"items": []}, CONFIG)
    return graph.invoke(Command(resume="R", update=[("items", ["T"]), ("x", 2)]), CONFIG)


def case_node_returns_command_after_the_answer(env):
    def node(state):
        approved = interrupt("approve?")
        return Command(goto="yes" if approved else "no", update={"items": [approved]})

    builder = StateGraph(State)
    builder.add_node("ask", node)
    builder.add_node("yes", add("yes"))
    builder.add_node("no", add("no"))
    builder.add_edge(START, "ask")
    results = []
    graph = builder.compile(checkpointer=env.saver())
    for number, answer in enumerate([True, False]):
        config = {"configurable": {"thread_id": str(number)}}
        graph.invoke({"items": []}, config)
        results.append(graph.invoke(Command(resume=answer), config))
    return results


def case_exception_after_the_answer(env):
    runs = []

    def node(state):
        answer = interrupt("q")
        runs.append(answer)
        if len(runs) == 1:
            raise ValueError("after the answer")
        return {"items": [answer]}

    graph = chain(env.saver(), ("ask", node))
    graph.invoke({"items": []}, CONFIG)
    error = env.error(lambda: graph.invoke(Command(resume="A"), CONFIG))
    failed = graph.get_state(CONFIG)
    return error, failed, graph.invoke(None, CONFIG), runs


def case_answer_survives_a_crash_with_two_questions(env):
    runs = []

    def node(state):
        first = interrupt("q1")
        second = interrupt("q2")
        runs.append((first, second))
        if len(runs) == 1:
            raise ValueError("once")
        return {"items": [first, second]}

    graph = chain(env.saver(), ("ask", node))
    graph.invoke({"items": []}, CONFIG)
    graph.invoke(Command(resume="A"), CONFIG)
    error = env.error(lambda: graph.invoke(Command(resume="B"), CONFIG))
    return error, graph.invoke(None, CONFIG), runs


def case_question_inside_try_except_of_another_error(env):
    def node(state):
        try:
            answer = interrupt("q")
        except KeyError:
            answer = "swallowed"
        return {"items": [answer]}

    graph = chain(env.saver(), ("ask", node))
    return graph.invoke({"items": []}, CONFIG), graph.invoke(Command(resume="A"), CONFIG)


def case_b20_finished_sibling_does_not_consume(env):
    calls = []

    def quick(state):
        calls.append("quick")
        return {"items": ["quick"]}

    def later(state):
        return {"items": [["later", interrupt("later?")]]}

    builder = StateGraph(State)
    builder.add_node("quick", quick)
    builder.add_node("ask", asks("ask", "q"))
    builder.add_node("later", later)
    builder.add_edge(START, "quick")
    builder.add_edge(START, "ask")
    builder.add_edge(["quick", "ask"], "later")
    graph = builder.compile(checkpointer=env.saver())
    return (
        graph.invoke({"items": []}, CONFIG),
        graph.invoke(Command(resume="A"), CONFIG),
        graph.invoke(Command(resume="B"), CONFIG),
        calls,
    )


def case_answer_is_not_reused_by_the_next_node(env):
    graph = chain(env.saver(), ("one", asks("one", "q1")), ("two", asks("two", "q2")))
    return (
        graph.invoke({"items": []}, CONFIG),
        graph.invoke(Command(resume="A"), CONFIG),
        graph.invoke(Command(resume="B"), CONFIG),
    )


def case_loop_asks_every_round(env):
    def node(state):
        return {"items": [interrupt(f"round {len(state['items'])}")]}

    builder = StateGraph(State)
    builder.add_node("ask", node)
    builder.add_edge(START, "ask")
    builder.add_conditional_edges("ask", lambda s: END if len(s["items"]) == 3 else "ask")
    graph = builder.compile(checkpointer=env.saver())
    results = [graph.invoke({"items": []}, CONFIG)]
    results += [graph.invoke(Command(resume=n), CONFIG) for n in range(3)]
    return results, list(graph.get_state_history(CONFIG))


def case_loop_inside_a_node_until_valid(env):
    def node(state):
        question = "age?"
        while True:
            answer = interrupt(question)
            if isinstance(answer, int):
                return {"x": answer}
            question = f"not a number: {answer!r}"

    graph = chain(env.saver(), ("ask", node))
    return (
        graph.invoke({"items": []}, CONFIG),
        graph.invoke(Command(resume="ten"), CONFIG),
        graph.invoke(Command(resume="eleven"), CONFIG),
        graph.invoke(Command(resume=12), CONFIG),
    )


def case_without_checkpointer(env):
    graph = chain(None, ("a", add("a")), ("ask", asks("ask", "q")))
    return (
        graph.invoke({"items": []}),
        env.error(lambda: graph.invoke(Command(resume="A"))),
        env.error(lambda: graph.get_state(CONFIG)),
    )


async def case_without_checkpointer_async(env):
    graph = chain(None, ("a", add("a")), ("ask", aasks("ask", "q")))
    return (
        await graph.ainvoke({"items": []}),
        await env.aerror(graph.ainvoke(Command(resume="A"))),
        await env.aerror(graph.aget_state(CONFIG)),
    )


def case_resume_of_an_unknown_id(env):
    graph = chain(env.saver(), ("ask", asks("ask", "q")))
    graph.invoke({"items": []}, CONFIG)
    return graph.invoke(Command(resume={"f" * 32: "A"}), CONFIG)


def case_resume_of_a_finished_thread(env):
    graph = chain(env.saver(), ("ask", asks("ask", "q")))
    graph.invoke({"items": []}, CONFIG)
    graph.invoke(Command(resume="A"), CONFIG)
    return graph.invoke(Command(resume="B"), CONFIG), len(list(graph.get_state_history(CONFIG)))


def case_resume_of_an_empty_thread(env):
    graph = chain(env.saver(), ("ask", asks("ask", "q")))
    return graph.invoke(Command(resume="A"), CONFIG)


def case_answered_question_stays_in_the_history(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q")))
    graph.invoke({"items": []}, CONFIG)
    graph.invoke(Command(resume="A"), CONFIG)
    return list(graph.get_state_history(CONFIG))


def case_b19_replay_from_before_asks_again(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q1", "q2")), ("z", add("z")))
    graph.invoke({"items": []}, CONFIG)
    graph.invoke(Command(resume="A"), CONFIG)
    graph.invoke(Command(resume="B"), CONFIG)
    before = next(s for s in graph.get_state_history(CONFIG) if s.next == ("a",))
    again = graph.invoke(None, before.config)
    return (
        again,
        graph.get_state(CONFIG),
        graph.invoke(Command(resume="C"), CONFIG),
        graph.invoke(Command(resume="D"), CONFIG),
    )


def case_replay_of_the_asking_checkpoint(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q")), ("z", add("z")))
    graph.invoke({"items": []}, CONFIG)
    graph.invoke(Command(resume="A"), CONFIG)
    asking = next(s for s in graph.get_state_history(CONFIG) if s.next == ("ask",))
    again = graph.invoke(None, asking.config)
    return again, graph.invoke(Command(resume="B"), CONFIG)


def case_fork_of_the_asking_checkpoint_gets_another_answer(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q")), ("z", add("z")))
    graph.invoke({"items": []}, CONFIG)
    graph.invoke(Command(resume="A"), CONFIG)
    asking = next(s for s in graph.get_state_history(CONFIG) if s.next == ("ask",))
    fork = graph.update_state(asking.config, {"items": ["F"]})
    return graph.invoke(None, fork), graph.invoke(Command(resume="B"), CONFIG)


def case_new_input_while_asked(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q")))
    graph.invoke({"items": ["1"]}, CONFIG)
    second = graph.invoke({"items": ["2"]}, CONFIG)
    return second, graph.invoke(Command(resume="A"), CONFIG), list(graph.get_state_history(CONFIG))


def case_update_state_while_asked(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q")), ("z", add("z")))
    graph.invoke({"items": []}, CONFIG)
    graph.update_state(CONFIG, {"items": ["U"]})
    updated = graph.get_state(CONFIG)
    return updated, graph.invoke(None, CONFIG), graph.invoke(Command(resume="A"), CONFIG)


def case_update_state_as_the_asking_node(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q")), ("z", add("z")))
    graph.invoke({"items": []}, CONFIG)
    graph.update_state(CONFIG, {"items": ["by hand"]}, as_node="ask")
    return graph.get_state(CONFIG), graph.invoke(None, CONFIG)


def case_answer_from_a_fresh_graph(env):
    def make():
        return chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q1", "q2")))

    return (
        make().invoke({"items": []}, CONFIG),
        make().invoke(Command(resume="A"), CONFIG),
        make().get_state(CONFIG),
        make().invoke(Command(resume="B"), CONFIG),
    )


def case_streams_of_a_question(env):
    found = {}
    for mode in ("values", "updates", "tasks", "debug", "checkpoints"):
        graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q")), ("z", add("z")))
        config = {"configurable": {"thread_id": mode}}
        found[mode] = [
            list(graph.stream({"items": ["i"]}, config, stream_mode=mode)),
            list(graph.stream(Command(resume="A"), config, stream_mode=mode)),
        ]
    return found


async def case_streams_of_a_question_async(env):
    found = {}
    async with env.asaver() as saver:
        for mode in ("values", "updates", "tasks", "debug", "checkpoints"):
            graph = chain(saver, ("a", add("a")), ("ask", aasks("ask", "q")), ("z", add("z")))
            config = {"configurable": {"thread_id": mode}}
            found[mode] = [
                [p async for p in graph.astream({"items": ["i"]}, config, stream_mode=mode)],
                [p async for p in graph.astream(Command(resume="A"), config, stream_mode=mode)],
            ]
    return found


def case_b12_question_in_values_and_updates(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q1", "q2")))
    modes = ["values", "updates"]
    return [
        list(graph.stream({"items": []}, CONFIG, stream_mode=modes)),
        list(graph.stream(Command(resume="A"), CONFIG, stream_mode=modes)),
        list(graph.stream(Command(resume="B"), CONFIG, stream_mode=modes)),
    ]


def case_b13_resume_first_emits_values_again(env):
    graph = chain(env.saver(), ("a", add("a")), ("ask", asks("ask", "q")), ("z", add("z")))
    graph.invoke({"items": []}, CONFIG)
    command = Command(resume="A", update={"items": ["U"]})
    return list(graph.stream(command, CONFIG, stream_mode="values"))


def case_kept_sibling_is_emitted_as_cached(env):
    graph = parallel(env.saver(), ask=asks("ask", "q"), c=add("c"))
    graph.invoke({"items": []}, CONFIG)
    return {
        "resume": list(graph.stream(Command(resume="A"), CONFIG, stream_mode=["updates", "values"]))
    }


def case_kept_sibling_in_the_tasks_stream(env):
    graph = parallel(env.saver(), ask=asks("ask", "q"), c=add("c"))
    graph.invoke({"items": []}, CONFIG)
    return list(graph.stream(Command(resume="A"), CONFIG, stream_mode="tasks"))


def case_question_in_a_subgraph(env):
    builder = StateGraph(State)
    builder.add_sequence([("s1", add("s1")), ("ask", asks("ask", "q1", "q2"))])
    builder.add_edge(START, "s1")
    outer = StateGraph(State)
    outer.add_node("sub", builder.compile())
    outer.add_node("z", add("z"))
    outer.add_edge(START, "sub")
    outer.add_edge("sub", "z")
    graph = outer.compile(checkpointer=env.saver())
    return (
        graph.invoke({"items": ["i"]}, CONFIG),
        graph.get_state(CONFIG).next,
        graph.invoke(Command(resume="A"), CONFIG),
        graph.invoke(Command(resume="B"), CONFIG),
    )


def case_question_in_a_graph_called_by_a_node(env):
    builder = StateGraph(State)
    builder.add_node("ask", asks("ask", "q"))
    builder.add_edge(START, "ask")
    inner = builder.compile()

    def node(state):
        return {"items": [["outer", inner.invoke({"items": ["inner"]})["items"]]]}

    graph = chain(env.saver(), ("call", node))
    return graph.invoke({"items": []}, CONFIG), graph.invoke(Command(resume="A"), CONFIG)


def case_complex_values_in_questions_and_answers(env):
    question = {"list": [1, [2, 3]], "nested": {"k": {"a", "b"}}, "bytes": b"\x00\x01", "f": 1.5}
    graph = chain(env.saver(), ("ask", asks("ask", question)))
    graph.invoke({"items": []}, CONFIG)
    asked = chain(env.saver(), ("ask", asks("ask", question))).get_state(CONFIG).interrupts
    return asked, graph.invoke(Command(resume=question), CONFIG)


def case_memory_saver_made_by_the_program(env):
    graph = chain(InMemorySaver(), ("ask", asks("ask", "q")))
    return graph.invoke({"items": []}, CONFIG), graph.invoke(Command(resume="A"), CONFIG)
