"""`ProviderToolSearchMiddleware`: the provider looks for the tools that a model is not shown."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.requests import ModelRequest, ModelResponse
from plait.chat_models.configurable import ConfigurableModel
from plait.errors import ConfigError

_DEFERRED = "defer_loading"
_SEARCHES: dict[str, dict[str, Any]] = {
    "anthropic": {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
    "openai": {"type": "tool_search"},
}
"""By provider, its own tool that finds deferred tools."""
_BY_CLASS = {"ChatAnthropic": "anthropic", "ChatOpenAI": "openai"}
"""Providers of models that do not say theirs, by the name of their class."""


class ProviderToolSearchMiddleware(AgentMiddleware[Any, Any, Any]):
    """Defers tools: the model is told of one only when its provider has found it for a search.

    So that of many tools the request carries only those that matter. Anthropic and OpenAI search
    on their servers; where nothing is deferred, any model may be asked.

    Args:
        searchable_tools: The tools to defer, or their names; beside these, each that says so
            itself is deferred (`@tool(extras={"defer_loading": True})`).

    Raises:
        ConfigError: One of them is neither a tool nor a name.

    >>> ProviderToolSearchMiddleware(searchable_tools=["find_order"]).name
    'ProviderToolSearchMiddleware'
    """

    def __init__(self, *, searchable_tools: Sequence[Any] | None = None) -> None:
        super().__init__()
        self.searchable_tool_names = {_name_of(one) for one in searchable_tools or ()}
        """The names of the tools that are deferred beside those that say so."""

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Ask the model with deferred tools.

        Raises:
            ConfigError: A name is that of no tool, or the provider knows no search.
        """
        return handler(self._deferred(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The async twin of `wrap_model_call`."""
        return await handler(self._deferred(request))

    def _deferred(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        own = [one for one in request.tools if not isinstance(one, Mapping)]
        missing = sorted(self.searchable_tool_names - {one.name for one in own})
        if missing:
            raise ConfigError(
                f"ProviderToolSearchMiddleware: searchable_tools names {', '.join(missing)}, but "
                "the model is given no such tool of the agent's own."
            )
        deferred = {one.name for one in own if _says_so(one)} | self.searchable_tool_names
        if not deferred:
            return request
        search = _SEARCHES[_provider(request.model)]
        tools = [_marked(one) if _is_in(one, deferred) else one for one in request.tools]
        return request.override(tools=[*tools, search])


def _name_of(tool: Any) -> str:
    name = getattr(tool, "name", tool)
    if not isinstance(name, str):
        raise ConfigError(
            f"ProviderToolSearchMiddleware: {tool!r} in searchable_tools is neither a tool nor the "
            "name of one."
        )
    return name


def _says_so(tool: Any) -> bool:
    extras: dict[str, Any] | None = tool.extras
    return bool(extras) and extras.get(_DEFERRED) is True


def _is_in(tool: Any, names: set[str]) -> bool:
    return not isinstance(tool, Mapping) and tool.name in names


def _marked(tool: Any) -> Any:
    """The tool, with the mark by which a provider's wire defers it; the agent's own stays."""
    if _says_so(tool):
        return tool
    return tool.model_copy(update={"extras": {**(tool.extras or {}), _DEFERRED: True}})


def _provider(model: Any) -> str:
    if isinstance(model, ConfigurableModel):
        model = model.model_for(None)  # the one that the config of this run chooses
    told = str(getattr(model, "_get_ls_params", dict[str, Any])().get("ls_provider") or "").lower()
    told = told or _BY_CLASS.get(type(model).__name__, "")
    if told not in _SEARCHES:
        whose = f"its provider is {told!r}" if told else "it does not say its provider"
        raise ConfigError(
            f"ProviderToolSearchMiddleware: {type(model).__name__} cannot search for tools "
            f"({whose}). Models of {' and '.join(_SEARCHES)} can."
        )
    return told


__all__ = ["ProviderToolSearchMiddleware"]
