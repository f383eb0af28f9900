"""State schemas: TypedDict, dataclass, pydantic, plain dict and root states, and their defaults."""

import dataclasses
from operator import add
from typing import Annotated, Any, NotRequired, Required, TypedDict

from langgraph.channels import AnyValue, EphemeralValue, LastValue, Topic, UntrackedValue
from langgraph.graph import END, START, StateGraph
from langgraph.managed import IsLastStep, RemainingSteps
from pydantic import BaseModel, Field, field_validator
from typing_extensions import ReadOnly


def chain(schema, *nodes, **options):
    """A compiled graph whose nodes run one after the other, named n0, n1..."""
    graph = StateGraph(schema, **options)
    for i, node in enumerate(nodes):
        graph.add_node(f"n{i}", node)
        graph.add_edge(f"n{i - 1}" if i else START, f"n{i}")
    graph.add_edge(f"n{len(nodes) - 1}", END)
    return graph.compile()


class Flags(TypedDict, total=False):
    a: int
    b: Required[str]
    c: NotRequired[list[int]]
    d: ReadOnly[int]


class Total(TypedDict):
    a: int
    b: NotRequired[str]
    c: Annotated[list[int], add]
    d: Required[Annotated[int, add]]
    e: Annotated[NotRequired[int], add]


def case_typed_dict_qualifiers(env):
    seen = []

    def node(state):
        seen.append(dict(state))
        return {"c": [1], "d": 2}

    return [chain(Flags, node).invoke({"b": "x"}), seen]


def case_typed_dict_reducers_under_qualifiers(env):
    seen = []

    def node(state):
        seen.append(dict(state))
        return {"c": [2], "d": 5, "e": 1}

    app = chain(Total, node, node)
    return [app.invoke({"a": 1}), app.invoke({"a": 1, "c": [0], "d": 1, "e": 1}), seen]


def case_typed_dict_inheritance(env):
    class Base(TypedDict):
        log: Annotated[list[str], add]

    class Child(Base):
        name: str

    app = chain(Child, lambda s: {"log": [s["name"]]}, lambda s: {"log": ["end"], "name": "z"})
    return app.invoke({"name": "ann", "log": ["in"]})


def case_missing_key_in_node(env):
    app = chain(Flags, lambda state: {"a": state["a"] + 1})
    return env.error(lambda: app.invoke({"b": "x"}))


def case_unset_keys_are_absent_from_output(env):
    app = chain(Flags, lambda state: {"a": None})
    return app.invoke({"b": "x"})


def case_unknown_input_keys_are_ignored(env):
    app = chain(Flags, lambda state: {"a": len(state)})
    return app.invoke({"b": "x", "unknown": 3})


def case_unknown_update_keys_are_ignored(env):
    app = chain(Flags, lambda state: {"a": 1, "nowhere": 2})
    return app.invoke({"b": "x"})


def case_input_of_only_unknown_keys(env):
    app = chain(Flags, lambda state: {"a": 1})
    return env.error(lambda: app.invoke({"nowhere": 1}))


def case_last_value_annotation(env):
    class State(TypedDict):
        a: Annotated[int, LastValue]
        b: Annotated[int, LastValue(int)]

    return chain(State, lambda s: {"a": s["a"] + 1, "b": s["b"] * 2}).invoke({"a": 1, "b": 2})


def case_ephemeral_annotation(env):
    class State(TypedDict):
        a: int
        tmp: Annotated[int, EphemeralValue]

    seen = []

    def node(state):
        seen.append(dict(state))
        return {"a": state.get("tmp", -1)}

    return [chain(State, node, node, node).invoke({"a": 0, "tmp": 7}), seen]


def case_ephemeral_written_by_a_node(env):
    class State(TypedDict):
        a: Annotated[list, add]
        tmp: Annotated[int, EphemeralValue(int)]

    app = chain(
        State,
        lambda s: {"tmp": 5},
        lambda s: {"a": [s.get("tmp")]},
        lambda s: {"a": [s.get("tmp")]},
    )
    return app.invoke({"a": []})


def case_untracked_annotation(env):
    class State(TypedDict):
        a: int
        secret: Annotated[str, UntrackedValue]

    seen = []

    def node(state):
        seen.append(dict(state))
        return {"a": state["a"] + 1}

    return [chain(State, node, node).invoke({"a": 0, "secret": "s"}), seen]


