"""A node may be any form of function that is documented anywhere: each gets what it asks for."""

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from plait.errors import ConfigError, InvalidNodeError, NotSupportedError
from plait.func import entrypoint
from plait.graph import START, StateGraph
from plait.runnables import Runnable, RunnableConfig, RunnableLambda
from plait.runtime import Runtime
from plait.types import RunContext, StreamWriter


class State(TypedDict, total=False):
    text: str
    log: Annotated[list[Any], add]


@dataclass
class Context:
    user: str = "nobody"


CONFIG: RunnableConfig = {"configurable": {"place": "here"}}
WANTED = "hi ann here"
"""What the forms that ask for everything log: from state, context and config."""

Invoke = Callable[..., Any]


async def by_invoke(graph: Any, *args: Any, **kwargs: Any) -> Any:
    return graph.invoke(*args, **kwargs)


async def by_ainvoke(graph: Any, *args: Any, **kwargs: Any) -> Any:
    return await graph.ainvoke(*args, **kwargs)


@pytest.fixture(params=[by_invoke, by_ainvoke], ids=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Invoke:
    return request.param


def graph_of(node: Any) -> Any:
    graph = StateGraph(State, context_schema=Context)
    return graph.add_node("node", node).add_edge(START, "node").compile()


async def logged(call: Invoke, node: Any, **extras: Any) -> list[Any]:
    given = await call(graph_of(node), {"text": "hi"}, CONFIG, context=Context("ann"), **extras)
    return given["log"]


# --- Functions -----------------------------------------------------------------------------------


async def test_state(call: Invoke) -> None:
    def node(state):
        return {"log": [state["text"]]}

    assert await logged(call, node) == ["hi"]


async def test_state_and_config(call: Invoke) -> None:
    def node(state, config):
        return {"log": [state["text"], config["configurable"]["place"]]}

    assert await logged(call, node) == ["hi", "here"]


async def test_state_and_runtime(call: Invoke) -> None:
    def node(state, runtime):
        return {"log": [state["text"], runtime.context.user]}

    assert await logged(call, node) == ["hi", "ann"]


async def test_state_runtime_and_config(call: Invoke) -> None:
    def node(state, runtime, config):
        user, place = runtime.context.user, config["configurable"]["place"]
        return {"log": [f"{state['text']} {user} {place}"]}

    assert await logged(call, node) == [WANTED]


async def test_annotations_say_what_a_parameter_is_whatever_its_name(call: Invoke) -> None:
    def node(s: State, r: Runtime[Context], *, c: RunnableConfig, w: StreamWriter):
        w("streamed")
        return {"log": [f"{s['text']} {r.context.user} {c['configurable']['place']}"]}

    assert await logged(call, node) == [WANTED]


async def test_store_and_previous_are_empty_where_there_are_none(call: Invoke) -> None:
    def node(state, *, store, previous):
        return {"log": [store, previous]}

    assert await logged(call, node) == [None, None]


async def test_writer_streams() -> None:
    def node(state, writer):
        writer(state["text"])

    assert list(graph_of(node).stream({"text": "hi"}, stream_mode="custom")) == ["hi"]


async def test_extra_keywords_of_the_call_go_to_var_keywords(call: Invoke) -> None:
    def node(state, **kwargs):
        return {"log": [state["text"], kwargs]}

    assert await logged(call, node, limit=3) == ["hi", {"limit": 3}]


async def test_extra_keywords_that_no_node_takes_are_refused(call: Invoke) -> None:
    with pytest.raises(ConfigError, match="limit="):
        await logged(call, lambda state: None, limit=3)


async def test_var_keywords_beside_injected_parameters(call: Invoke) -> None:
    def node(state, config, **kwargs):
        return {"log": [config["configurable"]["place"], kwargs]}

    assert await logged(call, node, limit=3) == ["here", {"limit": 3}]


async def test_nothing(call: Invoke) -> None:
    def node():
        return {"log": ["nothing"]}

    assert await logged(call, node) == ["nothing"]


async def test_config_or_runtime_alone(call: Invoke) -> None:
    def with_config(config):
        return {"log": [config["configurable"]["place"]]}

    def with_runtime(runtime):
        return {"log": [runtime.context.user]}

    assert await logged(call, with_config) == ["here"]
    assert await logged(call, with_runtime) == ["ann"]


async def test_context_carries_state_runtime_and_config(call: Invoke) -> None:
    def node(context):
        user = context.runtime.context.user
        place = context.config["configurable"]["place"]
        return {"log": [f"{context.state['text']} {user} {place}"]}

    assert await logged(call, node) == [WANTED]


async def test_run_context_by_annotation_whatever_its_name(call: Invoke) -> None:
    def node(ctx: RunContext[State]):
        return {"log": [type(ctx).__name__, ctx.state["text"], ctx.runtime.context.user]}

    assert await logged(call, node) == ["RunContext", "hi", "ann"]


async def test_a_parameter_that_is_called_context_and_has_another_type_is_the_state(
    call: Invoke,
) -> None:
    def node(context: State):
        return {"log": [type(context), context["text"]]}

    assert await logged(call, node) == [dict, "hi"]


async def test_context_beside_other_parameters(call: Invoke) -> None:
    def node(context, config, runtime):
        return {"log": [context.state["text"], config["configurable"]["place"], runtime.context]}

    assert await logged(call, node) == ["hi", "here", Context("ann")]


async def test_context_with_the_state_unpacked(call: Invoke) -> None:
    def node(context, **state):
        return {"log": [state["text"], context.runtime.context.user]}

    assert await logged(call, node) == ["hi", "ann"]


async def test_context_with_the_fields_of_a_state_object_unpacked(call: Invoke) -> None:
    @dataclass
    class Order:
        text: str = ""
        done: bool = False

    def node(context, **state):
        return {"done": state["text"] == "hi"}

    graph = StateGraph(Order).add_node("node", node).add_edge(START, "node").compile()
    assert await call(graph, {"text": "hi"}) == {"text": "hi", "done": True}


@pytest.mark.parametrize("name", ["state", "s", "_", "x", "messages", "input"])
async def test_the_first_parameter_may_have_any_name(call: Invoke, name: str) -> None:
    node = eval(f"lambda {name}: {{'log': [{name}['text']]}}")
    assert await logged(call, node) == ["hi"]


async def test_positional_only_and_any_arguments(call: Invoke) -> None:
    def positional(state, /):
        return {"log": [state["text"]]}

    def anything(*args):
        return {"log": [len(args), args[0]["text"]]}

    assert await logged(call, positional) == ["hi"]
    assert await logged(call, anything) == [1, "hi"]


async def test_parameter_with_a_default_keeps_it(call: Invoke) -> None:
    def node(state, times=2):
        return {"log": [state["text"]] * times}

    assert await logged(call, node) == ["hi", "hi"]


def test_parameter_that_nothing_can_fill_is_refused_at_once() -> None:
    def node(state, client):
        return None

    with pytest.raises(InvalidNodeError, match="'client' of 'node'"):
        StateGraph(State).add_node("node", node)


# --- Other callables -----------------------------------------------------------------------------


def worker(state: Any, runtime: Any, *, greeting: str = "") -> dict[str, Any]:
    return {"log": [f"{greeting}{state['text']} {runtime.context.user}"]}


class Worker:
    """A callable object, with methods, of which each is a node."""

    def __init__(self, greeting: str) -> None:
        self.greeting = greeting

    def __call__(self, state, runtime):
        return worker(state, runtime, greeting=self.greeting)

    def method(self, state, runtime):
        return worker(state, runtime, greeting=self.greeting)

    @classmethod
    def class_method(cls, state, runtime):
        return worker(state, runtime, greeting="so ")

    @staticmethod
    def static_method(state, runtime):
        return worker(state, runtime, greeting="so ")


CALLABLES = {
    "partial": functools.partial(worker, greeting="so "),
    "object": Worker("so "),
    "bound method": Worker("so ").method,
    "class method": Worker.class_method,
    "static method": Worker.static_method,
    "partial of a method": functools.partial(Worker("so ").method),
}


@pytest.mark.parametrize("node", CALLABLES.values(), ids=CALLABLES)
async def test_callables_of_every_kind(call: Invoke, node: Any) -> None:
    assert await logged(call, node) == ["so hi ann"]


def test_objects_and_classes_are_nodes_under_their_own_names() -> None:
    class Update(dict[str, Any]):
        def __init__(self, state: Any) -> None:
            super().__init__(log=[state["text"]])

    graph = StateGraph(State).add_node(Worker("hi")).add_node(Update)
    assert list(graph.nodes) == ["Worker", "Update"]


async def test_an_object_that_can_only_be_invoked_is_called(call: Invoke) -> None:
    class Both:
        def __call__(self, state: Any) -> Any:
            return {"log": [state["text"]]}

        def invoke(self) -> None:
            raise AssertionError

    assert await logged(call, Both()) == ["hi"]


async def test_a_node_that_runs_alone_gets_the_config_of_the_call(call: Invoke) -> None:
    def node(state, config):
        return {"log": [config["configurable"]["place"]]}

    assert await call(graph_of(node).nodes["node"], {"text": "hi"}, CONFIG) == {"log": ["here"]}


async def test_an_entrypoint_takes_the_extra_keywords_of_the_call_beside_its_input(
    call: Invoke,
) -> None:
    @entrypoint()
    def flow(given, **extra):
        return [given, extra]

    assert await call(flow, "hi", mood="good") == ["hi", {"mood": "good"}]


def test_generators_of_every_kind_are_no_entrypoints() -> None:
    def count(most: int, step: int = 1) -> Any:
        yield from range(0, most, step)

    async def acount(most: int) -> Any:
        yield most

    class Counter:
        def __call__(self, most: int) -> Any:
            yield from range(most)

    named = {"count": count, "acount": acount, "Counter": Counter()}
    for name, function in {**named, "'count'": functools.partial(count, step=2)}.items():
        with pytest.raises(NotSupportedError, match=f"{name}.*are not supported.*Return the"):
            entrypoint()(function)


async def test_class_that_makes_the_update(call: Invoke) -> None:
    class Update(dict[str, Any]):
        def __init__(self, state: Any) -> None:
            super().__init__(log=[state["text"]])

    assert await logged(call, Update) == ["hi"]


async def test_runnable(call: Invoke) -> None:
    def function(state, config):
        return {"log": [state["text"], config["configurable"]["place"]]}

    assert await logged(call, RunnableLambda(function)) == ["hi", "here"]


async def test_runnable_sequence(call: Invoke) -> None:
    sequence = RunnableLambda(lambda state: state["text"]) | (lambda text: {"log": [text]})
    assert await logged(call, sequence) == ["hi"]


async def test_runnable_that_asks_for_its_config(call: Invoke) -> None:
    class Own(Runnable[Any, Any]):
        def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            return {"log": [config["configurable"]["place"]]}

    assert await logged(call, Own()) == ["here"]


async def test_compiled_graph(call: Invoke) -> None:
    assert await logged(call, graph_of(worker)) == ["hi ann"]


# --- Async ---------------------------------------------------------------------------------------


class AsyncWorker:
    async def __call__(self, state, runtime):
        return worker(state, runtime)

    async def method(self, state, runtime):
        return worker(state, runtime)


async def async_node(state, runtime, config):
    return {"log": [f"{state['text']} {runtime.context.user} {config['configurable']['place']}"]}


async def test_async_function() -> None:
    assert await logged(by_ainvoke, async_node) == [WANTED]


@pytest.mark.parametrize(
    "node",
    [AsyncWorker(), AsyncWorker().method, functools.partial(AsyncWorker().method)],
    ids=["object", "bound method", "partial"],
)
async def test_async_callables_of_every_kind(node: Any) -> None:
    assert await logged(by_ainvoke, node) == ["hi ann"]


async def test_async_context_form() -> None:
    async def node(context, **state):
        return {"log": [state["text"], context.runtime.context.user]}

    assert await logged(by_ainvoke, node) == ["hi", "ann"]


async def test_async_node_in_a_sync_run_is_refused() -> None:
    with pytest.raises(TypeError, match="ainvoke"):
        graph_of(async_node).invoke({"text": "hi"}, context=Context())


class Longer(State):
    draft: str


def test_a_graph_as_a_node_keeps_keys_of_its_own_without_a_warning() -> None:
    inner = StateGraph(Longer).add_node("write", lambda state: {"draft": "d", "text": "t"})
    outer = StateGraph(State).add_node("inner", inner.add_edge(START, "write").compile())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = outer.add_edge(START, "inner").compile().invoke({"text": "hi"})
    assert result == {"text": "t", "log": []}
