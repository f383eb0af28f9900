"""Limits, retries and fallbacks leave questions alone, wait as told, and survive a restart."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.agents.scripted import THREAD, call, calls

from plait.agents import create_agent
from plait.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    LLMToolSelectorMiddleware,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
)
from plait.agents.middleware.retrying import Retries, default_retry_on
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import (
    ConfigError,
    InvalidValueError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelRateLimitError,
)
from plait.testing.models import ScriptedChatModel
from plait.tools import tool
from plait.types import Command, interrupt

USER: Any = {"messages": [("user", "hi")]}


def texts(state: Any) -> list[str]:
    return [one.text for one in state["messages"]]


def retries(**options: Any) -> Retries:
    given: dict[str, Any] = {
        "max_retries": 3,
        "retry_on": default_retry_on,
        "on_failure": "continue",
        "backoff_factor": 2.0,
        "initial_delay": 1.0,
        "max_delay": 5.0,
        "jitter": False,
    }
    return Retries(**{**given, **options})


# --- waiting -------------------------------------------------------------------------------------


def test_waits_grow_up_to_the_longest_and_end_with_the_last_attempt() -> None:
    error = ValueError()
    waits = [retries(max_retries=4).wait_after(error, attempt) for attempt in range(1, 6)]
    assert waits == [1.0, 2.0, 4.0, 5.0, None]
    alike = [retries(backoff_factor=0.0).wait_after(error, attempt) for attempt in range(1, 5)]
    assert alike == [1.0, 1.0, 1.0, None]


def test_jitter_is_a_quarter_up_or_down() -> None:
    waits = [retries(jitter=True).wait_after(ValueError(), 1) for _ in range(200)]
    assert all(wait is not None and 0.75 <= wait <= 1.25 for wait in waits)
    assert len(set(waits)) > 1


def test_a_provider_that_says_when_to_come_back_is_listened_to() -> None:
    assert retries().wait_after(ModelRateLimitError("slow", retry_after=3.0), 1) == 3.0
    assert retries().wait_after(ModelRateLimitError("slow", retry_after=99.0), 1) == 5.0
    assert retries().wait_after(ModelAPIError("oops"), 1) == 1.0


def test_a_request_that_is_wrong_is_not_made_again() -> None:
    model = ScriptedChatModel([ModelAuthenticationError("no key"), "never"])
    agent = create_agent(model, middleware=[ModelRetryMiddleware(initial_delay=0)])
    with pytest.raises(ModelAuthenticationError, match="no key"):
        agent.invoke(USER)
    assert len(model.calls) == 1


def test_negative_numbers_are_refused_by_their_name() -> None:
    with pytest.raises(ConfigError, match="max_delay must not be negative, got -1"):
        ModelRetryMiddleware(max_delay=-1)
    with pytest.raises(ConfigError, match="max_retries"):
        LLMToolSelectorMiddleware(max_retries=-1)


# --- questions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_that_asks_is_not_taken_for_one_that_failed(is_async: bool) -> None:
    asked: list[str] = []

    @tool
    def ask(what: str) -> str:
        """Ask a person."""
        asked.append(what)
        return f"{what} {interrupt(what)}"

    model = ScriptedChatModel([calls(call("ask", what="sure?")), "done"])
    middleware = [
        ModelFallbackMiddleware(ScriptedChatModel([])),
        ModelRetryMiddleware(initial_delay=0),
        ToolErrorMiddleware(lambda error, request: "an error"),
        ToolRetryMiddleware(initial_delay=0),
    ]
    agent = create_agent(model, [ask], middleware=middleware, checkpointer=InMemorySaver())

    def run(given: Any) -> Any:
        return (
            asyncio.run(agent.ainvoke(given, THREAD)) if is_async else agent.invoke(given, THREAD)
        )

    assert [one.value for one in run(USER)["__interrupt__"]] == ["sure?"]
    assert asked == ["sure?"]
    assert texts(run(Command(resume="yes")))[-2:] == ["sure? yes", "done"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_wrapper_of_the_model_that_asks_is_not_taken_for_a_model_that_failed(
    is_async: bool,
) -> None:
    class Asks(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            interrupt("May I?")
            return handler(request)

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            interrupt("May I?")
            return await handler(request)

    spare = ScriptedChatModel([])
    agent = create_agent(
        ScriptedChatModel(["done"]),
        middleware=[ModelFallbackMiddleware(spare), Asks()],
        checkpointer=InMemorySaver(),
    )

    def run(given: Any) -> Any:
        return (
            asyncio.run(agent.ainvoke(given, THREAD)) if is_async else agent.invoke(given, THREAD)
        )

    assert [one.value for one in run(USER)["__interrupt__"]] == ["May I?"]
    assert texts(run(Command(resume="yes")))[-1] == "done"
    assert spare.calls == []


@pytest.mark.parametrize("is_async", [False, True])
def test_errors_of_other_tools_than_those_that_are_named_are_raised(is_async: bool) -> None:
    @tool
    def fail(what: str) -> str:
        """Fail."""
        raise ConnectionError(what)

    told = ToolErrorMiddleware(lambda error, request: "an error", tools=["look"])
    agent = create_agent(
        ScriptedChatModel([calls(call("fail", what="down"))]), [fail, look], middleware=[told]
    )
    with pytest.raises(ConnectionError, match="down"):
        asyncio.run(agent.ainvoke(USER)) if is_async else agent.invoke(USER)


# --- limits --------------------------------------------------------------------------------------


@tool
def look(where: str) -> str:
    """Look somewhere."""
    return f"nothing in {where}"


def test_the_calls_of_a_thread_are_counted_over_restarts(tmp_path: Path) -> None:
    file = str(tmp_path / "threads.db")
    found: list[list[str]] = []
    for _ in range(3):
        with SqliteSaver.from_conn_string(file) as saver:
            agent = create_agent(
                ScriptedChatModel([calls(call("look", where="box")), "done"]),
                [look],
                middleware=[
                    ToolCallLimitMiddleware(thread_limit=2),
                    ModelCallLimitMiddleware(thread_limit=5),
                ],
                checkpointer=saver,
            )
            found.append(texts(agent.invoke(USER, THREAD)))
    assert found[1][-2:] == ["nothing in box", "done"]
    assert found[2][-2:] == [
        "Tool call limit exceeded. Do not make additional tool calls.",
        "Model call limits exceeded: thread limit (5/5)",
    ]


def limited(behavior: Any = "continue", **options: Any) -> ToolCallLimitMiddleware:
    return ToolCallLimitMiddleware(run_limit=1, exit_behavior=behavior, **options)


@pytest.mark.parametrize("behavior", ["continue", "end"])
@pytest.mark.parametrize("other", ["limit", "person", "todos"])
def test_a_call_that_several_refuse_has_one_answer(behavior: Any, other: str) -> None:
    refuses: Any = {
        "limit": limited(tool_name="look"),
        "person": HumanInTheLoopMiddleware({"look": True}),
        "todos": TodoListMiddleware(),
    }[other]
    name = "write_todos" if other == "todos" else "look"
    args: Any = {"todos": []} if other == "todos" else {"where": "box"}
    asked = calls(*(call(name, str(at), **args) for at in range(3)))
    agent = create_agent(
        ScriptedChatModel([asked, "done"]),
        [look],
        middleware=[limited(behavior), refuses],
        checkpointer=InMemorySaver(),
    )
    state = agent.invoke(USER, THREAD)
    if other == "person":
        decisions = [{"type": "reject"}] * 3
        state = agent.invoke(Command(resume={"decisions": decisions}), THREAD)
    answers = [one.tool_call_id for one in state["messages"] if one.type == "tool"]
    assert sorted(answers) == ["0", "1", "2"]


def test_a_run_that_waits_for_a_person_keeps_what_its_thread_has_used() -> None:
    @tool
    def ask(what: str) -> str:
        """Ask a person."""
        return str(interrupt(what))

    model = ScriptedChatModel([calls(call("ask", str(at), what="?")) for at in range(9)])
    limit = ModelCallLimitMiddleware(thread_limit=2)
    agent = create_agent(model, [ask], middleware=[limit], checkpointer=InMemorySaver())
    agent.invoke(USER, THREAD)
    agent.invoke(Command(resume="a"), THREAD)
    ended = agent.invoke(Command(resume="b"), THREAD)
    assert texts(ended)[-1] == "Model call limits exceeded: thread limit (2/2)"
    assert len(model.calls) == 2


# --- selection -----------------------------------------------------------------------------------


def test_tools_of_the_provider_stay_whatever_is_selected() -> None:
    @tool
    def paint(what: str) -> str:
        """Paint."""
        return what

    own = {"type": "web_search"}
    main = ScriptedChatModel(["done"])
    selector = LLMToolSelectorMiddleware(model=_Choosing(["paint"]), max_tools=1)
    create_agent(main, [look, paint, own], middleware=[selector]).invoke(USER)
    shown = [one if isinstance(one, dict) else one.name for one in main.calls[0].tools]
    assert shown == ["paint", own]


def test_a_picked_tool_that_is_shown_anyway_takes_no_place_of_another() -> None:
    @tool
    def paint(what: str) -> str:
        """Paint."""
        return what

    main = ScriptedChatModel(["done"])
    picks = _Choosing(["look", "paint"])
    selector = LLMToolSelectorMiddleware(model=picks, max_tools=1, always_include=["look"])
    create_agent(main, [look, paint], middleware=[selector]).invoke(USER)
    assert [one.name for one in main.calls[0].tools] == ["paint", "look"]


class _Choosing:
    """A model that picks what it was told to."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def invoke(self, given: Any, config: Any = None) -> Any:
        return {"tools": self._names}

    def with_structured_output(self, schema: Any) -> Any:
        return self


