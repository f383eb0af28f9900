"""Mistakes of the author, seen when a graph is built or compiled."""

from operator import add
from typing import Annotated, Any, Literal, TypedDict, cast

from plait.agents import create_agent
from plait.agents.middleware import (
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    before_model,
    wrap_model_call,
)
from plait.agents.structured_output import ToolStrategy
from plait.channels import LastValue
from plait.chat_models.fake import FakeListChatModel
from plait.checkpoint.memory import InMemorySaver
from plait.errors import (
    AnnotationError,
    ConfigError,
    DuplicateToolWarning,
    InvalidGraphError,
    InvalidInputError,
    InvalidNodeError,
    NotSupportedError,
    StaleGraphWarning,
    ToolDefinitionError,
    UnknownToolWarning,
    UnreachableNodeWarning,
    UnusedCachePolicyWarning,
)
from plait.func import entrypoint, task
from plait.graph import END, START, RenamedFrom, StateGraph
from plait.managed import IsLastStep, ManagedValue
from plait.prebuilt import ToolNode
from plait.store.memory import InMemoryStore
from plait.tools import tool
from plait.types import CachePolicy, Command, RetryPolicy

from .table import State, graph_of, mistake


def nothing(state: State) -> None:
    return None


@mistake(
    "An edge to a node that does not exist",
    InvalidGraphError,
    "'aprove'",
    "Did you mean 'approve'?",
)
def edge_to_unknown_node() -> None:
    graph_of(approve=nothing).add_edge("approve", "aprove").compile()


@mistake("END in quotes", InvalidGraphError, "'END'", "Did you mean END, the constant")
def end_in_quotes() -> None:
    graph_of(approve=nothing).add_edge("approve", "END").compile()


@mistake("An edge from a node that does not exist", InvalidGraphError, "'aprove'", "'approve'")
def edge_from_unknown_node() -> None:
    graph_of(approve=nothing).add_edge("aprove", END).compile()


@mistake(
    "A `path_map` that names a node that does not exist",
    InvalidGraphError,
    "'ask'",
    "'aprove'",
    "'approve'",
)
def path_map_to_unknown_node() -> None:
    def path(state: State) -> str:
        return "yes"

    graph = graph_of(ask=nothing, approve=nothing)
    graph.add_conditional_edges("ask", path, {"yes": "aprove"}).compile()


@mistake(
    "A `Command[Literal[...]]` annotation that names a node that does not exist",
    InvalidGraphError,
    "'ask'",
    "'aprove'",
)
def annotation_to_unknown_node() -> None:
    def ask(state: State) -> Command[Literal["aprove"]]:
        return Command(goto="aprove")

    graph_of(ask=ask, approve=nothing).compile()


@mistake(
    "A breakpoint at a node that does not exist",
    InvalidGraphError,
    "'aprove'",
    "Did you mean 'approve'?",
)
def breakpoint_at_unknown_node() -> None:
    graph_of(approve=nothing).compile(interrupt_before=["aprove"])


@mistake("A graph without an edge from START", InvalidGraphError, "START")
def no_entry_point() -> None:
    StateGraph(State).add_node("a", nothing).compile()


@mistake("A node that nothing leads to", UnreachableNodeWarning, "'forgotten'", "unreachable")
def unreachable_node() -> None:
    graph_of(a=nothing).add_node("forgotten", nothing).compile()


@mistake(
    "A join that can never fire",
    UnreachableNodeWarning,
    "['a', 'forgotten']",
    "'both'",
    "nothing leads to 'forgotten'",
)
def join_that_cannot_fire() -> None:
    graph = graph_of(a=nothing).add_node("forgotten", nothing).add_node("both", nothing)
    graph.add_edge(["a", "forgotten"], "both").compile()


@mistake("Two nodes with one name", InvalidGraphError, "'a'", "another name")
def two_nodes_with_one_name() -> None:
    graph_of(a=nothing).add_node("a", nothing)


