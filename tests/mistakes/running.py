"""Mistakes of the caller of a run, and of code inside its nodes."""

import asyncio
from typing import Any, cast

from langchain_core.language_models.fake_chat_models import FakeListChatModel as TheirModel

from plait.callbacks import BaseCallbackHandler
from plait.chat_models.fake import FakeListChatModel
from plait.checkpoint.memory import InMemorySaver
from plait.config import get_config
from plait.errors import (
    ConfigError,
    ConfigTypeError,
    EmptyInputError,
    GraphRecursionError,
    InterruptRaceError,
    InterruptSwallowedError,
    InvalidNodeError,
    InvalidUpdateError,
    InvalidValueError,
    MissingThreadIdError,
    NodeCancelledError,
    ThreadBusyError,
    UncountedToolsWarning,
    UnknownCheckpointError,
    UnknownKeyWarning,
    UnknownNodeWarning,
)
from plait.func import task
from plait.graph import START, MessagesState, StateGraph
from plait.language_models import SimpleChatModel
from plait.messages import AIMessage, AIMessageChunk, HumanMessage
from plait.prebuilt import ToolNode, ToolRuntime
from plait.runnables import RunnableLambda
from plait.tools import tool
from plait.types import Command, interrupt

from .table import THREAD, State, graph_of, mistake, saved


def nothing(state: State) -> None:
    return None


@mistake("An async node in a sync run", InvalidNodeError, '"fetch"', "ainvoke")
def async_node_in_sync_run() -> None:
    async def fetch(state: State) -> None:
        return None

    graph_of(fetch=fetch).compile().invoke({"text": ""})


@mistake("A saver, but no thread id", MissingThreadIdError, "thread_id", "configurable")
def missing_thread_id() -> None:
    saved(a=nothing).invoke({"text": ""})


@tool
def remember(fact: str, runtime: ToolRuntime) -> str:
    """Remember a fact."""
    cast("Any", runtime.store).put(("facts",), "last", {"fact": fact})
    return "Done."


REMEMBER = {
    "messages": [
        AIMessage("", tool_calls=[{"name": "remember", "args": {"fact": "x"}, "id": "c1"}])
    ]
}


@mistake(
    "A model of LangChain's that is asked with the messages of a state",
    NotImplementedError,
    "HumanMessage",
    "as_chat_model",
)
def model_of_langchain() -> None:
    model = TheirModel(responses=["hi"])
    builder = StateGraph(MessagesState)
    builder.add_node("chat", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "chat").compile().invoke({"messages": [("user", "hello")]})


@mistake("A tool that writes to a store, in a graph without", AttributeError, "'put'", "store=")
def store_that_the_graph_lacks() -> None:
    graph_of_tools = StateGraph(MessagesState).add_node("tools", ToolNode([remember]))
    graph_of_tools.add_edge(START, "tools").compile().invoke(cast("Any", REMEMBER))


@mistake("A tool that writes to a store, in a ToolNode by itself", AttributeError, "'put'", "graph")
def store_that_a_tool_node_lacks() -> None:
    ToolNode([remember]).invoke(REMEMBER)


@mistake("No input, and nothing to continue", EmptyInputError, "'order-7'", "Pass an input")
def nothing_to_continue() -> None:
    saved(a=nothing).invoke(None, THREAD)


@mistake(
    "A checkpoint id that the thread does not have",
    UnknownCheckpointError,
    "'1f0'",
    "'order-7'",
    "get_state_history",
)
def unknown_checkpoint() -> None:
    saved(a=nothing).invoke(
        None, {"configurable": {"thread_id": "order-7", "checkpoint_id": "1f0"}}
    )


@mistake("A stream mode that does not exist", ConfigError, "'update'", "Did you mean 'updates'?")
def unknown_stream_mode() -> None:
    list(graph_of(a=nothing).compile().stream({"text": ""}, stream_mode="update"))


@mistake(
    "A misspelled key of the config",
    UnknownKeyWarning,
    "'recursion_limt'",
    "Did you mean 'recursion_limit'?",
)
def misspelled_config_key() -> None:
    graph_of(a=nothing).compile().invoke({"text": ""}, {"recursion_limt": 5})


@mistake(
    "A breakpoint of a call at a node that does not exist",
    UnknownNodeWarning,
    "'aprove'",
    "Did you mean 'approve'?",
)
def unknown_breakpoint() -> None:
    saved(approve=nothing).invoke({"text": ""}, THREAD, interrupt_before=["aprove"])


