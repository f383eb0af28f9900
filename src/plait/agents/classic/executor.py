"""`AgentExecutor`: asks an agent, runs the tools it names, and asks again, until it is done."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from plait.agents.classic.base import BasePlanner, as_agent
from plait.agents.classic.calls import OlderCalls, new_run, told_run
from plait.agents.classic.memory import Memory
from plait.agents.classic.nodes import Step, executor_graph, fresh
from plait.agents.classic.options import fitted
from plait.agents.classic.telling import INTERMEDIATE_STEP, News, Progress
from plait.callbacks import has_listeners
from plait.common.closing import aclose
from plait.errors import (
    ConfigError,
    InvalidValueError,
    NotSupportedError,
    ToolInputError,
    nearest,
)
from plait.exceptions import OutputParserException
from plait.objects.fields import AnnotatedFields
from plait.runnables.addable import AddableDict
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig, ensure_config
from plait.runnables.runs import acall_as_run, call_as_run
from plait.runnables.stream_runs import astream_as_run, stream_as_run
from plait.tools import coerce_to_tool
from plait.types import Command

if TYPE_CHECKING:
    from pydantic import BaseModel

Shape: TypeAlias = Callable[[Progress, News], list[AddableDict]]

_INNER = "steps"
"""What the run of the graph inside is called: whoever listens for the executor by its name hears of
each of its runs once."""
_ENOUGH = 1 << 30
"""Super-steps for an agent that is asked as often as it likes."""


class AgentExecutor(OlderCalls, AnnotatedFields, Runnable[Any, dict[str, Any]]):
    """The older loop around an agent, as a face of plait's graphs.

    Behind it is the compiled graph `graph`: a node that asks the agent, and a node that runs one
    tool. So an executor takes a checkpointer and a thread id, waits for people (a tool that calls
    `interrupt`; go on with `invoke(Command(resume=...), config)`), and can be drawn.

    Args:
        agent: A runnable that gives `AgentAction`, a list of them, or `AgentFinish`; or an agent
            derived from `BaseSingleActionAgent` or `BaseMultiActionAgent`.
        tools: The tools that it may name. Those of one turn run at once.
        return_intermediate_steps: The output has `intermediate_steps` too: (action, observation).
        max_iterations: How often the agent is asked (None: as often as it likes).
        max_execution_time: How many seconds a run may take. What runs then is given up: async code
            is cancelled, a thread runs on and is not heard.
        early_stopping_method: What becomes of a run that is over by these: "force", a text that
            says so; "generate", one more turn for an answer, which takes the time that it takes;
            what else the agent's `return_stopped_response` knows.
        handle_parsing_errors: What a text that the agent's parser cannot read becomes: an error
            (False), an observation that says what was wrong (True), this text, or what this
            function makes of the error.
        trim_intermediate_steps: How many of the last steps the agent is shown (-1 or 0: all), or a
            function that picks them.
        stream_runnable: Whether a runnable that is the agent is streamed (see `RunnableAgent`).
        memory: Keeps conversations: `memory_variables`, `load_memory_variables(inputs)` and
            `save_context(inputs, outputs)`.
        callbacks: Handlers of the executor's own runs; those in the config hear what is inside too.
        verbose: Print what the agent does.
        tags: Labels of its runs.
        metadata: Facts about its runs.
        name: Its name.
        checkpointer: Keeps its threads, so that a call that was cut off, or waits, goes on.
        store: Long-term memory, for tools.
        interrupt_before: Nodes to stop before: "agent", "tools".
        interrupt_after: Nodes to stop after.

    Raises:
        InvalidValueError: `agent` is none, or an option is nothing of its kind.
        ConfigError: The agent wants other tools than these.
        ToolDefinitionError: Something is no tool.

    >>> from plait.agents.actions import AgentAction, AgentFinish
    >>> from plait.runnables import RunnableLambda
    >>> def decide(given):
    ...     if not given["intermediate_steps"]:
    ...         return AgentAction("shout", given["input"], "I shout it.")
    ...     return AgentFinish({"output": given["intermediate_steps"][-1][1]}, "Done.")
    >>> def shout(text: str) -> str:
    ...     "Say it loudly."
    ...     return text.upper()
    >>> AgentExecutor(agent=RunnableLambda(decide), tools=[shout]).invoke({"input": "hi"})
    {'input': 'hi', 'output': 'HI'}
    """

    agent: Any
    tools: Sequence[Any]
    return_intermediate_steps: bool = False
    max_iterations: int | None = 15
    max_execution_time: float | None = None
    early_stopping_method: str = "force"
    handle_parsing_errors: bool | str | Callable[[OutputParserException], str] = False
    trim_intermediate_steps: int | Callable[[list[Step]], list[Step]] = -1
    stream_runnable: bool = True
    memory: Any = None
    callbacks: Any = None
    verbose: bool = False
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    name: str | None = None
    checkpointer: Any = None
    store: Any = None
    interrupt_before: list[str] | None = None
    interrupt_after: list[str] | None = None

    def __init__(self, **values: Any) -> None:
        super().__init__(**fitted(values))
        self.agent = as_agent(self.agent, self.stream_runnable)
        self.tools = [coerce_to_tool(one) for one in self.tools]
        allowed = self._planner.get_allowed_tools()
        names = [one.name for one in self.tools]
        if allowed is not None and set(allowed) != set(names):
            raise ConfigError(
                f"The agent wants the tools {sorted(allowed)}, and the executor was given "
                f"{sorted(names)}. Give it the tools that the agent was made for."
            )

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__.pop("graph", None)  # made from the fields, so it goes with each of them
        object.__setattr__(self, name, value)

    @classmethod
    def from_agent_and_tools(
        cls, agent: Any, tools: Sequence[Any], callbacks: Any = None, **kwargs: Any
    ) -> "AgentExecutor":
        """An executor by position."""
        return cls(agent=agent, tools=tools, callbacks=callbacks, **kwargs)

    @cached_property
    def graph(self) -> Any:
        """The compiled graph, whose threads can be read and steered (`get_state`, ...)."""
        return executor_graph(
            cast("Any", self),
            self.tools,
            checkpointer=self.checkpointer,
            store=self.store,
            interrupt_before=self.interrupt_before,
            interrupt_after=self.interrupt_after,
            name=self.get_name(),
        )

    @property
    def input_keys(self) -> list[str]:
        """The names of its inputs, where the agent says them."""
        return self._planner.input_keys

    @property
    def output_keys(self) -> list[str]:
        """The names of what it returns, where the agent says them."""
        more = ["intermediate_steps"] if self.return_intermediate_steps else []
        return [*self._planner.return_values, *more]

    def lookup_tool(self, name: str) -> Any:
        """The tool of a name.

        Raises:
            ToolInputError: There is none (it is a KeyError).
        """
        tools = {one.name: one for one in self.tools}
        if name not in tools:
            raise ToolInputError(f"There is no tool {name!r}. {nearest(name, list(tools))}")
        return tools[name]

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """A pydantic model of the inputs, as far as the agent names them."""
        return _schema(self.get_name("Input"), self.input_keys)

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """A pydantic model of what it returns, as far as the agent names it."""
        return _schema(self.get_name("Output"), self.output_keys)

    def get_graph(self, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The picture of its graph."""
        return self.graph.get_graph(config, **kwargs)

    # --- calls -----------------------------------------------------------------------------------

    def invoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        return_only_outputs: bool = False,
        include_run_info: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Let the agent work.

        Args:
            input: The agent's inputs; a text if it has one. On a thread also what goes on with
                it: `Command(resume=...)`, or None.
            config: The config; `configurable={"thread_id": ...}` where there is a checkpointer.
            return_only_outputs: Leave the inputs out of the output.
            include_run_info: The output has `__run` too, with the id of the run.
            **kwargs: Go to the graph (`durability=`, `context=`, ...).

        Returns:
            The inputs and the return values; or, where a tool asks a person, the inputs and
            `__interrupt__`.

        Raises:
            InvalidValueError: An input is missing; or the agent ended without a value that it
                names.
            ValueError: The agent's parser could not read a text, and parsing errors are not
                handled.
        """

        progress = self._progress()

        def work(child: RunnableConfig, run: Any) -> dict[str, Any]:
            for _ in self._news(input, child, run, progress, kwargs):
                pass
            return progress.output(only_outputs=True)

        config, told = told_run(config, include_run_info)
        call_as_run(work, self.get_name(), input, self._heard(config))
        return {**progress.output(return_only_outputs), **told}

    async def ainvoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        return_only_outputs: bool = False,
        include_run_info: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The async twin of `invoke`."""

        progress = self._progress()

        async def work(child: RunnableConfig, run: Any) -> dict[str, Any]:
            async for _ in self._anews(input, child, run, progress, kwargs):
                pass
            return progress.output(only_outputs=True)

        config, told = told_run(config, include_run_info)
        await acall_as_run(work, self.get_name(), input, self._heard(config))
        return {**progress.output(return_only_outputs), **told}

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Yield what the agent does, as it does it.

        Yields:
            `actions` before they run, `steps` when they have run, the output; each with `messages`.
            With a `stream_mode=`, what the graph yields in it (tokens: "messages").

        Raises:
            NotSupportedError: A `stream_mode`, and a memory, which would not hear of the end.
        """
        if kwargs.get("stream_mode") is not None:
            given, bounded = self._unremembered(input), self._bounded(self._heard(config))
            yield from self.graph.stream(given, bounded, **kwargs)
            return
        yield from self._streamed(input, config, Progress.chunks, kwargs)

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """The async twin of `stream`."""
        if kwargs.get("stream_mode") is not None:
            given, bounded = self._unremembered(input), self._bounded(self._heard(config))
            chunks = self.graph.astream(given, bounded, **kwargs)
        else:
            chunks = self._astreamed(input, config, Progress.chunks, kwargs)
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            await aclose(chunks)

    def iter(
        self,
        inputs: Any,
        callbacks: Any = None,
        *,
        include_run_info: bool = False,
        async_: bool = False,
    ) -> "StepIterator":
        """Go through the steps one turn at a time, by `for` or `async for`.

        Args:
            inputs: The agent's inputs; a text if it has one.
            callbacks: Handlers of what runs.
            include_run_info: The output has `__run` too, with the id of the run.
            async_: Says nothing; the kind of loop does.

        Yields:
            `{"intermediate_step": [(action, observation), ...]}`, at last the output.
        """

        def config() -> tuple[RunnableConfig, dict[str, Any]]:
            given = new_run(callbacks=callbacks)
            return given, told_run(given, include_run_info)[1]

        return StepIterator(self, inputs, config)

    def turns(self, inputs: Any, config: RunnableConfig) -> Iterator[dict[str, Any]]:
        """The turns of one run (see `iter`)."""
        return self._streamed(inputs, config, Progress.turns, {})

    def aturns(self, inputs: Any, config: RunnableConfig) -> AsyncIterator[dict[str, Any]]:
        """The async twin of `turns`."""
        return self._astreamed(inputs, config, Progress.turns, {})

    # --- one run ---------------------------------------------------------------------------------

    def _streamed(
        self, input: Any, config: RunnableConfig | None, shape: Shape, kwargs: dict[str, Any]
    ) -> Iterator[AddableDict]:
        """A run whose news come in chunks of some shape, the open questions last."""

        def work(child: RunnableConfig, run: Any) -> Iterator[AddableDict]:
            progress = self._progress()
            for news in self._news(input, child, run, progress, kwargs):
                yield from shape(progress, news)
            if progress.questions:
                yield AddableDict(progress.output(only_outputs=True))

        return stream_as_run(work, self.get_name(), input, self._heard(config), _last)

    def _astreamed(
        self, input: Any, config: RunnableConfig | None, shape: Shape, kwargs: dict[str, Any]
    ) -> AsyncIterator[AddableDict]:
        """The async twin of `_streamed`."""

        async def work(child: RunnableConfig, run: Any) -> AsyncIterator[AddableDict]:
            progress = self._progress()
            every = self._anews(input, child, run, progress, kwargs)
            try:
                async for news in every:
                    for chunk in shape(progress, news):
                        yield chunk
            finally:
                await aclose(every)
            if progress.questions:
                yield AddableDict(progress.output(only_outputs=True))

        return astream_as_run(work, self.get_name(), input, self._heard(config), _last)

    def _news(
        self,
        input: Any,
        config: RunnableConfig,
        run: Any,
        progress: Progress,
        kwargs: dict[str, Any],
    ) -> Iterator[News]:
        memory = self._memory()
        given = memory.loaded(self._input(input))
        bounded = self._bounded({**config, "run_name": _INNER})
        for part in self.graph.stream(given, bounded, stream_mode="values", **kwargs):
            news = progress.read(part)
            self._print_steps(news, config)
            if run is not None:
                for action in news.actions:
                    run.on_agent_action(action, color="green")
                if news.finish is not None:
                    run.on_agent_finish(news.finish, color="green")
            yield news
        memory.save(progress.state)

    async def _anews(
        self,
        input: Any,
        config: RunnableConfig,
        run: Any,
        progress: Progress,
        kwargs: dict[str, Any],
    ) -> AsyncIterator[News]:
        memory = self._memory()
        given = await memory.aloaded(self._input(input))
        bounded = self._bounded({**config, "run_name": _INNER})
        parts = self.graph.astream(given, bounded, stream_mode="values", **kwargs)
        try:
            async for part in parts:
                news = progress.read(part)
                self._print_steps(news, config)
                if run is not None:
                    for action in news.actions:
                        await run.on_agent_action(action, color="green")
                    if news.finish is not None:
                        await run.on_agent_finish(news.finish, color="green")
                yield news
        finally:
            await aclose(parts)
        await memory.asave(progress.state)

    def _print_steps(self, news: News, config: RunnableConfig) -> None:
        """Print what tools gave, which the executor's own handlers do not hear."""
        if self.verbose and news.steps and not _prints(_handlers_of(config)):
            from plait.callbacks import StdOutCallbackHandler  # only where something is printed

            for step in news.steps:
                StdOutCallbackHandler().on_tool_end(step.observation, color="blue")

    @property
    def _planner(self) -> BasePlanner:
        return self.agent

    def _progress(self) -> Progress:
        return Progress(self.return_intermediate_steps)

    def _memory(self) -> Memory:
        return Memory(self.memory)

    def _input(self, given: Any) -> Any:
        """The graph's input: fresh inputs; what goes on with a thread as it is.

        Raises:
            ConfigError: A text was given where the agent has several inputs.
            InvalidValueError: An input is missing.
        """
        if given is None or isinstance(given, Command):
            return cast("Any", given)
        wanted = [key for key in self.input_keys if key not in self._memory().variables]
        if not isinstance(given, dict):
            if len(wanted) > 1:
                raise ConfigError(
                    f"The agent has several inputs ({', '.join(wanted)}): give them as a dict, "
                    f"not as {type(given).__name__}."
                )
            return fresh({next(iter(wanted), "input"): given})
        inputs = cast("dict[str, Any]", given)
        missing = [key for key in wanted if key not in inputs]
        if missing:
            raise InvalidValueError(
                f"The agent's inputs lack {', '.join(map(repr, missing))}. They are: "
                f"{', '.join(map(repr, inputs)) or 'none'}."
            )
        return fresh(dict(inputs))

    def _unremembered(self, given: Any) -> Any:
        """The graph's input where nobody tells the memory how the run ends.

        Raises:
            NotSupportedError: There is a memory.
        """
        if self.memory is not None:
            raise NotSupportedError(
                "An AgentExecutor with a memory streams its own chunks only, since the memory must "
                "hear how a run ends. Leave stream_mode out, or keep the conversation by "
                "RunnableWithMessageHistory."
            )
        return self._input(given)

    def _heard(self, config: RunnableConfig | None) -> RunnableConfig:
        """The config with the executor's own handlers, which do not hear what runs inside."""
        local: list[Any] = list(getattr(self.callbacks, "handlers", self.callbacks) or ())
        config = ensure_config(config)
        if self.verbose and not _prints(local) and not _prints(_handlers_of(config)):
            from plait.callbacks import StdOutCallbackHandler  # only where something is printed

            local.append(StdOutCallbackHandler())
        if not local and not (has_listeners(config) and (self.tags or self.metadata)):
            return config
        from plait.callbacks import CallbackManager  # loads asyncio; only where somebody listens

        config["callbacks"] = CallbackManager.configure(
            config.get("callbacks"), local, local_tags=self.tags, local_metadata=self.metadata
        )
        return config

    def _bounded(self, config: RunnableConfig) -> RunnableConfig:
        """The config with room for as many super-steps as there may be iterations."""
        turns = self.max_iterations
        return {**config, "recursion_limit": _ENOUGH if turns is None else 2 * turns + 2}


