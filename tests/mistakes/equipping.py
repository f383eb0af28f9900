"""Mistakes of the author, seen when middleware is made, or an agent with it."""

import re
from typing import Any, cast

from plait.agents import create_agent
from plait.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    LLMToolSelectorMiddleware,
    ModelCallLimitMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    ShellToolMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    before_model,
)
from plait.chat_models.fake import FakeListChatModel
from plait.errors import (
    ConfigError,
    ConfigTypeError,
    InvalidPatternError,
    InvalidPolicyError,
    UnknownHookWarning,
    UnknownKeyWarning,
)
from plait.messages import HumanMessage
from plait.tools import tool

from .table import mistake

MODEL = FakeListChatModel(responses=["done"])


@tool
def search(query: str) -> str:
    """Look something up."""
    return query


@mistake("A hook of middleware that is misspelled", UnknownHookWarning, "Slips", "'before_model'")
def misspelled_hook() -> None:
    class Slips(AgentMiddleware):
        def befor_model(self, state: Any, runtime: Any) -> None: ...

    create_agent(MODEL, middleware=[Slips()])


@mistake("An async hook of middleware that is misspelled", UnknownHookWarning, "'awrap_tool_call'")
def misspelled_async_hook() -> None:
    class Slips(AgentMiddleware):
        async def awarp_tool_call(self, request: Any, handler: Any) -> Any: ...

    create_agent(MODEL, middleware=[Slips()])


@mistake("A hook that only one object has", UnknownHookWarning, "'before_model'", "class")
def hook_of_an_object() -> None:
    class Late(AgentMiddleware):
        def __init__(self) -> None:
            self.before_model = lambda state, runtime: None  # pyright: ignore[reportAttributeAccessIssue]

    create_agent(MODEL, middleware=[Late()])


@mistake("A jump to a place that no agent has", ConfigError, "'ned'", "'end'")
def jump_to_a_place_that_no_agent_has() -> None:
    before_model(can_jump_to=cast("Any", ["ned"]))


@mistake("A number in the place of commands", ConfigTypeError, "shell_command", "5")
def number_in_the_place_of_commands() -> None:
    ShellToolMiddleware(shell_command=cast("Any", 5))


@mistake("A limit in quotes", ConfigTypeError, "run_limit", "'3'")
def limit_in_quotes() -> None:
    ModelCallLimitMiddleware(run_limit=cast("Any", "3"))


@mistake("A negative limit", ConfigError, "thread_limit", "-1")
def negative_limit() -> None:
    ToolCallLimitMiddleware(thread_limit=-1)


@mistake("A tool in the place of its name", ConfigTypeError, "tool_name", "'search'")
def tool_in_the_place_of_its_name() -> None:
    ToolCallLimitMiddleware(run_limit=1, tool_name=cast("Any", search))


@mistake("Half a retry", ConfigTypeError, "max_retries", "1.5")
def half_a_retry() -> None:
    ModelRetryMiddleware(max_retries=cast("Any", 1.5))


@mistake("A regular expression that cannot be read", InvalidPatternError, "detector", "'('")
def pattern_that_cannot_be_read() -> None:
    PIIMiddleware("order", detector="(")


@mistake("A detector that can find nothing", ConfigTypeError, "detector=5", "'start'")
def detector_that_can_find_nothing() -> None:
    PIIMiddleware("order", detector=cast("Any", 5))


@mistake("A detector that gives texts", ConfigTypeError, "'order'", "'start'")
def detector_that_gives_texts() -> None:
    hide = PIIMiddleware("order", detector=cast("Any", lambda text: re.findall("#\\d+", text)))
    hide.before_model({"messages": [HumanMessage("Where is #7?")]}, cast("Any", None))


@mistake("One edit without a list", ConfigTypeError, "edits", "[...]")
def edit_without_a_list() -> None:
    ContextEditingMiddleware(edits=cast("Any", ClearToolUsesEdit()))


@mistake("An edit's class instead of an edit", ConfigTypeError, "ClearToolUsesEdit()")
def class_of_an_edit() -> None:
    ContextEditingMiddleware(edits=[cast("Any", ClearToolUsesEdit)])


@mistake("A size of a conversation in quotes", ConfigTypeError, "trigger", "'9'")
def size_in_quotes() -> None:
    SummarizationMiddleware(MODEL, trigger=cast("Any", ("messages", "9")))


@mistake("A counter of tokens that cannot be called", ConfigTypeError, "token_counter", "5")
def counter_that_cannot_be_called() -> None:
    SummarizationMiddleware(MODEL, token_counter=cast("Any", 5))


@mistake("A prompt of middleware that is no text", ConfigTypeError, "system_prompt", "['Plan.']")
def prompt_that_is_no_text() -> None:
    TodoListMiddleware(system_prompt=cast("Any", ["Plan."]))


@mistake("A name for a list of tools", ConfigTypeError, "always_include", "'search'")
def name_for_a_list_of_tools() -> None:
    LLMToolSelectorMiddleware(always_include=cast("Any", "search"))


@mistake("Words for errors that are no function", ConfigTypeError, "on_error", "'Try again.'")
def words_that_are_no_function() -> None:
    ToolErrorMiddleware(cast("Any", "Try again."))


@mistake("A key of a policy that is misspelled", UnknownKeyWarning, "'wen'", "'when'")
def misspelled_key_of_a_policy() -> None:
    policy: Any = {"allowed_decisions": ["approve"], "wen": lambda request: True}
    HumanInTheLoopMiddleware({"refund": policy})


@mistake("A `when` that is no function", InvalidPolicyError, "'refund'", "'when'", "Leave it out")
def when_that_is_no_function() -> None:
    policy: Any = {"allowed_decisions": ["approve"], "when": True}
    HumanInTheLoopMiddleware({"refund": policy})


@mistake("A tool as a key of `interrupt_on`", InvalidPolicyError, "interrupt_on", "'search'")
def tool_as_a_key_of_interrupt_on() -> None:
    HumanInTheLoopMiddleware(cast("Any", {search: True}))