@mistake("A durability that does not exist", ConfigError, "'synch'", "Did you mean 'sync'?")
def unknown_durability() -> None:
    saved(a=nothing).invoke({"text": ""}, THREAD, durability="synch")


@mistake(
    "A keyword of the call that nobody takes",
    ConfigError,
    "durabilty=",
    "Did you mean 'durability'?",
)
def unknown_keyword() -> None:
    saved(a=nothing).invoke({"text": ""}, THREAD, durabilty="exit")


@mistake(
    "A thread that is named by a keyword of the call",
    ConfigError,
    "thread_id=",
    "config={'configurable': {'thread_id': ...}}",
)
def thread_by_keyword() -> None:
    saved(a=nothing).invoke({"text": ""}, thread_id="1")


@mistake(
    "An entry of the config as a keyword of the call",
    ConfigError,
    "recursion_limit=",
    "config={'recursion_limit': ...}",
)
def entry_by_keyword() -> None:
    saved(a=nothing).invoke({"text": ""}, THREAD, recursion_limit=50)


@mistake("An output key that the graph does not have", ConfigError, "'txt'", "Did you mean 'text'?")
def unknown_output_key() -> None:
    graph_of(a=nothing).compile().invoke({"text": ""}, output_keys="txt")


@mistake("A `Command` that says nothing", ConfigError, "empty Command", "resume=")
def empty_command() -> None:
    saved(a=nothing).invoke(Command(), THREAD)


@mistake(
    "A loop that never ends",
    GraphRecursionError,
    "Recursion limit of 5",
    "again",
    "recursion_limit",
)
def endless_loop() -> None:
    graph = graph_of(again=nothing).add_edge("again", "again")
    graph.compile().invoke({"text": ""}, {"recursion_limit": 5})


@mistake("A recursion limit below one", ConfigError, "recursion_limit", "at least 1")
def bad_recursion_limit() -> None:
    graph_of(a=nothing).compile().invoke({"text": ""}, {"recursion_limit": 0})


@mistake("A second run on a thread while the first is at work", ThreadBusyError, "'order-7'")
def second_run_on_one_thread() -> None:
    async def main() -> None:
        started, finish = asyncio.Event(), asyncio.Event()

        async def slow(state: State) -> None:
            started.set()
            await finish.wait()

        graph = saved(slow=slow)
        first = asyncio.create_task(graph.ainvoke({"text": "first"}, THREAD))
        await started.wait()
        try:
            await graph.ainvoke({"text": "second"}, THREAD)
        finally:
            finish.set()
            await first

    asyncio.run(main())


@mistake("`interrupt()` inside `except Exception`", InterruptSwallowedError, "'ask'", "except")
def swallowed_interrupt() -> None:
    def ask(state: State) -> dict[str, Any]:
        try:
            answer = interrupt("sure?")
        except Exception:
            answer = "assumed"
        return {"text": answer}

    saved(ask=ask).invoke({"text": ""}, THREAD)


@mistake(
    "The same question, asked by code that races inside one node, without `key=`",
    InterruptRaceError,
    "'sure?'",
    "key=",
)
def racing_interrupts() -> None:
    async def ask(state: State) -> dict[str, Any]:
        async def one() -> Any:
            return interrupt("sure?")

        return {"items": await asyncio.gather(one(), one())}

    async def main() -> None:
        graph = saved(ask=ask)
        await graph.ainvoke({"text": ""}, THREAD)
        await graph.ainvoke(Command(resume="yes"), THREAD)

    asyncio.run(main())


@mistake("`interrupt()` outside of a run", ConfigError, "interrupt()", "outside")
def interrupt_outside_of_a_run() -> None:
    interrupt("sure?")


@mistake("`get_config()` outside of a run", ConfigError, "get_config", "outside")
def get_config_outside_of_a_run() -> None:
    get_config()


@mistake("A `@task` called outside of a run", ConfigError, "'double'", "entrypoint")
def task_outside_of_a_run() -> None:
    @task
    def double(n: int) -> int:
        return n * 2

    double(2)


@mistake("A node that raises CancelledError by itself", NodeCancelledError, "'fetch'", "Catch it")
def cancelled_by_its_own_code() -> None:
    async def fetch(state: State) -> None:
        raise asyncio.CancelledError

    asyncio.run(graph_of(fetch=fetch).compile().ainvoke({"text": ""}))


@mistake(
    "`checkpointer=True` in a graph that is no subgraph", ConfigError, "checkpointer=True", "saver"
)
def own_memory_at_the_root() -> None:
    graph_of(a=nothing).compile(checkpointer=True).invoke({"text": ""}, THREAD)