@mistake(
    "Two conditional entry points with one name",
    InvalidGraphError,
    "'path'",
    "'__start__'",
    "already exists",
)
def two_entry_points_with_one_name() -> None:
    def path(state: State) -> str:
        return "a"

    graph = StateGraph(State).add_node("a", nothing)
    graph.set_conditional_entry_point(path).set_conditional_entry_point(path)


@mistake(
    "A node with a reserved name", InvalidGraphError, "'__interrupt__'", "reserved", "another name"
)
def reserved_node_name() -> None:
    graph_of(__interrupt__=nothing)


@mistake(
    "A key of the state with a reserved name",
    InvalidGraphError,
    "'__error__'",
    "Marked",
    "another name",
)
def reserved_key() -> None:
    StateGraph(TypedDict("Marked", {"__error__": str}))


@mistake("A node name with a character that namespaces need", InvalidGraphError, "':'", "a:b")
def reserved_character() -> None:
    StateGraph(State).add_node("a:b", nothing)


@mistake("A node's name that cannot be stored", InvalidGraphError, r"'half \ud800'", "surrogate")
def node_name_that_is_no_text() -> None:
    StateGraph(State).add_node("half \ud800", nothing).add_edge(START, "half \ud800").compile()


@mistake(
    "A key of the state that cannot be stored", InvalidGraphError, r"'half \ud800'", "surrogate"
)
def key_that_is_no_text() -> None:
    state = TypedDict("Halved", {"half \ud800": str})
    StateGraph(state).add_node("a", nothing).add_edge(START, "a").compile()


@mistake("A node without a function", InvalidNodeError, "'a'", "function")
def node_without_function() -> None:
    StateGraph(State).add_node("a")


@mistake("A node that cannot be called", InvalidNodeError, "'a'", "Compile it first")
def graph_that_is_not_compiled() -> None:
    StateGraph(State).add_node("a", StateGraph(State))


@mistake(
    "A node with a parameter that nothing can fill",
    InvalidNodeError,
    "'client'",
    "'fetch'",
    "functools.partial",
)
def unfillable_parameter() -> None:
    def fetch(state: State, client: Any) -> None:
        return None

    StateGraph(State).add_node("fetch", fetch)


@mistake(
    "An error handler that does not say which parameter is the error",
    InvalidNodeError,
    "'error'",
    "as NodeError",
)
def handler_without_an_annotation() -> None:
    def handler(state: State, error: Any) -> None:
        return None

    StateGraph(State).add_node("fetch", print, error_handler=handler)


@mistake(
    "A reducer that does not take (value, update)",
    InvalidGraphError,
    "'items'",
    "(a, b) -> c",
    "(one: Any)",
)
def bad_reducer() -> None:
    def reducer(one: Any) -> Any:
        return one

    class Reduced(TypedDict):
        items: Annotated[list[Any], reducer]

    StateGraph(Reduced)


@mistake(
    "Two schemas that give one key different reducers",
    InvalidGraphError,
    "'items'",
    "different reducers",
)
def conflicting_reducers() -> None:
    def last(old: Any, new: Any) -> Any:
        return new

    class Other(TypedDict):
        items: Annotated[list[Any], last]

    assert add is not last
    StateGraph(State, input_schema=Other)


@mistake("A managed value in the input schema", InvalidGraphError, "'last'", "input_schema")
def managed_value_in_input() -> None:
    class Given(TypedDict):
        last: IsLastStep

    StateGraph(State, input_schema=Given)


@mistake("A node added after the graph was compiled", StaleGraphWarning, "'late'", "Compile again")
def node_added_too_late() -> None:
    graph = graph_of(a=nothing)
    graph.compile()
    graph.add_node("late", nothing)


@mistake("An edge to several nodes at once", InvalidNodeError, "['a', 'b']", "to each of them")
def edge_to_several() -> None:
    several: Any = ["a", "b"]
    graph_of(a=nothing, b=nothing).add_edge(START, several)


