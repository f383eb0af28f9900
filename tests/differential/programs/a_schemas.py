"""Input, output and private schemas, per graph and per node."""

from dataclasses import dataclass
from operator import add
from typing import Annotated, TypedDict

from langchain.agents import AgentState
from langgraph.channels import EphemeralValue, Topic
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel


class Inputs(TypedDict):
    question: str


class Outputs(TypedDict):
    answer: str


class Overall(TypedDict):
    question: str
    answer: str
    log: Annotated[list, add]


class Private(TypedDict):
    secret: str


def case_input_and_output_schemas(env):
    seen = []

    def node(state):
        seen.append(sorted(state))
        return {"answer": state["question"] + "?", "log": ["x"]}

    graph = StateGraph(Overall, input_schema=Inputs, output_schema=Outputs)
    graph.add_node("n", node)
    graph.add_edge(START, "n")
    app = graph.compile()
    return [app.invoke({"question": "why"}), seen, list(app.stream({"question": "a"}))]


def case_input_schema_drops_other_keys(env):
    graph = StateGraph(Overall, input_schema=Inputs)
    graph.add_node("n", lambda s: {"log": sorted(s)})
    graph.add_edge(START, "n")
    return graph.compile().invoke({"question": "a", "answer": "dropped?", "log": ["in"]})


def case_values_stream_shows_output_keys_only(env):
    graph = StateGraph(Overall, output_schema=Outputs)
    graph.add_node("n", lambda s: {"answer": "a"})
    graph.add_node("m", lambda s: {"log": ["b"]})
    graph.add_edge(START, "n")
    graph.add_edge("n", "m")
    return list(graph.compile().stream({"question": "q"}, stream_mode="values"))


def case_private_keys_between_nodes(env):
    def first(state: Overall) -> Private:
        return {"secret": state["question"] * 2}

    def second(state: Private):
        return {"answer": f"{sorted(state)}{state['secret']}"}

    graph = StateGraph(Overall)
    graph.add_sequence([first, second])
    graph.add_edge(START, "first")
    return graph.compile().invoke({"question": "q"})


def case_private_key_by_input_schema_argument(env):
    graph = StateGraph(Overall)
    graph.add_node("n", lambda s: {"secret": "s"})
    graph.add_node("m", lambda s: {"answer": str(sorted(s.items()))}, input_schema=Private)
    graph.add_edge(START, "n")
    graph.add_edge("n", "m")
    return graph.compile().invoke({"question": "q"})


def case_input_schema_argument_beats_annotation(env):
    def node(state: Overall):
        return {"log": sorted(state)}

    graph = StateGraph(Overall)
    graph.add_node("n", node, input_schema=Inputs)
    graph.add_edge(START, "n")
    return graph.compile().invoke({"question": "q", "answer": "a"})


def case_node_input_dataclass(env):
    @dataclass
    class Ask:
        question: str
        answer: str = "none yet"

    graph = StateGraph(Overall)
    graph.add_node("n", lambda s: {"log": [s.question, s.answer]}, input_schema=Ask)
    graph.add_edge(START, "n")
    return graph.compile().invoke({"question": "q"})


def case_node_input_pydantic(env):
    class Ask(BaseModel):
        question: int

    graph = StateGraph(Overall)
    graph.add_node("n", lambda s: {"log": [s.question]}, input_schema=Ask)
    graph.add_edge(START, "n")
    app = graph.compile()
    return [app.invoke({"question": "12"}), env.error(lambda: app.invoke({"question": "q"}))]


def case_private_key_in_dataclass_of_a_node(env):
    @dataclass
    class Hidden:
        question: str
        count: int = 0

    def one(state: Overall):
        return {"count": 3}

    def two(state: Hidden):
        return {"log": [state.count]}

    graph = StateGraph(Overall)
    graph.add_sequence([one, two])
    graph.add_edge(START, "one")
    return graph.compile().invoke({"question": "q"})


def case_pydantic_input_typed_dict_state(env):
    class Ask(BaseModel):
        question: str

    graph = StateGraph(Overall, input_schema=Ask)
    graph.add_node("n", lambda s: {"log": [type(s).__name__]})
    graph.add_edge(START, "n")
    app = graph.compile()
    return [
        app.invoke({"question": "q"}),
        app.invoke(Ask(question="q")),
    ]


def case_pydantic_input_schema_is_not_enforced(env):
    class Ask(BaseModel):
        question: str

    graph = StateGraph(Overall, input_schema=Ask)
    graph.add_node("n", lambda s: {"log": [type(s).__name__]})
    graph.add_edge(START, "n")
    app = graph.compile()
    return [env.error(lambda: app.invoke({"question": 3})), env.error(lambda: app.invoke({}))]