class _Unsure(_Choosing):
    """A model whose answer is no selection, but for its last one."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def invoke(self, given: Any, config: Any = None) -> Any:
        return self.answers.pop(0)

    async def ainvoke(self, given: Any, config: Any = None) -> Any:
        return self.answers.pop(0)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(("last", "shown"), [({"tools": ["paint"]}, 1), ("none", 2)])
def test_an_answer_that_is_no_selection_is_asked_for_again(
    last: Any, shown: int, is_async: bool
) -> None:
    """The bound is for what the model picks, not for what is shown where it does not."""

    @tool
    def paint(what: str) -> str:
        """Paint."""
        return what

    main, chooser = ScriptedChatModel(["done"]), _Unsure("I cannot say.", last)
    selector = LLMToolSelectorMiddleware(model=chooser, max_tools=1, on_parsing_failure="all")
    agent = create_agent(main, [look, paint], middleware=[selector])
    asyncio.run(agent.ainvoke(USER)) if is_async else agent.invoke(USER)
    assert (len(main.calls[0].tools), chooser.answers) == (shown, [])


def test_a_selection_that_names_no_tool_says_the_nearest() -> None:
    selector = LLMToolSelectorMiddleware(model=_Choosing(["loook"]))
    agent = create_agent(ScriptedChatModel(["done"]), [look], middleware=[selector])
    with pytest.raises(InvalidValueError, match=r"'loook'.*Did you mean 'look'"):
        agent.invoke(USER)