def case_untracked_is_not_saved(env):
    class State(TypedDict):
        a: int
        secret: Annotated[Any, UntrackedValue]

    graph = StateGraph(State)
    graph.add_node("n", lambda s: {"a": s["a"] + 1, "secret": s["secret"] + "!"})
    graph.add_edge(START, "n")
    app = graph.compile(checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    return [app.invoke({"a": 0, "secret": "s"}, config), app.get_state(config).values]


def case_topic_annotation(env):
    class State(TypedDict):
        a: int
        tags: Annotated[list[str], Topic]
        all_tags: Annotated[list[str], Topic(str, accumulate=True)]

    seen = []

    def node(state):
        seen.append(dict(state))
        return {"tags": "x", "all_tags": ["y", "z"]}

    return [chain(State, node, node).invoke({"a": 0, "tags": "in", "all_tags": ["in"]}), seen]


def case_any_value_annotation_takes_two_writers(env):
    class State(TypedDict):
        a: Annotated[int, AnyValue]

    graph = StateGraph(State)
    graph.add_node("x", lambda s: {"a": 5})
    graph.add_node("y", lambda s: {"a": 5})
    graph.add_edge(START, "x")
    graph.add_edge(START, "y")
    return graph.compile().invoke({"a": 1})


def case_managed_values(env):
    class State(TypedDict):
        log: Annotated[list, add]
        last: IsLastStep
        left: RemainingSteps

    def node(state):
        return {"log": [(state["last"], state["left"])]}

    return chain(State, node, node, node).invoke({"log": []}, {"recursion_limit": 4})


@dataclasses.dataclass
class Data:
    a: int
    b: list = dataclasses.field(default_factory=list)
    c: str = "see"
    d: Annotated[list, add] = dataclasses.field(default_factory=lambda: [0])


def case_dataclass_state(env):
    seen = []

    def node(state):
        seen.append(state)
        return {"a": state.a + 1, "d": [state.a]}

    return [chain(Data, node, node).invoke({"a": 1}), seen]


def case_dataclass_input_instance(env):
    return chain(Data, lambda s: {"a": s.a + 1}).invoke(Data(a=1, b=[2], c="x"))


def case_dataclass_returned_by_a_node(env):
    return chain(Data, lambda s: Data(a=9, b=[1])).invoke({"a": 1, "d": [5]})


def case_dataclass_missing_field(env):
    return env.error(lambda: chain(Data, lambda s: {"a": 1}).invoke({"c": "x"}))


async def case_dataclass_state_async(env):
    async def node(state: Data):
        return {"a": state.a + 1, "c": type(state).__name__}

    return await chain(Data, node, node).ainvoke({"a": 1})


class Model(BaseModel):
    a: int
    b: str = "bee"
    c: Annotated[list[int], add] = Field(default_factory=list)
    d: int | None = None


def case_pydantic_state(env):
    seen = []

    def node(state):
        seen.append(state)
        return {"a": state.a + 1, "c": [state.a]}

    return [chain(Model, node, node).invoke({"a": 1}), seen]


def case_pydantic_input_is_validated(env):
    app = chain(Model, lambda s: {"a": 1})
    return [
        env.error(lambda: app.invoke({"a": "no number"})),
        env.error(lambda: app.invoke({"b": "x"})),
    ]


def case_pydantic_reducer_runs_before_validation(env):
    return env.error(lambda: chain(Model, lambda s: {"a": 1}).invoke({"a": 1, "c": "no list"}))


def case_pydantic_input_is_coerced_for_nodes(env):
    seen = []

    def node(state):
        seen.append((state.a, state.c))
        return {"b": "y"}

    return [chain(Model, node).invoke({"a": "7", "c": ["1"]}), seen]


def case_pydantic_update_is_validated_by_the_next_read(env):
    ran = []
    app = chain(Model, lambda s: {"a": "bad"}, lambda s: ran.append("n1"))
    return [env.error(lambda: app.invoke({"a": 1})), ran]


def case_pydantic_last_update_is_not_validated(env):
    return env.error(lambda: chain(Model, lambda s: {"a": "bad"}).invoke({"a": 1}))


def case_pydantic_instance_input(env):
    app = chain(Model, lambda s: {"c": [s.a]})
    return [app.invoke(Model(a=1)), app.invoke(Model(a=1, b="x", d=4))]


def case_pydantic_instance_of_only_defaults(env):
    class Loose(BaseModel):
        a: int = 1
        b: str = "b"

    app = chain(Loose, lambda s: {"a": s.a + 1})
    return [app.invoke(Loose()), env.error(lambda: app.invoke({}))]


def case_pydantic_instance_returned(env):
    return [
        chain(Model, lambda s: Model(a=5)).invoke({"a": 1, "b": "in", "d": 3}),
        chain(Model, lambda s: Model(a=5, d=None)).invoke({"a": 1, "b": "in", "d": 3}),
        chain(Model, lambda s: Model(a=5, b="bee")).invoke({"a": 1, "b": "in", "d": 3}),
    ]


def case_pydantic_explicit_none(env):
    return chain(Model, lambda s: {"d": None}).invoke({"a": 1, "d": 3})


def case_pydantic_validator_runs_per_read(env):
    class Checked(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def positive(cls, value):
            if value < 0:
                raise ValueError("must be positive")
            return value

    app = chain(Checked, lambda s: {"a": s.a - 2}, lambda s: {"a": s.a - 2}, lambda s: {})
    return [app.invoke({"a": 5}), env.error(lambda: app.invoke({"a": 1}))]


def case_pydantic_nested_model(env):
    class Inner(BaseModel):
        x: int

    class Outer(BaseModel):
        inner: Inner
        items: list[Inner] = []

    seen = []

    def node(state):
        seen.append((type(state.inner).__name__, state.inner.x))
        return {"items": [*state.items, Inner(x=state.inner.x)]}

    return [chain(Outer, node, node).invoke({"inner": {"x": 1}}), seen]


def case_pydantic_extra_keys(env):
    return chain(Model, lambda s: {"a": s.a}).invoke({"a": 1, "zzz": 2})


async def case_pydantic_validation_error_async(env):
    return await env.aerror(chain(Model, lambda s: {"a": 1}).ainvoke({"a": "x"}))


def case_plain_dict_state(env):
    graph = StateGraph(dict)
    graph.add_node("n", lambda s: {**s, "seen": sorted(s)})
    graph.add_node("m", lambda s: {"only": len(s)})
    graph.add_edge(START, "n")
    graph.add_edge("n", "m")
    return graph.compile().invoke({"a": 1, "b": 2})


def case_root_int_state(env):
    return chain(int, lambda n: n + 1, lambda n: n * 10).invoke(4)


def case_root_list_with_reducer(env):
    app = chain(Annotated[list, add], lambda s: [len(s)], lambda s: [len(s)])
    return [
        app.invoke(["in"]),
        list(app.stream(["in"])),
        list(app.stream(["x"], stream_mode="values")),
    ]


def case_root_state_node_returns_none(env):
    return chain(Annotated[list, add], lambda s: None, lambda s: [1]).invoke(["in"])


async def case_root_state_async(env):
    async def node(state):
        return [state[-1] + 1]

    return await chain(Annotated[list, add], node, node).ainvoke([1])


def case_root_state_two_writers(env):
    graph = StateGraph(int)
    graph.add_node("x", lambda n: n + 1)
    graph.add_node("y", lambda n: n + 2)
    graph.add_edge(START, "x")
    graph.add_edge(START, "y")
    return env.error(lambda: graph.compile().invoke(1))


def case_mutated_state_object(env):
    class State(TypedDict):
        items: list

    def node(state):
        state["items"].append(1)
        return state

    given = {"items": [0]}
    return [chain(State, node, node).invoke(given), given]


def case_schema_with_forward_references(env):
    class State(TypedDict):
        a: "Annotated[list[int], add]"
        b: "int"

    return chain(State, lambda s: {"a": [s["b"]]}).invoke({"a": [1], "b": 2})


def case_schema_of_input_in_json(env):
    app = chain(Model, lambda s: {})
    return [sorted(app.get_input_jsonschema()["properties"]), app.get_name()]
