"""Agents of the older loop: given the steps so far, `plan` says what to do next, or ends."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, cast

from plait.agents.actions import (
    AgentAction,
    AgentActionMessageLog,
    AgentFinish,
    ToolAgentAction,
    as_text,
)
from plait.agents.format_scratchpad.steps import Steps
from plait.errors import ConfigError, InvalidValueError
from plait.exceptions import is_parsing_error
from plait.objects.fields import AnnotatedFields
from plait.runnables.addable import add
from plait.runnables.base import Runnable


class BasePlanner(AnnotatedFields, ABC):
    """What agents of one and of many actions share."""

    stopped_answer: ClassVar[str] = "Agent stopped due to iteration limit or time limit."
    """The output of an agent that ran out of iterations or time."""

    @property
    def return_values(self) -> list[str]:
        """The names of what the agent returns."""
        return ["output"]

    @property
    @abstractmethod
    def input_keys(self) -> list[str]:
        """The names of what the agent is to be given; a text is the value of the only one."""

    @abstractmethod
    def plan(self, intermediate_steps: Steps, callbacks: Any = None, **kwargs: Any) -> Any:
        """What to do next."""

    @abstractmethod
    async def aplan(self, intermediate_steps: Steps, callbacks: Any = None, **kwargs: Any) -> Any:
        """The async twin of `plan`."""

    def get_allowed_tools(self) -> list[str] | None:
        """The names of the tools that the executor must have, and no others; None: any."""
        return None

    def return_stopped_response(
        self, early_stopping_method: str, intermediate_steps: Steps, **_: Any
    ) -> AgentFinish:
        """The end of an agent that ran out of iterations or time.

        Args:
            early_stopping_method: "force": a text that says so. `RunnableAgent` also knows
                "generate": one more turn, for an answer.
            intermediate_steps: The actions so far, each with what came of it.
            **_: What the executor was called with.

        Raises:
            ConfigError: The method is not "force", the only one that any agent can do.
        """
        if early_stopping_method != "force":
            raise ConfigError(
                f"{type(self).__name__} cannot stop early by {early_stopping_method!r}: use "
                'early_stopping_method="force", or define return_stopped_response().'
            )
        return AgentFinish({"output": self.stopped_answer}, "")

    async def areturn_stopped_response(
        self, early_stopping_method: str, intermediate_steps: Steps, **kwargs: Any
    ) -> AgentFinish:
        """What async runs ask for in the place of `return_stopped_response`."""
        return self.return_stopped_response(early_stopping_method, intermediate_steps, **kwargs)


class BaseSingleActionAgent(BasePlanner):
    """An agent that does one thing at a time. Annotated fields are its keyword arguments.

    >>> class Parrot(BaseSingleActionAgent):
    ...     ending: str = "!"
    ...     @property
    ...     def input_keys(self):
    ...         return ["input"]
    ...     def plan(self, intermediate_steps, callbacks=None, **kwargs):
    ...         return AgentFinish({"output": kwargs["input"] + self.ending}, "")
    ...     async def aplan(self, intermediate_steps, callbacks=None, **kwargs):
    ...         return self.plan(intermediate_steps, callbacks, **kwargs)
    >>> Parrot(ending="?").plan([], input="hm").return_values
    {'output': 'hm?'}
    """

    @abstractmethod
    def plan(
        self, intermediate_steps: Steps, callbacks: Any = None, **kwargs: Any
    ) -> AgentAction | AgentFinish:
        """What to do next.

        Args:
            intermediate_steps: The actions so far, each with what came of it.
            callbacks: Handlers of the run.
            **kwargs: What the executor was called with.

        Returns:
            An action; or the end.
        """

    @abstractmethod
    async def aplan(
        self, intermediate_steps: Steps, callbacks: Any = None, **kwargs: Any
    ) -> AgentAction | AgentFinish:
        """The async twin of `plan`."""


class BaseMultiActionAgent(BasePlanner):
    """An agent that may do several things at a time."""

    stopped_answer: ClassVar[str] = "Agent stopped due to max iterations."

    @abstractmethod
    def plan(
        self, intermediate_steps: Steps, callbacks: Any = None, **kwargs: Any
    ) -> list[AgentAction] | AgentFinish:
        """What to do next: actions, which run at once; or the end."""

    @abstractmethod
    async def aplan(
        self, intermediate_steps: Steps, callbacks: Any = None, **kwargs: Any
    ) -> list[AgentAction] | AgentFinish:
        """The async twin of `plan`."""


class _OfRunnable(BasePlanner):
    """A runnable from inputs and steps to what is next, as an agent."""

    runnable: Any
    input_keys_arg: Sequence[str] = ()
    return_keys_arg: Sequence[str] = ()
    stream_runnable: bool = True

    @property
    def return_values(self) -> list[str]:
        """The names of what the agent returns, as given."""
        return list(self.return_keys_arg)

    @property
    def input_keys(self) -> list[str]:
        """The names of what the agent is to be given, as given."""
        return list(self.input_keys_arg)

    def plan(self, intermediate_steps: Steps, callbacks: Any = None, **kwargs: Any) -> Any:
        """What the runnable says."""
        given, config = {**kwargs, "intermediate_steps": intermediate_steps}, _config(callbacks)
        if not self.stream_runnable:
            return self.runnable.invoke(given, config)
        return add(self.runnable.stream(given, config))

    async def aplan(self, intermediate_steps: Steps, callbacks: Any = None, **kwargs: Any) -> Any:
        """The async twin of `plan`."""
        given, config = {**kwargs, "intermediate_steps": intermediate_steps}, _config(callbacks)
        if not self.stream_runnable:
            return await self.runnable.ainvoke(given, config)
        return add([chunk async for chunk in self.runnable.astream(given, config)])

    def return_stopped_response(
        self, early_stopping_method: str, intermediate_steps: Steps, **kwargs: Any
    ) -> AgentFinish:
        """The end: a text that says so ("force"), or what the runnable answers when it is asked
        once more and told to ("generate"); it runs no tool then.

        Raises:
            ConfigError: The method is another one.
        """
        if early_stopping_method != "generate":
            return super().return_stopped_response(early_stopping_method, intermediate_steps)
        try:
            decision = self.plan(_asked_to_finish(intermediate_steps), **kwargs)
        except ValueError as error:
            return self._unread(error)
        return self._end(decision)

    async def areturn_stopped_response(
        self, early_stopping_method: str, intermediate_steps: Steps, **kwargs: Any
    ) -> AgentFinish:
        """The async twin of `return_stopped_response`; one that a derived class defines counts."""
        is_own = type(self).return_stopped_response is _OfRunnable.return_stopped_response
        if early_stopping_method != "generate" or not is_own:
            return self.return_stopped_response(early_stopping_method, intermediate_steps, **kwargs)
        try:
            decision = await self.aplan(_asked_to_finish(intermediate_steps), **kwargs)
        except ValueError as error:
            return self._unread(error)
        return self._end(decision)

    def _unread(self, error: Any) -> AgentFinish:
        """The end that a last turn makes whose text is in no form: the text.

        Raises:
            ValueError: It is another error.
        """
        if not is_parsing_error(error):
            raise error
        text = error.llm_output or self.stopped_answer
        return AgentFinish({"output": text}, text)

    def _end(self, decision: Any) -> AgentFinish:
        """The end that a last turn makes: its answer; "force" if it is for going on."""
        decision = decided(decision)
        if isinstance(decision, AgentFinish):
            return decision
        return AgentFinish({"output": self.stopped_answer}, "")


class RunnableAgent(_OfRunnable, BaseSingleActionAgent):
    """A runnable that gives one action, or the end, as an agent.

    Args:
        runnable: It is given what the executor was called with, and `intermediate_steps`.
        input_keys_arg: The names of its inputs, for callers that give a text only.
        return_keys_arg: The names of what it returns.
        stream_runnable: Whether it is streamed, so that a model's tokens are heard as they come.
    """


class RunnableMultiActionAgent(_OfRunnable, BaseMultiActionAgent):
    """A runnable that gives a list of actions, or the end, as an agent (see `RunnableAgent`)."""


def as_agent(given: Any, stream_runnable: bool = True) -> BasePlanner:
    """An agent as it is; a runnable as one, that is streamed or not.

    Raises:
        InvalidValueError: It is neither.
    """
    if isinstance(given, BasePlanner):
        return given
    if isinstance(given, Runnable) or callable(getattr(given, "stream", None)):
        kind = RunnableMultiActionAgent if _gives_lists(given) else RunnableAgent
        return kind(runnable=given, stream_runnable=stream_runnable)
    raise InvalidValueError(
        "AgentExecutor needs an agent: a runnable that gives AgentAction or AgentFinish, such as "
        f"create_tool_calling_agent makes, or a BaseSingleActionAgent. Got {given!r}."
    )


def _gives_lists(runnable: Any) -> bool:
    said: Any = getattr(runnable, "OutputType", None)
    kinds: tuple[Any, ...] = getattr(said, "__args__", ())
    return any(getattr(kind, "__origin__", None) is list for kind in (said, *kinds))


def decided(decision: Any) -> list[AgentAction] | AgentFinish:
    """What an agent decided, checked, in one form.

    Raises:
        InvalidValueError: It is no decision.
    """
    several = isinstance(decision, list) or type(decision) is tuple
    items: list[Any] = [*cast("Any", decision)] if several else [decision]
    own = [_own(one) for one in items]
    if own and isinstance(own[0], AgentFinish):
        return own[0]
    if own and all(isinstance(one, AgentAction) for one in own):
        return own
    raise InvalidValueError(
        "An agent must say what to do next by AgentAction, a list of them, or AgentFinish. It gave "
        f"{decision!r}. Its last step is usually an output parser, such as ToolsAgentOutputParser."
    )


def _own(decision: Any) -> Any:
    """A decision as plait's own; langchain_core's are known by the names of their classes."""
    if isinstance(decision, (AgentAction, AgentFinish)):
        return decision
    for kind in (ToolAgentAction, AgentActionMessageLog, AgentAction, AgentFinish):
        if any(base.__name__ == kind.__name__ for base in type(decision).__mro__):
            names = kind.model_fields.keys() - {"type"}
            values: dict[str, Any] = {name: getattr(decision, name) for name in names}
            return kind(**values)
    return decision


def _asked_to_finish(steps: Steps) -> list[tuple[AgentAction, Any]]:
    """The steps, with the request in the last observation: that is seen in every scratchpad."""
    if not steps:
        return []
    *earlier, (action, observation) = steps
    return [*earlier, (action, f"{as_text(observation)}\n\n{_FINISH_NOW}")]


_FINISH_NOW = (
    "No further tool will run. Give your final answer now, as well as you can from what is known."
)


def _config(callbacks: Any) -> Any:
    return {"callbacks": callbacks} if callbacks is not None else None


__all__ = [
    "BaseMultiActionAgent",
    "BasePlanner",
    "BaseSingleActionAgent",
    "RunnableAgent",
    "RunnableMultiActionAgent",
    "as_agent",
    "decided",
]