@mistake(
    "A decorator of middleware above a function with other parameters",
    InvalidNodeError,
    "(request, handler)",
    "'log'",
)
def middleware_of_one_parameter() -> None:
    def log(request: Any) -> None:
        return None

    decorate: Any = wrap_model_call
    decorate(log)


@mistake("An edge that starts at END", InvalidGraphError, "END")
def edge_from_end() -> None:
    graph_of(a=nothing).add_edge(END, "a")


@mistake("A saver that is none", TypeError, "'memory'")
def checkpointer_that_is_none() -> None:
    graph_of(a=nothing).compile(checkpointer="memory")


@mistake(
    "An argument that this version does not support yet",
    NotSupportedError,
    "'LangGraph'",
    "transformers=",
    "compile(transformers=)",
)
def unsupported_argument() -> None:
    graph_of(a=nothing).compile().invoke({}, transformers=[object])


@mistake("A trace policy that is none", InvalidNodeError, "'a'", "trace_policy=", "TracePolicy(")
def trace_policy_that_is_none() -> None:
    StateGraph(State).add_node("a", nothing, trace_policy=object())


@mistake("A limit that no attempt can keep", ValueError, "run_timeout", "greater than 0")
def timeout_of_nothing() -> None:
    StateGraph(State).add_node("a", nothing, timeout=0)


@mistake("Clearing the cache of a graph that has none", ConfigError, "No cache", "compile(cache=")
def clear_cache_without_a_cache() -> None:
    graph_of(a=nothing).compile().clear_cache()


@mistake(
    "An attribute of a graph that does not exist", ConfigError, "'nmae'", "Did you mean 'name'?"
)
def copy_with_unknown_attribute() -> None:
    graph_of(a=nothing).compile().copy({"nmae": "second"})


assert START


@mistake(
    "A former name of a node that is a node today",
    InvalidGraphError,
    "'ask'",
    "renamed from 'draft'",
    "could mean either",
)
def former_name_in_use() -> None:
    graph = graph_of(draft=nothing).add_node("ask", nothing, renamed_from="draft")
    graph.add_edge("draft", "ask").compile()


@mistake("Two keys that claim one former name", InvalidGraphError, "'topic'", "'a' and 'b'")
def former_key_claimed_twice() -> None:
    class Renamed(TypedDict):
        a: Annotated[str, RenamedFrom("topic")]
        b: Annotated[str, RenamedFrom("topic")]

    StateGraph(Renamed).add_node("n", lambda state: None).add_edge(START, "n").compile()


@mistake("Migrations with a gap", InvalidGraphError, "version 3", "[1]", "one by one")
def migrations_with_a_gap() -> None:
    StateGraph(State, version=3, migrations={1: dict})


@mistake("An edge to a function instead of its name", InvalidGraphError, "'approve', its name")
def edge_to_a_function() -> None:
    def approve(state: State) -> None:
        return None

    function: Any = approve
    graph_of(approve=approve).add_edge("approve", function).compile()


@mistake("A schema that is no class", InvalidGraphError, "TypedDict", "{'text': 'str'}")
def schema_that_is_no_class() -> None:
    schema: Any = {"text": "str"}
    StateGraph(schema)


@mistake("A saver's class instead of a saver", TypeError, "that is a class", "InMemorySaver()")
def class_as_saver() -> None:
    saver: Any = InMemorySaver
    graph_of(a=nothing).compile(checkpointer=saver)


@mistake("A store's class instead of a store", TypeError, "is a class", "InMemoryStore()")
def class_as_store() -> None:
    store: Any = InMemoryStore
    graph_of(a=nothing).compile(store=store)


@mistake("A cache that is none", TypeError, "cache=True is no cache", "InMemoryCache()")
def cache_that_is_none() -> None:
    graph_of(a=nothing).compile(cache=True)


