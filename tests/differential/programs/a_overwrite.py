"""`Overwrite` and other reducers inside a graph."""

from operator import add, or_
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Overwrite


class State(TypedDict, total=False):
    log: Annotated[list, add]
    n: int


def side_by_side(**nodes):
    graph = StateGraph(State)
    for name, value in nodes.items():
        graph.add_node(name, lambda s, value=value: value)
        graph.add_edge(START, name)
    return graph.compile()


def of(annotation, *values, given):
    """A graph with one key `x`, written by parallel nodes."""
    graph = StateGraph(TypedDict("X", {"x": annotation}))
    for i, value in enumerate(values):
        graph.add_node(f"n{i}", lambda s, value=value: {"x": value})
        graph.add_edge(START, f"n{i}")
    return graph.compile().invoke(given)


def case_overwrite_alone(env):
    return side_by_side(a={"log": Overwrite(["new"])}).invoke({"log": ["old"]})


def case_overwrite_beats_siblings(env):
    return side_by_side(a={"log": ["a"]}, b={"log": Overwrite(["b"])}, c={"log": ["c"]}).invoke(
        {"log": ["old"]}
    )


def case_overwrite_as_dict(env):
    return side_by_side(a={"log": {"__overwrite__": ["new"]}}).invoke({"log": ["old"]})


def case_two_overwrites(env):
    app = side_by_side(a={"log": Overwrite([1])}, b={"log": Overwrite([2])})
    return env.error(lambda: app.invoke({"log": []}))


def case_overwrite_and_dict_form_together(env):
    app = side_by_side(a={"log": Overwrite([1])}, b={"log": {"__overwrite__": [2]}})
    return env.error(lambda: app.invoke({"log": []}))


def case_overwrite_as_input(env):
    return side_by_side(a={"log": ["a"]}).invoke({"log": Overwrite(["in"])})


def case_overwrite_without_reducer(env):
    return side_by_side(a={"n": Overwrite(5)}).invoke({"n": 1})


def case_overwrite_then_next_step_appends(env):
    graph = StateGraph(State)
    graph.add_node("a", lambda s: {"log": Overwrite(["reset"])})
    graph.add_node("b", lambda s: {"log": ["b"]})
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    app = graph.compile()
    return [app.invoke({"log": ["old"]}), list(app.stream({"log": ["old"]}))]


def case_overwrite_with_saver(env):
    app = StateGraph(State)
    app.add_node("a", lambda s: {"log": Overwrite(["a"])})
    app.add_edge(START, "a")
    app = app.compile(checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    first = app.invoke({"log": ["1"]}, config)
    app.update_state(config, {"log": Overwrite(["patched"])})
    return [first, app.get_state(config).values, app.invoke({"log": ["2"]}, config)]


def case_overwrite_equality(env):
    return [Overwrite([1]) == Overwrite([1]), Overwrite([1]) == Overwrite([2]), Overwrite([1])]


def case_reducer_of_int(env):
    return of(Annotated[int, add], 1, 2, 3, given={"x": 10})


def case_reducer_of_str(env):
    return of(Annotated[str, add], "b", "c", given={"x": "a"})


def case_reducer_of_set(env):
    return of(Annotated[set, or_], {1}, {2, 3}, given={"x": {0}})


def case_reducer_of_dict(env):
    return of(Annotated[dict, or_], {"b": 1}, {"a": 2}, given={"x": {"a": 0}})


def case_reducer_lambda(env):
    return of(Annotated[int, lambda a, b: max(a, b)], 7, 3, given={"x": 5})


def case_reducer_that_keeps_first(env):
    return of(Annotated[int, lambda a, b: a], 7, 3, given={"x": 5})


def case_reducer_of_optional_type(env):
    def merge(left, right):
        return [*(left or []), *(right or [])]

    keys = (list | None, list[int] | None)
    return [of(Annotated[k, merge], [1], None, given={"x": [0]}) for k in keys]


def case_reducer_with_none_input(env):
    def merge(left, right):
        return [*(left or []), *(right or [])]

    return [
        of(Annotated[list, merge], [1], given={"x": None}),
        of(Annotated[list, merge], [1], given={}),
    ]


def case_reducer_first_value_of_a_type_without_default(env):
    from datetime import date

    calls = []

    def later(left, right):
        calls.append((left, right))
        return max(left, right)

    result = of(Annotated[date, later], date(2024, 1, 2), given={"x": date(2024, 1, 1)})
    return [result, calls]


def case_reducer_error_in_a_graph(env):
    return env.error(lambda: of(Annotated[list, add], 5, given={"x": [1]}))


def case_reducer_calls_are_pairwise_in_order(env):
    calls = []

    def spy(left, right):
        calls.append((list(left), right))
        return [*left, right]

    return [of(Annotated[list, spy], "a", "b", given={"x": "in"}), calls]


def case_reducer_in_second_place_of_annotated(env):
    return of(Annotated[list, "a comment", add], [2], given={"x": [1]})


def case_annotated_without_callable(env):
    return of(Annotated[int, "only a comment"], 2, given={"x": 1})


def case_two_writes_to_a_last_value(env):
    return [
        env.error(lambda: of(int, 1, 2, given={"x": 0})),
        env.error(lambda: of(int, 1, 1, given={"x": 0})),
    ]


def case_one_of_two_writes_none(env):
    app = side_by_side(a={"n": None}, b={"log": [1]})
    return app.invoke({"n": 4})