def _schema(name: str, keys: Sequence[str]) -> "type[BaseModel]":
    from pydantic import create_model  # schemas alone need pydantic

    fields: dict[str, Any] = dict.fromkeys(keys, (Any, None))
    return create_model(name, **fields)


def _handlers_of(config: RunnableConfig) -> Sequence[Any]:
    callbacks: Any = config.get("callbacks")
    return getattr(callbacks, "handlers", callbacks) or ()


def _prints(handlers: Sequence[Any]) -> bool:
    """Whether one of these prints what it hears already; LangChain's is known by its name."""
    return any(
        base.__name__ == "StdOutCallbackHandler" for one in handlers for base in type(one).__mro__
    )


def _last(_: Any, chunk: AddableDict) -> AddableDict:
    """What a run is told to have given when it ends: the output, without the steps to it."""
    return chunk


class StepIterator:
    """The turns of an executor, each when it is asked for (see `AgentExecutor.iter`).

    Args:
        executor: Whose turns.
        inputs: The agent's inputs.
        config: The config of a new run, and what its output has besides.
    """

    def __init__(
        self,
        executor: AgentExecutor,
        inputs: Any,
        config: Callable[[], tuple[RunnableConfig, dict[str, Any]]],
    ) -> None:
        self._executor = executor
        self._inputs = inputs
        self._config = config

    def __iter__(self) -> Iterator[dict[str, Any]]:
        config, more = self._config()
        for turn in self._executor.turns(self._inputs, config):
            yield turn if INTERMEDIATE_STEP in turn else AddableDict({**turn, **more})

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        config, more = self._config()
        turns = self._executor.aturns(self._inputs, config)
        try:
            async for turn in turns:
                yield turn if INTERMEDIATE_STEP in turn else AddableDict({**turn, **more})
        finally:
            await aclose(turns)


__all__ = ["AgentExecutor", "StepIterator"]
