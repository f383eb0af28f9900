"""Tools: what plait promises beyond what the differential programs compare."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from copy import copy
from functools import cache, partial
from typing import Annotated, Any, NotRequired, Required, TypedDict

import pytest
import typing_extensions
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from plait import tools
from plait.checkpoint.memory import InMemorySaver
from plait.documents import Blob, Document
from plait.errors import InvalidInputError, ToolDefinitionError, ToolInputError
from plait.func import task
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage, ToolMessage
from plait.runnables import RunnableLambda
from plait.runtime import Runtime
from plait.tools import (
    BaseTool,
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    ToolException,
    base,
    coerce_to_tool,
    create_retriever_tool,
    tool,
)
from plait.types import Command, interrupt
from plait.utils.function_calling import convert_to_anthropic_tool, convert_to_openai_tool


def call(name: str, id: str = "1", **args: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": id, "name": name, "args": args}


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


# --- text that a model can act on ---


def test_a_validation_error_names_each_argument_and_what_came():
    class Trip(BaseModel):
        city: str
        days: int = Field(ge=1)

    @tool(args_schema=Trip)
    def book(city: str, days: int) -> str:
        """Book a trip."""
        return city

    book.handle_validation_error = True
    answer = book.invoke(call("book", city=5, days=0))
    assert answer.status == "error"
    assert answer.content.splitlines() == [
        "Tool input validation error. Mend these arguments and call the tool again:",
        "- city: Input should be a valid string (got 5)",
        "- days: Input should be greater than or equal to 1 (got 0)",
    ]
    assert "- days: Field required" in book.invoke(call("book", city="x")).content


@pytest.mark.parametrize("broken", [{"args": 5}, {"args": None}, {"args": "{}"}, {}])
def test_a_broken_tool_call_says_what_one_looks_like(broken):
    with pytest.raises(ToolInputError, match="'add' was invoked with a tool call that has"):
        add.invoke({"type": "tool_call", "id": "1", "name": "add", **broken})


# --- hostile arguments ---


@cache
def deep() -> Any:
    """A value deeper than any Python shows."""
    value: Any = "x"
    for _ in range(1_000_000):
        value = {"x": value}
    return value


@pytest.fixture(scope="module", autouse=True)
def not_longer_than_here() -> Iterator[None]:
    """It takes 230 MB, which each fork of a later test would copy."""
    yield
    deep.cache_clear()


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**4300, 10**4301)
    | st.floats()
    | st.text()
    | st.binary()
    | st.just("DEEP"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@tool
def anything(number: int, text: str, items: list[dict[str, float]], free: Any = None):
    """Take anything."""
    return free


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["number", "text", "items", "free", "type", "x"]), values))
def test_hostile_arguments_are_refused_by_typed_errors_or_answered(args):
    args = {name: deep() if value == "DEEP" else value for name, value in args.items()}
    for given_ in (args, call("anything", **args)):
        try:
            answer = anything.invoke(given_)
        except (ValidationError, ToolInputError):
            continue
        assert "number" in args
        assert not isinstance(answer, ToolMessage) or isinstance(answer.content, str)


def test_a_result_too_deep_or_too_large_for_json_is_named():
    @tool
    def give(large: bool) -> Any:
        """Give."""
        return [10**5000] if large else deep()

    assert "cannot be shown" in give.invoke(call("give", large=True)).content
    assert "cannot be shown" in give.invoke(call("give", large=False)).content


def test_handlers_hear_of_arguments_that_cannot_be_shown():
    heard = []

    class Ear:
        raise_error = True

        def on_tool_start(self, serialized, input_str, **kwargs):
            heard.append(input_str)

    anything.invoke({"number": 1, "text": "", "items": [], "free": deep()}, {"callbacks": [Ear()]})
    assert "cannot be shown" in heard[0]


# --- inside graphs ---


def graph_of(node: Any) -> Any:
    builder = StateGraph(MessagesState).add_node("act", node).add_edge(START, "act")
    return builder.compile(checkpointer=InMemorySaver())


CONFIG = {"configurable": {"thread_id": "1"}}


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_interrupt_inside_a_tool_waits_for_its_answer(kind):
    @tool
    def ask(what: str) -> str:
        """Ask a person."""
        return f"{what}: {interrupt(what)}"

    @tool("ask")
    async def aask(what: str) -> str:
        """Ask a person."""
        return f"{what}: {interrupt(what)}"

    def act(state):
        return {"messages": [ask.invoke(one) for one in state["messages"][-1].tool_calls]}

    async def aact(state):
        answers = [await aask.ainvoke(one) for one in state["messages"][-1].tool_calls]
        return {"messages": answers}

    graph = graph_of(act if kind == "sync" else aact)
    asked = await graph.ainvoke(
        {"messages": [AIMessage("", tool_calls=[call("ask", what="name")])]}, CONFIG
    )
    assert [one.value for one in asked["__interrupt__"]] == ["name"]
    done = await graph.ainvoke(Command(resume="Ada"), CONFIG)
    assert done["messages"][-1].content == "name: Ada"


def test_a_tool_call_without_an_id_says_so():
    with pytest.raises(ToolInputError, match="has no 'id'"):
        add.invoke({"type": "tool_call", "name": "add", "args": {"a": 1, "b": 2}})


@pytest.mark.parametrize("pair", ["ab", ["a", "b"], ("a", "b", "c")])
def test_what_is_no_pair_is_none_though_it_has_two_parts(pair):
    @tool(response_format="content_and_artifact")
    def look() -> Any:
        """Look."""
        return pair

    with pytest.raises(ValueError, match=r"must return a tuple \(content, artifact\)"):
        look.invoke({})


def test_an_argument_of_the_program_that_a_schema_leaves_out_reaches_the_tool():
    class Shown(BaseModel):
        what: str

    @tool(args_schema=Shown)
    def look(what: str, user: Annotated[str, InjectedToolArg]) -> str:
        """Look."""
        return f"{what} for {user}"

    assert look.invoke({"what": "a", "user": "ada"}) == "a for ada"


@pytest.mark.filterwarnings("ignore::plait.errors.UnusedAnswerWarning")  # it is kept meanwhile
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_an_answer_reaches_its_call_whichever_is_made_first(kind):
    @tool
    def ask(who: str) -> str:
        """Ask a person."""
        return f"{who}: {interrupt('sure?')}"

    @tool("ask")
    async def aask(who: str) -> str:
        """Ask a person."""
        return f"{who}: {interrupt('sure?')}"

    runs = []

    def turned(state):
        runs.append(1)
        return state["messages"][-1].tool_calls[:: 1 if len(runs) % 2 else -1]

    def act(state):
        return {"messages": [ask.invoke(one) for one in turned(state)]}

    async def aact(state):
        return {"messages": [await aask.ainvoke(one) for one in turned(state)]}

    graph = graph_of(act if kind == "sync" else aact)
    calls = [call("ask", id="1", who="a"), call("ask", id="2", who="b")]
    state = await graph.ainvoke({"messages": [AIMessage("", tool_calls=calls)]}, CONFIG)
    for answer in ("to a", "to b"):
        state = await graph.ainvoke(Command(resume=answer), CONFIG)
    told = {one.tool_call_id: one.content for one in state["messages"] if one.type == "tool"}
    assert told == {"1": "a: to a", "2": "b: to b"}


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_question_after_a_tool_is_the_same_where_the_tool_does_not_run_again(kind):
    @tool
    def look(what: str) -> str:
        """Look."""
        return what

    @tool("look")
    async def alook(what: str) -> str:
        """Look."""
        return what

    kept = []

    def act(state):
        if not kept:
            kept.append(look.invoke(state["messages"][-1].tool_calls[0]))
        return {"messages": [AIMessage(interrupt("Sure?"))]}

    async def aact(state):
        if not kept:
            kept.append(await alook.ainvoke(state["messages"][-1].tool_calls[0]))
        return {"messages": [AIMessage(interrupt("Sure?"))]}

    graph = graph_of(act if kind == "sync" else aact)
    asked = {"messages": [AIMessage("", tool_calls=[call("look", what="a")])]}
    assert "__interrupt__" in await graph.ainvoke(asked, CONFIG)
    done = await graph.ainvoke(Command(resume="yes"), CONFIG)
    assert done["messages"][-1].content == "yes"


async def test_equal_questions_of_tools_that_run_at_once_get_their_own_answers():
    @tool
    async def ask(who: str) -> str:
        """Ask a person."""
        await asyncio.sleep(0)
        return f"{who}: {interrupt('sure?')} {interrupt('really?', key='again')}"

    async def act(state):
        calls = state["messages"][-1].tool_calls
        done = await asyncio.gather(*map(ask.ainvoke, calls), return_exceptions=True)
        for one in done:
            if isinstance(one, BaseException):
                raise one
        return {"messages": done}

    graph = graph_of(act)
    calls = [call("ask", id="1", who="a"), call("ask", id="2", who="b")]
    state = await graph.ainvoke({"messages": [AIMessage("", tool_calls=calls)]}, CONFIG)
    rounds = 0
    while "__interrupt__" in state:
        rounds += 1
        answers = {one.id: f"{one.value}{rounds}" for one in state["__interrupt__"]}
        state = await graph.ainvoke(Command(resume=answers), CONFIG)
    texts = [one.content for one in state["messages"][-2:]]
    assert [text.split(":")[0] for text in texts] == ["a", "b"]
    assert all(text.count("sure?") == text.count("really?") == 1 for text in texts)


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_journaled_step_inside_a_tool_does_not_run_again(kind):
    effects = []

    @task
    def pay(amount: int) -> str:
        effects.append(amount)
        return f"paid {amount}"

    @tool
    def order(amount: int) -> str:
        """Order."""
        return f"{pay(amount).result()}, {interrupt('ship?')}"

    @tool("order")
    async def aorder(amount: int) -> str:
        """Order."""
        return f"{await pay(amount)}, {interrupt('ship?')}"

    def act(state):
        return {"messages": [order.invoke(state["messages"][-1].tool_calls[0])]}

    async def aact(state):
        return {"messages": [await aorder.ainvoke(state["messages"][-1].tool_calls[0])]}

    graph = graph_of(act if kind == "sync" else aact)
    question = {"messages": [AIMessage("", tool_calls=[call("order", amount=5)])]}
    assert "__interrupt__" in await graph.ainvoke(question, CONFIG)
    done = await graph.ainvoke(Command(resume="shipped"), CONFIG)
    assert done["messages"][-1].content == "paid 5, shipped"
    assert effects == [5]


def test_a_tool_gets_the_runtime_of_the_graph_that_it_runs_in():
    @tool
    def whose(runtime: Runtime[dict[str, str]]) -> str:
        """Whose."""
        return runtime.context["user"]

    def act(state):
        return {"messages": [whose.invoke(call("whose"))]}

    builder = StateGraph(MessagesState, context_schema=dict).add_node(act).add_edge(START, "act")
    done = builder.compile().invoke({"messages": []}, context={"user": "ada"})
    assert done["messages"][-1].content == "ada"
    assert whose.args == {}


def test_a_tool_says_which_arguments_a_model_must_not_fill():
    @tool
    def own(a: int, id: Annotated[str, InjectedToolCallId], b: Annotated[int, InjectedToolArg] = 1):
        """Own."""

    assert own.injected_args == {"id", "b"}
    assert list(own.args) == ["a"]


def test_a_partial_function_is_a_tool_with_the_name_and_words_of_its_function():
    def greet(name: str, mark: str) -> str:
        """Greet somebody."""
        return f"Hello, {name}{mark}"

    found = StructuredTool.from_function(partial(greet, mark="!"))
    assert (found.name, found.description) == ("greet", "Greet somebody.")
    assert found.invoke({"name": "Ada"}) == "Hello, Ada!"
    plain = tool("hi", infer_schema=False)(partial(greet, mark="!"))
    assert (plain.description, plain.invoke("Ada")) == ("Greet somebody.", "Hello, Ada!")


def test_a_copy_of_a_tool_is_independent():
    class Counter(BaseTool):
        name: str = "count"
        description: str = "Count."
        start: int = 0

        def _run(self) -> int:
            self.__dict__["start"] += 1
            return self.start

    one = Counter()
    assert one.invoke({}) == 1
    for other in (one.model_copy(), one.model_copy(deep=True), copy(one)):
        assert other.invoke({}) == 2
    assert one.start == 1
    add.args["a"].clear()
    assert add.args["a"] == {"title": "A", "type": "integer"}


def test_keys_of_a_typed_dict_may_be_left_out():
    class Query(TypedDict):
        """A query."""

        text: Required[Annotated[str, ..., "what to find"]]
        limit: NotRequired[int]

    assert convert_to_openai_tool(Query)["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "what to find"},
            "limit": {"type": "integer"},
        },
        "required": ["text"],
    }


def test_a_runnable_as_a_tool_does_not_get_the_keys_that_a_call_leaves_out():
    class Query(typing_extensions.TypedDict, total=False):
        text: Required[str]
        limit: int

    def find(query: Query) -> list[str]:
        return sorted(query)

    found = RunnableLambda(find).as_tool(name="find", description="Finds.")
    assert found.args_schema.model_json_schema()["required"] == ["text"]
    assert "default" not in found.args["limit"]
    assert found.invoke({"text": "x"}) == ["text"]
    assert asyncio.run(found.ainvoke({"text": "x", "limit": 3})) == ["limit", "text"]


def test_a_command_from_a_tool_is_handed_on_as_it_is():
    @tool
    def go(id: Annotated[str, InjectedToolCallId]):
        """Go."""
        return Command(update={"messages": [ToolMessage("gone", tool_call_id=id)]})

    assert isinstance(go.invoke(call("go")), Command)


# --- declarations ---


def test_signatures_are_checked_where_they_are_declared_and_schemas_wait():
    with pytest.raises(ToolDefinitionError, match="'_hidden' starts with an underscore"):
        _ = StructuredTool.from_function(lambda _hidden: 1, name="f", description="d").args
    code = (
        "import sys\n"
        "from plait.tools import tool, BaseTool\n"
        "@tool\n"
        "def f(a: int) -> int:\n    'F.'\n    return a\n"
        "class T(BaseTool):\n"
        "    name: str = 't'\n    description: str = 'T.'\n"
        "    def _run(self, a): return a\n"
        "assert T().invoke({'a': 1}) == 1\n"
        "heavy = {'pydantic', 'asyncio', 'sqlite3', 'numpy', 'langchain_core'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert f.invoke({'a': '1'}) == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_validators_of_pydantic_check_the_fields_of_a_tool():
    class Keyed(BaseTool):
        name: str = "keyed"
        description: str = "Keyed."
        key: str
        where: str = "here"

        @model_validator(mode="before")
        @classmethod
        def from_environment(cls, values):
            return {"key": "from env", **values}

        @field_validator("key")
        @classmethod
        def not_empty(cls, value):
            if not value:
                raise ValueError("empty key")
            return value.strip()

        @model_validator(mode="after")
        def connect(self):
            self.where = f"{self.where}/{self.key}"
            return self

        def _run(self) -> str:
            return self.where

    assert Keyed().invoke({}) == "here/from env"
    assert Keyed(key=" k ").invoke({}) == "here/k"
    with pytest.raises(ValueError, match="empty key"):
        Keyed(key="")


def test_a_tool_without_code_and_a_handler_that_handles_nothing_are_refused():
    with pytest.raises(ToolDefinitionError, match="must define _run"):
        BaseTool(name="x", description="d")
    with pytest.raises(ToolDefinitionError, match="handle_tool_error must be"):
        StructuredTool.from_function(add.func, handle_tool_error=5)


# --- the field's objects ---


def test_tools_of_langchain_core_convert_as_plaits_own():
    theirs = pytest.importorskip("langchain_core.tools").tool(add.func)
    assert convert_to_openai_tool(theirs) == convert_to_openai_tool(add)
    assert convert_to_anthropic_tool(add) == {
        "name": "add",
        "description": "Add two numbers.",
        "input_schema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
            "required": ["a"],
        },
    }


def test_marks_messages_and_errors_of_langchain_core_count_in_plaits_tools():
    core = pytest.importorskip("langchain_core.tools")
    messages = pytest.importorskip("langchain_core.messages")

    @tool
    def mixed(a: int, id: Annotated[str, core.InjectedToolCallId]):
        """Mixed."""
        if a < 0:
            raise core.ToolException("negative")
        return messages.ToolMessage(str(a), tool_call_id=id)

    mixed.handle_tool_error = True
    assert list(mixed.args) == ["a"]
    answer = mixed.invoke(call("mixed", id="7", a=1))
    assert (type(answer), answer.tool_call_id) == (messages.ToolMessage, "7")
    assert mixed.invoke(call("mixed", a=-1)).content == "negative"


def test_tools_of_haystack_work_as_plaits_own():
    haystack = pytest.importorskip("haystack.tools")
    shape = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    theirs = haystack.Tool("half", "Half of it.", shape, lambda a: 10 // a)
    mine = coerce_to_tool(theirs)
    assert convert_to_openai_tool(theirs) == convert_to_openai_tool(mine)
    assert mine.invoke(call("half", a=2)).content == "5"
    with pytest.raises(ToolException, match="half"):
        mine.invoke({"a": 0})


def test_what_stands_where_a_tool_belongs_becomes_one_or_is_refused():
    theirs = pytest.importorskip("langchain_core.tools").tool(add.func)
    assert coerce_to_tool(theirs) is theirs
    assert coerce_to_tool(add) is add
    assert coerce_to_tool(add.func).invoke({"a": 1}) == 2
    for wrong in (5, "add", int, {"name": "add"}):
        with pytest.raises(ToolDefinitionError, match="is no tool"):
            coerce_to_tool(wrong)


def test_runnables_and_retrievers_of_langchain_core_become_tools():
    runnables = pytest.importorskip("langchain_core.runnables")
    retrievers = pytest.importorskip("langchain_core.retrievers")
    documents = pytest.importorskip("langchain_core.documents")

    class Theirs(retrievers.BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [documents.Document(page_content=query)]

    assert create_retriever_tool(Theirs(), "s", "S.").invoke("cats") == "cats"

    class Pair(BaseModel):
        a: int

    double = tool("double", args_schema=Pair)(runnables.RunnableLambda(lambda pair: pair["a"] * 2))
    assert double.invoke({"a": "2"}) == 4


# --- documents ---


def test_documents_survive_in_a_thread_and_validate_in_models():
    class State(BaseModel):
        found: list[Document] = []

    graph = (
        StateGraph(State)
        .add_node("find", lambda state: {"found": [Document("x", metadata={"n": 1}, id="i")]})
        .add_edge(START, "find")
        .compile(checkpointer=InMemorySaver())
    )
    graph.invoke({}, CONFIG)
    assert graph.get_state(CONFIG).values["found"] == [Document("x", metadata={"n": 1}, id="i")]
    assert State(found=[{"page_content": "y"}]).found == [Document("y")]
    assert State.model_validate_json('{"found":[{"page_content":"z"}]}').found == [Document("z")]
    with pytest.raises(InvalidInputError, match="page_content as a str"):
        Document(5)


def test_blobs_hold_data_or_read_their_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("hé")
    blob = Blob.from_path(path)
    assert (blob.as_string(), blob.mimetype, blob.source) == ("hé", "text/plain", str(path))
    with blob.as_bytes_io() as opened:
        assert opened.read() == "hé".encode()
    assert Blob.from_data("hi", metadata={"source": "mail"}).source == "mail"
    with pytest.raises(InvalidInputError, match="data or a path"):
        Blob()


async def test_errors_of_async_tools_are_told_to_the_model():
    @tool
    async def fail(a: int):
        """Fail."""
        raise ToolException("boom")

    fail.handle_tool_error = True
    assert (await fail.ainvoke(call("fail", a=1))).content == "boom"


def test_every_public_name_of_langchain_cores_tools_is_here():
    theirs = pytest.importorskip("langchain_core.tools").__all__
    missing = [name for name in theirs if not name.startswith("_") and not hasattr(tools, name)]
    assert missing == []
    for name in ("BaseTool", "BaseToolkit", "ToolException", "create_schema_from_function"):
        assert getattr(base, name) is getattr(tools, name)