def case_pydantic_output_schema(env):
    class Out(BaseModel):
        answer: str

    graph = StateGraph(Overall, output_schema=Out)
    graph.add_node("n", lambda s: {"answer": 5})
    graph.add_edge(START, "n")
    return graph.compile().invoke({"question": "q"})


def case_conditional_edge_reads_its_annotated_schema(env):
    seen = []

    def route(state: Inputs):
        seen.append(sorted(state))
        return END

    graph = StateGraph(Overall)
    graph.add_node("n", lambda s: {"answer": "a"})
    graph.add_edge(START, "n")
    graph.add_conditional_edges("n", route)
    return [graph.compile().invoke({"question": "q"}), seen]


def case_schemas_without_keys(env):
    class Typed(TypedDict):
        pass

    class Model(BaseModel):
        pass

    @dataclass
    class Data:
        pass

    def run(state=Overall, node=None, **schemas):
        seen = []
        graph = StateGraph(state, **schemas)
        graph.add_node("n", lambda s: seen.append(s) or {"log": ["n"]}, input_schema=node)
        graph.add_edge(START, "n")
        given = {"question": "q", "log": ["in"]}
        return [graph.compile().invoke(given), seen]

    return [
        found
        for empty in (Typed, Model, Data)
        for found in (
            run(empty),
            run(node=empty),
            run(input_schema=empty),
            run(output_schema=empty),
        )
    ]


def case_reducer_known_by_one_schema(env):
    class Plain(TypedDict):
        log: list

    def node(state: Plain):
        return {"log": [len(state["log"])]}

    graph = StateGraph(Overall)
    graph.add_node("n", node)
    graph.add_edge(START, "n")
    return env.error(lambda: graph.compile().invoke({"question": "q", "log": ["in"]}))


def case_reducer_known_by_another_schema(env):
    class Plain(TypedDict):
        log: list

    def build():
        graph = StateGraph(Plain, input_schema=Overall)
        graph.add_node("n", lambda state: {"log": ["n"]})
        graph.add_edge(START, "n")
        return graph.compile().invoke({"question": "q", "log": ["in"]})

    return env.error(build)


def case_conflicting_reducers(env):
    class Other(TypedDict):
        log: Annotated[list, lambda a, b: b]

    def build():
        graph = StateGraph(Overall)
        graph.add_node("n", lambda s: s, input_schema=Other)

    return env.error(build)


def case_output_keys_argument(env):
    graph = StateGraph(Overall)
    graph.add_node("n", lambda s: {"answer": "a", "log": [1]})
    graph.add_edge(START, "n")
    app = graph.compile()
    given = {"question": "q"}
    return [
        app.invoke(given, output_keys="answer"),
        app.invoke(given, output_keys=["answer", "log"]),
        list(app.stream(given, output_keys=["log"], stream_mode="updates")),
        list(app.stream(given, output_keys="answer", stream_mode="values")),
        env.error(lambda: app.invoke(given, output_keys="unknown")),
    ]


def case_annotations_that_name_nothing(env):
    class State(TypedDict):
        what: "Nothing"  # noqa: F821 - that is the mistake

    return env.error(lambda: StateGraph(State))


def case_a_channel_before_other_marks(env):
    """Of the marks of a key, a channel counts wherever it stands; of two, the first."""

    class State(TypedDict):
        log: Annotated[list, add]
        first: Annotated[str, EphemeralValue, "a remark"]
        given: Annotated[list, Topic(str), add]
        two: Annotated[list, Topic(str), EphemeralValue]
        last: Annotated[list, "a remark", EphemeralValue, "another"]
        plain: Annotated[list, add, "a remark"]

    def look(state):
        return {"log": [sorted((key, repr(state[key])) for key in state if key != "log")]}

    graph = StateGraph(State)
    graph.add_node("a", look).add_node("b", look).add_edge(START, "a").add_edge("a", "b")
    given = {"first": "x", "given": ["y"], "two": ["z"], "last": ["w"], "plain": [1]}
    return graph.compile().invoke(given)


def case_the_state_of_agents_in_a_graph(env):
    """A `jump_to` is forgotten after a step in a graph that has the state of agents, too."""
    graph = StateGraph(AgentState)
    graph.add_node("a", lambda state: {"messages": [("ai", str(state.get("jump_to")))]})
    graph.add_node("b", lambda state: {"messages": [("ai", str(state.get("jump_to")))]})
    graph.add_edge(START, "a").add_edge("a", "b")
    return graph.compile().invoke({"messages": [("user", "hi")], "jump_to": "end"})