@mistake("A dict instead of a store", TypeError, "store={} is no store", "InMemoryStore()")
def dict_as_store() -> None:
    store: Any = {}
    entrypoint(store=store)


@mistake("A retry policy that is none", InvalidNodeError, "RetryPolicy(max_attempts=3)")
def retry_policy_that_is_none() -> None:
    policy: Any = {"max_attempts": 3}
    graph_of().add_node("a", nothing, retry_policy=policy).add_edge(START, "a").compile()


@mistake(
    "A retry policy that names no errors",
    InvalidNodeError,
    "an exception class",
    "'ConnectionError'",
)
def retry_on_a_name() -> None:
    policy = RetryPolicy(retry_on=cast("Any", "ConnectionError"))
    graph_of().add_node("a", nothing, retry_policy=policy)


@mistake(
    "A retry policy with a number that is none",
    InvalidNodeError,
    "RetryPolicy.initial_interval is a number",
    "'1s'",
)
def retry_interval_in_words() -> None:
    policy = RetryPolicy(initial_interval=cast("Any", "1s"))
    graph_of().add_node("a", nothing, retry_policy=policy)


@mistake("A limit of time that is none", ValueError, "run_timeout", "timedelta", "'5s'")
def timeout_that_is_no_time() -> None:
    limit: Any = "5s"
    graph_of().add_node("a", nothing, timeout=limit)


@mistake("Calling a graph that was not compiled", AttributeError, "'invoke'", "compile it")
def graph_that_was_not_compiled() -> None:
    graph: Any = graph_of(a=nothing)
    graph.invoke({"text": ""})


@mistake("`@entrypoint` without parentheses", TypeError, "@entrypoint() above work")
def entrypoint_without_parentheses() -> None:
    def work(given: int) -> int:
        return given

    decorated: Any = work
    entrypoint(decorated)


@mistake(
    "A cache policy in a graph without a cache", UnusedCachePolicyWarning, "'a'", "compile(cache="
)
def cache_policy_without_a_cache() -> None:
    policy = CachePolicy()
    graph_of().add_node("a", nothing, cache_policy=policy).add_edge(START, "a").compile()


@mistake("A name for a task without `name=`", InvalidNodeError, "'fetch'", "@task(name='fetch')")
def name_of_a_task_without_its_keyword() -> None:
    task(cast("Any", "fetch"))


@mistake("A task's name that is no text", InvalidNodeError, "'fetch'", "5")
def name_of_a_task_that_is_no_text() -> None:
    def fetch() -> None: ...

    task(name=cast("Any", 5))(fetch)


@mistake("A task's name that cannot be stored", InvalidGraphError, r"'half \ud800'", "surrogate")
def name_of_a_task_that_cannot_be_stored() -> None:
    task(name="half \ud800")(nothing)


@mistake("`@entrypoint` on what is no function", InvalidNodeError, "@entrypoint", "5")
def entrypoint_of_no_function() -> None:
    entrypoint()(cast("Any", 5))


@mistake(
    "`@entrypoint` on a generator",
    NotSupportedError,
    "'count'",
    "Return the",
    "get_stream_writer()",
)
def generator_as_an_entrypoint() -> None:
    def count(most: int) -> Any:
        yield from range(most)

    entrypoint()(count)


@mistake("A cache policy of a workflow without a cache", UnusedCachePolicyWarning, "@entrypoint(c")
def cache_policy_of_a_workflow_without_a_cache() -> None:
    @entrypoint(cache_policy=CachePolicy())
    def work(given: int) -> int:
        return given


@mistake(
    "A task with a cache policy, called where there is no cache",
    UnusedCachePolicyWarning,
    "'work'",
    "'slow'",
)
def cache_policy_of_a_task_without_a_cache() -> None:
    @task(cache_policy=CachePolicy())
    def slow(given: int) -> int:
        return given

    @entrypoint()
    def work(given: int) -> int:
        return slow(given).result()

    work.invoke(1)


