"""The node that calls an agent's model: the request, what wraps the call, and what comes of it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, TypeAlias, cast

from plait.agents.hooks import Middleware, with_hook
from plait.agents.middleware.requests import ExtendedModelResponse, ModelRequest, ModelResponse
from plait.agents.responses import Responses
from plait.callbacks.context import finds_config, inherited_config, is_finding, is_heard_here
from plait.common.reflection import is_unawaited
from plait.errors import ConfigError, InvalidUpdateError, NotSupportedError, UndeclaredJumpError
from plait.graph.message import REMOVE_ALL_MESSAGES
from plait.messages import RemoveMessage, SystemMessage
from plait.messages.foreign import kind_of
from plait.prebuilt.agent_history import HistoryRepair, MalformedRepair
from plait.prebuilt.agent_models import as_agent_model, with_tools
from plait.pregel.scope import scope_for
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig, ensure_config
from plait.scope import Scope, current_scope
from plait.types import Command

Request: TypeAlias = ModelRequest[Any]
Answered: TypeAlias = tuple[ModelResponse[Any], list[Command[Any]]]
"""A response, and the updates of middleware that come with it, innermost first."""
Call: TypeAlias = Callable[[Request], Answered]
AsyncCall: TypeAlias = Callable[[Request], Awaitable[Answered]]


@dataclass
class ModelTools:
    """The tools of an agent, as its model sees them.

    Args:
        shown: What is bound to the model: tools, and dicts of the provider's own.
        names: The names of the tools that the agent can run.
        others_run: Whether middleware around tool calls may run tools that the agent has not.
    """

    shown: list[Any]
    names: frozenset[str]
    others_run: bool

    def check(self, tools: Sequence[Any]) -> None:
        """Refuse tools that middleware added and nobody could run.

        Raises:
            ConfigError: There is one.
        """
        if self.others_run:
            return
        shown = [one for one in tools if not isinstance(one, Mapping)]
        unknown = sorted(name for one in shown if (name := name_of(one)) not in self.names)
        if unknown:
            raise ConfigError(
                f"Middleware added tools that the agent cannot run: {', '.join(unknown)} (it has: "
                f"{', '.join(sorted(self.names)) or 'none'}). Give them to create_agent(tools=...) "
                "or to the middleware's tools, or run them in a wrap_tool_call."
            )


def name_of(tool: Any) -> str:
    """The name of a tool or function."""
    return getattr(tool, "name", None) or getattr(tool, "__name__", repr(tool))


class ModelNode(Runnable[Any, Any]):
    """Asks the model for the next message.

    Args:
        model: The chat model.
        tools: What it may call.
        system_message: What is put before the messages.
        responses: The structured responses of the agent.
        middleware: The middleware of the agent; those that wrap model calls are used.
        agent: The agent's name, which signs its messages.
        repairs: Whether tool calls that a stopped run has left without an answer get one.
        keeps_repairs: Whether the state gets it too: its messages are those of `add_messages`.
    """

    def __init__(
        self,
        model: Any,
        tools: ModelTools,
        system_message: SystemMessage | None,
        responses: Responses,
        middleware: Sequence[Middleware],
        agent: str | None,
        *,
        repairs: bool,
        keeps_repairs: bool,
    ) -> None:
        self.name = "model"
        self._model = model
        self._tools = tools
        self._system_message = system_message
        self._responses = responses
        self._wraps = with_hook(middleware, "wrap_model_call")
        self._agent = agent
        self._history = HistoryRepair() if repairs else MalformedRepair()
        self._keeps_repairs = keeps_repairs
        self._last_bound: tuple[tuple[Any, ...], Any] | None = None
        self._plain: Request = ModelRequest(
            model=model, messages=[], tools=tools.shown, response_format=responses.format
        )
        """What each request says of the model, where no middleware can change it."""

    @finds_config
    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The update of the state with the model's message."""
        mended = self._history.mended(input["messages"])
        messages = input["messages"] if mended is None else mended
        if not self._wraps:
            model, strategy = self._prepared(self._plain)
            message = model.invoke(self._shown(messages), _config_for(model.invoke, config))
            return self._update(self._responses.read(self._signed(message), strategy), [], mended)

        config, scope = _heard(config), current_scope.get()

        def ask(request: Request) -> Answered:
            model, strategy = self._prepared(request)
            message = model.invoke(_messages(request), _config_for(model.invoke, config, scope))
            return self._responses.read(self._signed(message), strategy), []

        call: Call = ask
        for one in reversed(self._wraps):
            call = _wrapped(one, call)
        return self._update(*call(self._request(input, messages, config)), mended)

    @finds_config
    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`."""
        mended = await self._history.amended(input["messages"])
        messages = input["messages"] if mended is None else mended
        if not self._wraps:
            model, strategy = self._prepared(self._plain)
            its = _config_for(model.ainvoke, config)
            message = await model.ainvoke(self._shown(messages), its)
            return self._update(self._responses.read(self._signed(message), strategy), [], mended)

        config, scope = _heard(config), current_scope.get()

        async def ask(request: Request) -> Answered:
            model, strategy = self._prepared(request)
            its = _config_for(model.ainvoke, config, scope)
            message = await model.ainvoke(_messages(request), its)
            return self._responses.read(self._signed(message), strategy), []

        call: AsyncCall = ask
        for one in reversed(self._wraps):
            call = _awrapped(one, call)
        return self._update(*await call(self._request(input, messages, config)), mended)

    def _shown(self, messages: Sequence[Any]) -> list[Any]:
        """The messages of a request that no middleware sees."""
        first = self._system_message
        return [*messages] if first is None else [first, *messages]

    def _request(
        self, state: Any, messages: Sequence[Any], config: RunnableConfig | None
    ) -> Request:
        """What middleware may change.

        As in LangChain, the messages are those of the state, so that one which is added in place is
        kept; what is added to those of the request's state is not.
        """
        return ModelRequest(
            model=self._model,
            messages=messages if isinstance(messages, list) else [*messages],
            system_message=self._system_message,
            tools=list(self._tools.shown),
            response_format=self._responses.format,
            state={**state, "messages": [*state["messages"]]},
            runtime=scope_for(config).runtime(),
        )

    def _prepared(self, request: Request) -> tuple[Any, Any]:
        """The model with all that the request binds to it, and the strategy of its response.

        Most agents ask for the same each time, so the last model is kept.
        """
        strategy = request.response_format
        key = (request.model, strategy, request.tool_choice, *request.tools)
        known = self._last_bound
        if known is not None and not request.model_settings and _same(known[0], key):
            return known[1]
        self._tools.check(request.tools)
        model = as_agent_model(request.model)
        strategy = self._responses.strategy(strategy, model, request.tools)
        bound = self._bound(model, request, strategy)
        if not request.model_settings:
            self._last_bound = key, (bound, strategy)
        return bound, strategy

    def _bound(self, model: Any, request: Request, strategy: Any) -> Any:
        of_provider = self._responses.provider_kwargs(strategy)
        kwargs = {**of_provider, **request.model_settings}
        answers = self._responses.tools_of(strategy)
        tools = [*request.tools, *answers]
        if tools:
            choice = "any" if answers else request.tool_choice
            if choice is not None or not of_provider:  # a provider's form is bound without one
                kwargs["tool_choice"] = choice
            return with_tools(model, tools, **kwargs)
        return model.bind(**kwargs) if kwargs else model

    def _signed(self, message: Any) -> Any:
        if self._agent is None:
            return message
        return message.model_copy(update={"name": self._agent})

    def _update(
        self,
        response: ModelResponse[Any],
        commands: list[Command[Any]],
        mended: list[Any] | None,
    ) -> Any:
        """The update: what the model said, after the history if that had to be mended."""
        said = response.result
        if mended is not None and self._keeps_repairs:
            said = [RemoveMessage(REMOVE_ALL_MESSAGES), *mended, *said]
        update: dict[str, Any] = {"messages": [*said]}
        value = response.structured_response
        if value is not None or self._responses.format is not None:
            update["structured_response"] = value
        if commands or is_heard_here():
            return [Command(update=update), *commands]  # who listens is told them all in one form
        return update


def _same(known: tuple[Any, ...], key: tuple[Any, ...]) -> bool:
    return len(known) == len(key) and all(map(is_, known, key))


def _heard(config: RunnableConfig | None) -> Any:
    """The config, if somebody listens: middleware may ask the model in a thread of its own, where
    it would not be found."""
    return inherited_config() if config is None and is_heard_here() else config


def _config_for(method: Any, config: RunnableConfig | None, scope: Scope | None = None) -> Any:
    """The config that a model's method is handed; None if it finds that of the node by itself."""
    if config is None and is_finding(method):
        return None
    return ensure_config(config) if config is not None or scope is None else scope.config()


def _messages(request: Request) -> list[Any]:
    first = request.system_message
    return [*request.messages] if first is None else [first, *request.messages]


def _wrapped(middleware: Middleware, inner: Call) -> Call:
    """The call with a middleware around it."""

    def call(request: Request) -> Answered:
        commands: list[Command[Any]] = []

        def handler(changed: Request) -> ModelResponse[Any]:
            nonlocal commands
            commands = []  # of several attempts the last one counts
            response, commands = inner(changed)
            return response

        response, own = _taken(middleware.wrap_model_call(request, handler), middleware)
        return response, commands if own is None else [*commands, own]

    return call


def _awrapped(middleware: Middleware, inner: AsyncCall) -> AsyncCall:
    """The async twin of `_wrapped`."""

    async def call(request: Request) -> Answered:
        commands: list[Command[Any]] = []

        async def handler(changed: Request) -> ModelResponse[Any]:
            nonlocal commands
            commands = []
            response, commands = await inner(changed)
            return response

        result = await middleware.awrap_model_call(request, handler)
        response, own = _taken(result, middleware)
        return response, commands if own is None else [*commands, own]

    return call


def _taken(result: Any, middleware: Middleware) -> tuple[ModelResponse[Any], Command[Any] | None]:
    """What a wrapper returned, as a response and an update.

    Raises:
        InvalidUpdateError: It is neither a response nor a message of the model's.
        NotSupportedError: Its Command does more than update the state.
    """
    command = None
    if isinstance(result, ExtendedModelResponse):
        extended = cast("ExtendedModelResponse[Any]", result)
        command, result = extended.command, extended.model_response
        for part in ("goto", "resume", "graph"):
            if command is not None and getattr(command, part):
                raise NotSupportedError(
                    f"The Command of wrap_model_call of middleware {middleware.name!r} has a "
                    f"{part}; here it can only update the state. To lead the agent elsewhere, set "
                    "jump_to in a before_model or after_model hook."
                )
        _refuse_jump(command, middleware)
    if isinstance(result, ModelResponse):
        return cast("ModelResponse[Any]", result), command
    if kind_of(result) == "ai":
        return ModelResponse([result]), command
    if is_unawaited(result):
        raise InvalidUpdateError(
            f"wrap_model_call of middleware {middleware.name!r} returned {result!r:.200}, which "
            "nobody awaits. In an async wrapper write `return await handler(request)`."
        )
    raise InvalidUpdateError(
        f"wrap_model_call of middleware {middleware.name!r} returned {result!r:.200}. Return what "
        "the handler gave, a ModelResponse, an ExtendedModelResponse or an AIMessage."
    )


def _refuse_jump(command: Command[Any] | None, middleware: Middleware) -> None:
    update: Any = None if command is None else command.update
    if isinstance(update, Mapping) and cast("Mapping[str, Any]", update).get("jump_to"):
        raise UndeclaredJumpError(
            f"The Command of wrap_model_call of middleware {middleware.name!r} sets jump_to, which "
            "only hooks can. Set it in a before_model or after_model hook that declares it."
        )


__all__ = ["ModelNode", "ModelTools", "name_of"]
