"""Owns the workloads of agents: both ways to make one, a model without intelligence, turn by turn.

One turn is what an agent does over and over: ask the model, run the tool it calls, go on. The model
answers at once, so what is left is the cost of the runtime: messages, tools, super-steps, threads.
"""

import itertools
import warnings
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.implementations import Implementation
from benchmarks.measure import Job, run_async

PARALLEL = 8
"""How many tools the parallel agent calls at once."""
RUNS = 10
"""How often the parallel agent is run in one round."""
REACT, CREATE, MIDDLEWARE = "create_react_agent", "create_agent", "create_agent with middleware"
"""How the agent is made."""


def _model(impl: Implementation, turns: int, calls: int) -> Any:
    """A chat model that makes ``calls`` tool calls in each of its first ``turns`` answers."""
    AIMessage = impl.AIMessage
    ChatGeneration, ChatResult = impl.output("ChatGeneration"), impl.output("ChatResult")

    class Scripted(impl.BaseChatModel):
        """Knows which turn it is by the messages it is shown."""

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            turn = (len(messages) - 1) // (1 + calls)
            message = AIMessage("done") if turn >= turns else AIMessage("", tool_calls=_calls(turn))
            return ChatResult(generations=[ChatGeneration(message=message)])

        async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            return self._generate(messages)

    def _calls(turn: int) -> list[dict[str, Any]]:
        return [
            {"name": "add", "args": {"a": turn, "b": n}, "id": f"{turn}-{n}"} for n in range(calls)
        ]

    return Scripted()


def _agent(
    impl: Implementation, model: Any, saver: Any, make: str = REACT, *, run_as_async: bool
) -> Any:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    async def aadd(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    tool = impl.tool("add")(aadd if run_as_async else add)
    if make != REACT:
        middleware = _middleware(impl) if make == MIDDLEWARE else ()
        return impl.create_agent(model, [tool], middleware=middleware, checkpointer=saver)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer has moved its agents elsewhere
        return impl.create_react_agent(model, [tool], checkpointer=saver)


def _middleware(impl: Implementation) -> list[Any]:
    """One middleware that looks at every step of a turn, and one around each call."""

    class Looks(impl.middleware("AgentMiddleware")):
        def before_model(self, state: Any, runtime: Any) -> None:
            return None

        async def abefore_model(self, state: Any, runtime: Any) -> None:
            return None

        def after_model(self, state: Any, runtime: Any) -> None:
            return None

        async def aafter_model(self, state: Any, runtime: Any) -> None:
            return None

    class Wraps(impl.middleware("AgentMiddleware")):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request)

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request)

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return handler(request)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return await handler(request)

    return [Looks(), Wraps()]


def _saver(impl: Implementation, kind: str | None, opened: ExitStack, *, run_as_async: bool) -> Any:
    """A new saver, open until `opened` is closed; None for `kind` None."""
    if kind is None:
        return None
    if kind == "memory":
        return impl.InMemorySaver()
    path = f"{opened.enter_context(TemporaryDirectory(prefix='plait-bench-'))}/threads.sqlite"
    if not run_as_async:
        return opened.enter_context(impl.saver(kind).from_conn_string(path))
    connecting = impl.async_saver(kind).from_conn_string(path)
    opened.callback(lambda: run_async(connecting.__aexit__(None, None, None)))
    return run_async(connecting.__aenter__())


def _job(
    agent: Any,
    turns: int,
    runs: int,
    opened: ExitStack,
    durability: str | None = None,
    *,
    run_as_async: bool,
) -> Job:
    """Every run is a new thread; the audit is what the agent said and was told."""
    options = {} if durability is None else {"durability": durability}
    threads = itertools.count()
    given = {"messages": [("user", "add them up")]}

    def config() -> Any:
        thread = {"thread_id": f"t{next(threads)}"}
        return {"recursion_limit": 4 * turns + 10, "configurable": thread}

    def run() -> list[Any]:
        return [agent.invoke(given, config(), **options) for _ in range(runs)]

    async def run_coroutines() -> list[Any]:
        return [await agent.ainvoke(given, config(), **options) for _ in range(runs)]

    def audit(states: list[Any]) -> list[Any]:
        return [[(m.type, m.content) for m in state["messages"]] for state in states]

    return Job((lambda: run_async(run_coroutines())) if run_as_async else run, audit, opened.close)


def agent(
    impl: Implementation,
    turns: int,
    *,
    saver: str | None = None,
    durability: str | None = None,
    make: str = REACT,
    run_as_async: bool,
) -> Job:
    """An agent that calls one tool in each of ``turns`` turns.

    Without a ``durability`` each side has its own default: plait stores every step before the next
    one begins ("sync"), the peer while it runs ("async").
    """
    opened = ExitStack()
    kept = _saver(impl, saver, opened, run_as_async=run_as_async)
    made = _agent(impl, _model(impl, turns, 1), kept, make, run_as_async=run_as_async)
    return _job(made, turns, 1, opened, durability, run_as_async=run_as_async)


def parallel(impl: Implementation, calls: int, *, run_as_async: bool) -> Job:
    """An agent that calls several tools at once, run over and over."""
    made = _agent(impl, _model(impl, 1, calls), None, run_as_async=run_as_async)
    return _job(made, 1, RUNS, ExitStack(), run_as_async=run_as_async)


def _said(turns: int, calls: int) -> list[Any]:
    said: list[Any] = [("human", "add them up")]
    for turn in range(turns):
        said.append(("ai", ""))
        said.extend(("tool", str(turn + n)) for n in range(calls))
    return [*said, ("ai", "done")]


def floor(turns: int, *, run_as_async: bool) -> Job:
    """The same messages in a list, by a loop."""
    return Job(lambda: [_said(turns, 1)])


def parallel_floor(calls: int, *, run_as_async: bool) -> Job:
    """The same messages in a list, by a loop."""
    return Job(lambda: [_said(1, calls) for _ in range(RUNS)])