@mistake("A class in the place of a model", InvalidInputError, "FakeListChatModel(...)")
def class_as_model() -> None:
    create_agent(FakeListChatModel, [])


@mistake("An argument that `create_agent` names otherwise", TypeError, "'prompt'", "system_prompt=")
def prompt_of_an_agent() -> None:
    make: Any = create_agent
    make("openai:gpt-5", prompt="Be kind.")


@mistake(
    "A middleware that names a tool which the agent does not have",
    UnknownToolWarning,
    "tool_name",
    "ToolCallLimitMiddleware[serch]",
    "Did you mean 'search'?",
)
def middleware_that_names_no_tool() -> None:
    def search(query: str) -> str:
        """Search."""
        return query

    limit = ToolCallLimitMiddleware(tool_name="serch", run_limit=1)
    create_agent(FakeListChatModel(responses=["x"]), [search], middleware=[limit])


@mistake("A tool whose annotation names nothing", AnnotationError, "'Pathh'", "TYPE_CHECKING")
def annotation_that_names_nothing() -> None:
    def search(where: str) -> None:
        """Search."""

    search.__annotations__["where"] = "Pathh"
    tool(search)


@mistake("A name for a tool by `name=`", TypeError, "'name'", "tool('search')")
def name_of_a_tool_by_keyword() -> None:
    cast("Any", tool)(name="search")


@mistake("A `response_format` that is none", ToolDefinitionError, "'search'", "'artifact'")
def unknown_response_format() -> None:
    def search(query: str) -> str:
        """Search."""
        return query

    tool(response_format=cast("Any", "artifact"))(search)


@mistake("A decorator of middleware on what is no function", InvalidNodeError, "no_hook")
def middleware_of_no_function() -> None:
    before_model(cast("Any", "no_hook"))


@mistake("One middleware without a list", ConfigError, "TodoList", "[...]")
def middleware_without_a_list() -> None:
    create_agent(FakeListChatModel(responses=["x"]), middleware=cast("Any", TodoListMiddleware()))


@mistake("A state of an agent that is no class", ConfigError, "state schema", "'steps'")
def state_of_an_agent_that_is_no_class() -> None:
    create_agent(FakeListChatModel(responses=["x"]), state_schema=cast("Any", {"steps": int}))


@mistake("A state in the place of its class", ConfigError, "state schema", "AgentState")
def state_in_the_place_of_its_class() -> None:
    create_agent(FakeListChatModel(responses=["x"]), state_schema=cast("Any", {}))


@mistake("A strategy for answers without a schema", ConfigError, "Write ToolStrategy(YourSchema)")
def strategy_without_a_schema() -> None:
    create_agent(FakeListChatModel(responses=["x"]), response_format=cast("Any", ToolStrategy))


@mistake("A managed value whose `get` is no static method", InvalidGraphError, "@staticmethod")
def managed_value_without_staticmethod() -> None:
    class Left(ManagedValue[int]):
        def get(self, scratchpad: Any) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
            return scratchpad.stop - scratchpad.step


@mistake("`from_checkpoint` of a channel without a result", InvalidGraphError, "Forgetful", "None")
def channel_that_gives_no_channel() -> None:
    class Forgetful(LastValue):
        def from_checkpoint(self, checkpoint: Any) -> Any:
            return None

    StateGraph(cast("Any", TypedDict)("Shelf", {"books": Annotated[list[str], Forgetful(list)]}))


@mistake("Two tools with one name", DuplicateToolWarning, "'search'", "another name")
def two_tools_with_one_name() -> None:
    @tool("search")
    def in_files(query: str) -> str:
        """Search the files."""
        return query

    @tool("search")
    def on_the_web(query: str) -> str:
        """Search the web."""
        return query

    ToolNode([in_files, on_the_web])
