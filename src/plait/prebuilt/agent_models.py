"""The model of an agent: in which forms it may be given, and how it gets its tools."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from plait.chat_models.guests import as_chat_model, is_langchain_model
from plait.errors import ConfigError, InvalidInputError, NotSupportedError
from plait.prebuilt.injection import runtime_around
from plait.runnables.binding import RunnableBinding, RunnableBindingBase
from plait.runnables.calling import is_async
from plait.runnables.known import is_runnable
from plait.runnables.sequence import RunnableSequence

_FUNCTIONS = "function_declarations"


class AgentModel:
    """A model with the agent's tools, or the function that picks one for each call.

    Args:
        given: "provider:name", a chat model, one with tools bound to it, a chain with one in it,
            or a function of (state, runtime), sync or async, that returns one with its tools, or
            any runnable that answers messages with one. Without tools to bind, `given` may be
            such a runnable, too.
        tools: The tools to bind: tools, and dicts of the provider's own.

    Raises:
        ConfigError: The model has other tools bound to it than the agent has.
        InvalidInputError: It is no model, or there are tools that cannot be bound to it.
    """

    def __init__(self, given: Any, tools: Sequence[Any]) -> None:
        self._choose: Callable[..., Any] | None = None
        self._bound: Any = None
        if callable(given) and not hasattr(given, "invoke"):
            self._choose = given
            return
        model = as_agent_model(given) if tools else _answering(given)
        is_bound = _has_tools(model, tools)
        if tools and not is_bound:
            model = with_tools(model, tools)
        self._bound = model

    def chosen(self, state: Any, config: Any) -> Any:
        """The model for this call.

        Raises:
            NotSupportedError: It is picked by an async function.
        """
        if self._choose is None:
            return self._bound
        if is_async(self._choose):
            raise NotSupportedError(
                "The agent's model is picked by an async function, so the agent must be called by "
                "ainvoke or astream."
            )
        return _answering(self._choose(state, runtime_around(config)))

    async def achosen(self, state: Any, config: Any) -> Any:
        """The async twin of `chosen`."""
        if self._choose is None:
            return self._bound
        picked = self._choose(state, runtime_around(config))
        return _answering(await picked if is_async(self._choose) else picked)


def _answering(model: Any) -> Any:
    """What answers messages with one: a model in any form, or a runnable that needs no tools."""
    if is_runnable(model) and not hasattr(model, "bind_tools") and not is_langchain_model(model):
        return model
    return as_agent_model(model)


def bare(model: Any) -> Any:
    """The chat model without what is bound to it or stands around it."""
    while True:
        if isinstance(model, RunnableSequence):
            steps: list[Any] = cast("Any", model).steps
            model = next((one for one in steps if _is_model(bare(one))), steps[-1])
        elif isinstance(model, RunnableBindingBase):
            model = cast("Any", model).bound
        else:
            return model


def _is_model(value: Any) -> bool:
    return hasattr(value, "bind_tools") and hasattr(value, "with_structured_output")


def as_agent_model(model: Any) -> Any:
    """A model as one of plait's, with what is bound to it and stands around it.

    Args:
        model: "provider:name", a chat model, one with something bound to it, a chain with one.

    Raises:
        InvalidInputError: It is none of these.
    """
    if is_langchain_model(getattr(model, "bound", None)):
        from plait.chat_models.langchain import LangChainChatModel  # only where one is there

        return LangChainChatModel(model)
    if isinstance(model, (RunnableSequence, RunnableBindingBase)):
        return cast("Any", model)
    return as_chat_model(model)


def with_tools(model: Any, tools: Sequence[Any], **kwargs: Any) -> Any:
    """A model with tools; what else is bound to it, and the steps around it, stay.

    Args:
        model: What `as_agent_model` gave.
        tools: Tools, and dicts of the provider's own.
        **kwargs: More arguments of `bind_tools`.

    Raises:
        InvalidInputError: It is a chain without a model.
    """
    if isinstance(model, RunnableSequence):
        chain = cast("Any", model)
        are_models = [_is_model(bare(one)) for one in chain.steps]
        if not any(are_models):
            raise InvalidInputError(
                f"No step of {chain!r:.200} is a chat model, which the agent's tools could be "
                "bound to. Give a chain with one, or no tools."
            )
        steps = [
            with_tools(one, tools, **kwargs) if is_model else one
            for one, is_model in zip(chain.steps, are_models, strict=True)
        ]
        return RunnableSequence(*steps, name=chain.name)
    if isinstance(model, RunnableBindingBase):
        binding = cast("Any", model)
        inner = with_tools(binding.bound, tools, **kwargs)
        if not isinstance(binding, RunnableBinding):  # it does more than to hand on: it tries again
            return binding.model_copy(update={"bound": inner})
        others = {k: v for k, v in binding.kwargs.items() if k != "tools" and kwargs.get(k) is None}
        return inner.bind(**others).with_config(binding.config)
    return model.bind_tools(tools, **kwargs)


def refuse_other_tools(model: Any, tools: Sequence[Any]) -> None:
    """Refuse a model with tools bound to it that its agent lacks: it would not be shown them.

    Args:
        model: What `as_agent_model` gave.
        tools: Those of the agent, which replace them.

    Raises:
        ConfigError: There are some.
    """
    known = {_label_of(one) for one in tools}
    others = [label for one in _bound_tools(model) or () if (label := _label_of(one)) not in known]
    if others:
        raise ConfigError(
            f"The model has the tools {others} bound to it, which create_agent was not given (it "
            f"has: {sorted(map(str, known))}). Give them to the agent too, or a model without."
        )


def _has_tools(model: Any, tools: Sequence[Any]) -> bool:
    """Whether tools are bound to the model already.

    Raises:
        ConfigError: They are not those of the agent.
    """
    bound = _bound_tools(model)
    if bound is None:
        return False
    wanted = {one.name for one in tools if not isinstance(one, Mapping)}
    if len(bound) != len(tools) or not wanted <= set(map(_name_of, bound)):
        has, given = (sorted(map(str, map(_label_of, each))) for each in (bound, tools))
        raise ConfigError(
            f"The model has the tools {has} bound to it, and create_react_agent was given {given}. "
            "Give the agent the same tools, or a model without."
        )
    return True


def _bound_tools(model: Any) -> list[Any] | None:
    model = getattr(model, "guest", model)
    if isinstance(model, RunnableSequence):
        steps: list[Any] = cast("Any", model).steps
        return next((found for found in map(_bound_tools, steps) if found is not None), None)
    kwargs = getattr(model, "kwargs", None)
    if not isinstance(kwargs, dict):
        return None
    bound: Sequence[Any] | None = cast("dict[str, Any]", kwargs).get("tools")
    return None if bound is None else [tool for one in bound for tool in _apart(one)]


def _apart(bound: Any) -> Sequence[Any]:
    """The tools in what was bound: Google's models have all their functions in one."""
    if not isinstance(bound, Mapping):
        return [bound]
    return cast("Mapping[str, Any]", bound).get(_FUNCTIONS, [bound])


def _label_of(tool: Any) -> str | None:
    """The name of a tool, or the type of one that the provider runs itself (Google names it by its
    key)."""
    name = _name_of(tool)
    if name is not None or not isinstance(tool, Mapping):
        return name
    its = cast("Mapping[str, Any]", tool)
    return its.get("type", next(iter(its), None))


def _name_of(tool: Any) -> str | None:
    """The name of a tool, a function, or a tool in a provider's form."""
    if isinstance(tool, str):
        return tool
    if not isinstance(tool, Mapping):
        return getattr(tool, "name", None) or getattr(tool, "__name__", None)
    its = cast("Mapping[str, Any]", tool)
    return cast("Mapping[str, Any]", its.get("function", its)).get("name")


__all__ = ["AgentModel", "as_agent_model", "bare", "refuse_other_tools", "with_tools"]
