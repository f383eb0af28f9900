"""The nodes of an agent that call its model, and where each one leads."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from plait.callbacks.context import finds_config, handed
from plait.constants import END
from plait.errors import ConfigError, InvalidValueError
from plait.graph.message import REMOVE_ALL_MESSAGES
from plait.messages import AIMessage, RemoveMessage, SystemMessage
from plait.messages.foreign import kind_of
from plait.prebuilt.agent_history import HistoryCheck, HistoryRepair
from plait.prebuilt.agent_models import AgentModel, bare
from plait.prebuilt.sent import SentCall
from plait.prebuilt.verdict import Verdict
from plait.pregel.binding import Binding
from plait.pregel.scope import scope_for
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig, ensure_config
from plait.runnables.known import is_runnable
from plait.types import Send

OUT_OF_STEPS = "Sorry, need more steps to process this request."


class ModelNode(Runnable[Any, Any]):
    """Asks the model for the next message.

    Args:
        model: The model with its tools.
        prompt: What becomes of the state before the model sees it (see `create_react_agent`).
        name: The agent's, which signs its messages.
        repairs: Whether tool calls that a stopped run has left without an answer get one.
        keeps_repairs: Whether the state gets it too: its messages are those of `add_messages`.
    """

    def __init__(
        self,
        model: AgentModel,
        prompt: "Prompt",
        name: str | None,
        repairs: bool = False,
        keeps_repairs: bool = False,
    ) -> None:
        self.name = "agent"
        self._model = model
        self._prompt = prompt
        self._agent = name
        self._history = HistoryRepair() if repairs else HistoryCheck()
        self._keeps_repairs = keeps_repairs

    @finds_config
    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The update of the state with the model's message."""
        state = _as_seen(input)
        if before := self._history.mended(value_of(state, "messages")):
            state = _with_messages(state, before)
        model = self._model.chosen(state, config)
        message = model.invoke(self._prompt.filled(state, config), handed(config, model.invoke))
        return self._update(input, state, message, before)

    @finds_config
    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`."""
        state = _as_seen(input)
        if before := await self._history.amended(value_of(state, "messages")):
            state = _with_messages(state, before)
        model = await self._model.achosen(state, config)
        filled = await self._prompt.afilled(state, config)
        message = await model.ainvoke(filled, handed(config, model.ainvoke))
        return self._update(input, state, message, before)

    def _update(
        self, given: Any, state: Any, message: Any, before: list[Any] | None
    ) -> dict[str, Any]:
        """The update: the message, after the repaired history if it is the state's own."""
        if self._is_last(state, message):
            message = AIMessage(OUT_OF_STEPS, id=message.id)
        elif message.name != self._agent:  # also None: who signs is the agent, not the model
            message = message.model_copy(update={"name": self._agent})
        if before is None or not self._keeps_repairs or value_of(given, "llm_input_messages"):
            return {"messages": [message]}
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *before, message]}

    def _is_last(self, state: Any, message: Any) -> bool:
        """Whether no step is left to run the tools that the message calls, and to go on."""
        left = value_of(state, "remaining_steps")
        return left is not None and left < 2 and bool(getattr(message, "tool_calls", None))


class Prompt:
    """What the model is given of the state.

    Args:
        given: None (the messages), a text or SystemMessage (put before them), or a function or
            runnable of the state. What a function returns may be a runnable of it, too.

    Raises:
        ConfigError: It is nothing of the kind.
    """

    def __init__(self, given: Any) -> None:
        self._first: Any = None
        self._runnable: Any = None
        self._function: Binding | None = None
        if isinstance(given, str):
            self._first = SystemMessage(given)
        elif given is None or kind_of(given) == "system":
            self._first = given
        elif is_runnable(given):
            self._runnable = given
        elif callable(given):
            self._function = Binding(given, "prompt")
        else:
            raise ConfigError(
                "prompt must be a text, a SystemMessage, a function of the state or a runnable, "
                f"not {given!r}."
            )

    def filled(self, state: Any, config: RunnableConfig | None) -> Any:
        """The model's input."""
        if self._runnable is not None:
            return self._runnable.invoke(state, handed(config, self._runnable.invoke))
        if self._function is not None:
            if self._function.is_async:
                raise TypeError(
                    "The agent's prompt is an async function, so the agent must be called by "
                    "ainvoke or astream."
                )
            filled = self._function.call(state, scope_for(config))
            return Prompt(filled).filled(state, config) if is_runnable(filled) else filled
        return self._messages(state)

    async def afilled(self, state: Any, config: RunnableConfig | None) -> Any:
        """The async twin of `filled`."""
        if self._runnable is not None:
            runnable = self._runnable
            return await runnable.ainvoke(state, handed(config, runnable.ainvoke))
        if self._function is not None:
            filled = self._function.call(state, scope_for(config))
            if self._function.is_async:
                filled = await filled
            return await Prompt(filled).afilled(state, config) if is_runnable(filled) else filled
        return self._messages(state)

    def _messages(self, state: Any) -> Any:
        messages = value_of(state, "messages")
        return messages if self._first is None else [self._first, *messages]


class StructuredNode(Runnable[Any, Any]):
    """Asks the model once more, for the answer in the form of a schema.

    Args:
        model: The agent's model.
        response_format: A schema, or a pair of a prompt and a schema.
    """

    def __init__(self, model: AgentModel, response_format: Any) -> None:
        self.name = "generate_structured_response"
        self._model = model
        self._prompt = None
        self._schema = response_format
        if isinstance(response_format, tuple):
            self._prompt, self._schema = cast("tuple[Any, Any]", response_format)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The update of the state with the structured response."""
        config = ensure_config(config)
        model = bare(self._model.chosen(input, config)).with_structured_output(self._schema)
        return {"structured_response": model.invoke(self._messages(input), config)}

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`."""
        config = ensure_config(config)
        chosen = await self._model.achosen(input, config)
        model = bare(chosen).with_structured_output(self._schema)
        return {"structured_response": await model.ainvoke(self._messages(input), config)}

    def _messages(self, state: Any) -> list[Any]:
        messages = list(value_of(state, "messages"))
        if self._prompt is None:
            return messages
        first = SystemMessage(self._prompt) if isinstance(self._prompt, str) else self._prompt
        return [first, *messages]


class Routes:
    """Where the nodes of an agent lead.

    Args:
        entry: The node that a turn of the model begins with.
        finish: Where the agent goes when the model calls no tool.
        direct: Names of the tools whose result ends the loop.
        spread: Each tool call is a task of its own.
    """

    def __init__(self, entry: str, finish: str, direct: frozenset[str], spread: bool) -> None:
        self.entry = entry
        self.finish = finish
        self._direct = direct
        self._is_direct = Verdict(lambda calls: any(one["name"] in direct for one in calls))
        self._spread = spread

    def should_continue(self, state: Any) -> Any:
        """To the tools that the model has called, else to the end."""
        calls = getattr(value_of(state, "messages")[-1], "tool_calls", None)
        if not calls:
            return self.finish
        self._is_direct.forget()
        return _sends(calls, state) if self._spread else "tools"

    def post_model_hook_router(self, state: Any) -> Any:
        """To the tools whose calls have no answer yet; on if the hook has answered them all."""
        messages = value_of(state, "messages")
        answered = {one.tool_call_id for one in messages if kind_of(one) == "tool"}
        last = next((one for one in reversed(messages) if kind_of(one) == "ai"), None)
        if last is None:  # the model, or the hook, left none
            return self.finish
        calls = [one for one in last.tool_calls if one["id"] not in answered]
        if calls:
            self._is_direct.forget()
            return _sends(calls, state)
        return self.entry if kind_of(messages[-1]) == "tool" else self.finish

    def route_tool_responses(self, state: Any) -> Any:
        """To the end if a tool returns directly, else back to the model."""
        for message in reversed(value_of(state, "messages")):
            if kind_of(message) == "tool":
                if message.name in self._direct:
                    return END
                continue
            return END if self._is_direct.on(message) else self.entry
        return self.entry


def _sends(calls: Sequence[Any], state: Any) -> list[Send]:
    return [Send("tools", SentCall.of(call, state)) for call in calls]


def value_of(state: Any, key: str) -> Any:
    """The value of a key of a state, which is a dict or an object; None without."""
    if isinstance(state, dict):
        return state.get(key)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return getattr(state, key, None)


def _as_seen(state: Any) -> Any:
    """The state as the model is to see it: the messages of `llm_input_messages` if there are any.

    Raises:
        InvalidValueError: There are no messages.
    """
    messages = value_of(state, "llm_input_messages")
    if messages:
        return _with_messages(state, messages)
    if value_of(state, "messages") is None:
        raise InvalidValueError(
            "The agent's model needs messages: the state has no 'messages', and no "
            "'llm_input_messages' of a pre_model_hook."
        )
    return state


def _with_messages(state: Any, messages: Any) -> Any:
    if isinstance(state, dict):
        return {**cast("dict[str, Any]", state), "messages": messages}
    copy: Callable[..., Any] = state.model_copy
    return copy(update={"messages": messages})


__all__ = ["ModelNode", "Prompt", "Routes", "StructuredNode", "value_of"]