@mistake("A run context with a field that its schema does not have", TypeError, "'usr'", "'user'")
def unknown_context_field() -> None:
    from dataclasses import dataclass

    @dataclass
    class Context:
        user: str = ""

    graph = StateGraph(State, context_schema=Context).add_node("a", nothing)
    graph.add_edge(START, "a").compile(checkpointer=InMemorySaver()).invoke(
        {"text": ""}, THREAD, context={"usr": "ann"}
    )


def called(config: Any) -> None:
    saved(a=nothing).invoke({"text": ""}, config)


@mistake("A thread id in the place of the config", ConfigError, "'order-7'", "thread_id")
def thread_id_as_config() -> None:
    called("order-7")


@mistake("A `configurable` that is no dict", ConfigError, "'order-7'", "thread_id")
def configurable_that_is_no_dict() -> None:
    called({"configurable": "order-7"})


@mistake("A recursion limit that is no whole number", ConfigError, "recursion_limit", "'50'")
def recursion_limit_as_text() -> None:
    called({**THREAD, "recursion_limit": "50"})


@mistake("A `max_concurrency` that lets nothing run", ConfigError, "max_concurrency", "0")
def max_concurrency_of_nothing() -> None:
    called({**THREAD, "max_concurrency": 0})


@mistake("A `max_concurrency` in quotes, of `with_config`", ConfigError, "max_concurrency", "'2'")
def max_concurrency_as_text() -> None:
    graph_of(work=lambda state: {}).compile().with_config(max_concurrency="2")


@mistake("A history of a negative length", ConfigError, "limit", "-1")
def history_of_a_negative_length() -> None:
    list(saved(a=nothing).get_state_history(THREAD, limit=-1))


@mistake("A history before what is no config", ConfigError, "before", "'1f0'")
def history_before_an_id() -> None:
    list(saved(a=nothing).get_state_history(THREAD, before="1f0"))


@mistake("An answer without a `Command`", InvalidUpdateError, "'yes'", "Command(resume=answer)")
def answer_without_a_command() -> None:
    graph = saved(ask=lambda state: {"text": interrupt("sure?")})
    graph.invoke({"text": ""}, THREAD)
    graph.invoke("yes", THREAD)


@mistake(
    "Tools given to a count of the tokens of messages",
    UncountedToolsWarning,
    "FakeListChatModel",
    "count_tokens_approximately",
)
def tools_that_are_not_counted() -> None:
    model = FakeListChatModel(responses=["x"], custom_get_token_ids=lambda text: [1] * len(text))
    model.get_num_tokens_from_messages([HumanMessage("hi")], tools=[{"name": "add"}])


class Hears(BaseCallbackHandler):
    def __repr__(self) -> str:
        return "Hears()"


@mistake("A text as the tags of a config", ConfigTypeError, "'nightly'", "a list of texts")
def text_as_tags() -> None:
    called({"tags": "nightly"})


@mistake("A list as the config of a runnable", ConfigTypeError, "['order-7']", "a dict")
def list_as_config_of_a_runnable() -> None:
    RunnableLambda(lambda text: text).invoke("Hi", cast("Any", ["order-7"]))


@mistake("A handler in the place of a list of them", ConfigError, "Hears()", "[handler]")
def handler_without_a_list() -> None:
    graph_of(work=lambda state: {}).compile().invoke({}, {"callbacks": cast("Any", Hears())})


@mistake("A function in the place of a handler", ConfigTypeError, "print", "[handler]")
def function_as_handler() -> None:
    called({"callbacks": cast("Any", [print])})


@mistake("A handler without a list, told to a model", ConfigError, "Hears()", "[handler]")
def handler_of_a_model_without_a_list() -> None:
    FakeListChatModel(responses=["x"]).invoke("Hi", {"callbacks": cast("Any", Hears())})


class Writes(SimpleChatModel):
    """A chat model whose code gives what it should not."""

    def _call(self, messages: Any, stop: Any = None, run_manager: Any = None, **more: Any) -> str:
        return "text"

    def _generate(self, messages: Any, *args: Any, **more: Any) -> Any:
        return AIMessage("text")

    def _stream(self, messages: Any, *args: Any, **more: Any) -> Any:
        yield AIMessageChunk("text")


@mistake("`_generate` of a chat model that returns a message", InvalidValueError, "ChatResult(")
def generate_that_returns_a_message() -> None:
    Writes().invoke("Hi")


@mistake("`_stream` of a chat model that yields messages", InvalidValueError, "GenerationChunk(")
def stream_that_yields_messages() -> None:
    list(Writes().stream("Hi"))
