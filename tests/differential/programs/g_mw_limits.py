"""Limits of model calls and tool calls, in a run and on a thread, and what happens at them."""

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelCallLimitMiddleware,
    ToolCallLimitMiddleware,
)
from langchain.agents.middleware.model_call_limit import ModelCallLimitExceededError
from langchain.agents.middleware.tool_call_limit import ToolCallLimitExceededError
from langchain_core.tools import tool

from .scripted import add, ai, call, model_of

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}


@tool
def search(query: str) -> str:
    """Search."""
    return f"found {query}"


def agent(script, *middleware, **options):
    return create_agent(model_of(*script), [add, search], middleware=list(middleware), **options)


def shown(result):
    return [
        (
            one.type,
            one.name,
            one.content,
            getattr(one, "status", None),
            getattr(one, "tool_call_id", None),
        )
        for one in result["messages"]
    ], sorted(result)


def endless(count=9):
    return [ai(call("add", str(at), a=1, b=at)) for at in range(count)]


def searching(count=9):
    return [ai(call("search", str(at), query=str(at))) for at in range(count)]


def case_model_run_limit(env):
    out = []
    for limit in (0, 1, 2):
        made = agent(endless(), ModelCallLimitMiddleware(run_limit=limit))
        out.append(shown(made.invoke(USER)))
    return out


def case_model_limit_with_parallel_calls(env):
    both = ai(call("add", "1", a=1, b=2), call("search", "2", query="x"))
    made = agent([both, both], ModelCallLimitMiddleware(run_limit=1))
    return shown(made.invoke(USER))


def case_model_thread_limit(env):
    limit = ModelCallLimitMiddleware(thread_limit=3)
    made = agent([*endless(1), "one", *endless(1), "two"], limit, checkpointer=env.saver())
    return [shown(made.invoke(USER, THREAD)) for _ in range(3)], made.get_state(
        THREAD
    ).values.keys()


def case_model_both_limits(env):
    limit = ModelCallLimitMiddleware(thread_limit=4, run_limit=3)
    made = agent(endless(), limit, checkpointer=env.saver())
    return [shown(made.invoke(USER, THREAD)) for _ in range(2)]


def case_model_limit_without_thread(env):
    made = agent(endless(), ModelCallLimitMiddleware(thread_limit=2))
    return [shown(made.invoke(USER)) for _ in range(2)]


def case_model_error(env):
    made = agent(endless(), ModelCallLimitMiddleware(run_limit=1, exit_behavior="error"))
    try:
        made.invoke(USER)
    except ModelCallLimitExceededError as error:
        return error.thread_count, error.run_count, error.thread_limit, error.run_limit, str(error)


def case_model_error_text_of_both(env):
    error = ModelCallLimitExceededError(4, 3, 4, 3)
    return str(error), str(ModelCallLimitExceededError(4, 3, 4, None))


async def case_model_async(env):
    made = agent(endless(), ModelCallLimitMiddleware(run_limit=2))
    return shown(await made.ainvoke(USER))


def case_refused(env):
    return [
        env.error(ModelCallLimitMiddleware),
        env.error(lambda: ModelCallLimitMiddleware(run_limit=1, exit_behavior="stop")),
        env.error(ToolCallLimitMiddleware),
        env.error(lambda: ToolCallLimitMiddleware(run_limit=1, exit_behavior="stop")),
        env.error(lambda: ToolCallLimitMiddleware(run_limit=3, thread_limit=2)),
    ]


def case_names(env):
    limits = [
        ToolCallLimitMiddleware(run_limit=1),
        ToolCallLimitMiddleware(run_limit=1, tool_name="add"),
        ModelCallLimitMiddleware(run_limit=1),
    ]
    return [one.name for one in limits]


def case_tools_continue(env):
    made = agent([*endless(3), "done"], ToolCallLimitMiddleware(run_limit=1))
    return shown(made.invoke(USER))


def case_tools_continue_partly(env):
    three = ai(*[call("add", str(at), a=1, b=at) for at in range(3)])
    made = agent([three, "done"], ToolCallLimitMiddleware(run_limit=2))
    return shown(made.invoke(USER))


def case_one_tool_limited(env):
    both = ai(call("add", "1", a=1, b=2), call("search", "2", query="x"))
    again = ai(call("add", "3", a=1, b=2), call("search", "4", query="y"))
    made = agent([both, again, "done"], ToolCallLimitMiddleware(run_limit=1, tool_name="search"))
    return shown(made.invoke(USER))


def case_tools_end(env):
    made = agent(searching(3), ToolCallLimitMiddleware(run_limit=1, exit_behavior="end"))
    one = agent(
        searching(3), ToolCallLimitMiddleware(run_limit=1, exit_behavior="end", tool_name="search")
    )
    return shown(made.invoke(USER)), shown(one.invoke(USER))


def case_tools_end_with_others_pending(env):
    both = ai(call("add", "1", a=1, b=2), call("search", "2", query="x"))
    again = ai(call("add", "3", a=1, b=2), call("search", "4", query="y"))
    limit = ToolCallLimitMiddleware(run_limit=1, tool_name="search", exit_behavior="end")
    return env.error(lambda: shown(agent([both, again, "done"], limit).invoke(USER)))


def case_tools_end_of_the_same(env):
    three = ai(*[call("search", str(at), query=str(at)) for at in range(3)])
    limit = ToolCallLimitMiddleware(run_limit=2, exit_behavior="end")
    return shown(agent([three, "done"], limit).invoke(USER))


def case_tools_error(env):
    limit = ToolCallLimitMiddleware(run_limit=1, exit_behavior="error", tool_name="add")
    try:
        agent(endless(), limit).invoke(USER)
    except ToolCallLimitExceededError as error:
        counts = (error.thread_count, error.run_count, error.thread_limit, error.run_limit)
        return counts, error.tool_name, str(error)


def case_tools_error_texts(env):
    return [
        str(ToolCallLimitExceededError(3, 2, 2, 1)),
        str(ToolCallLimitExceededError(3, 2, None, 1, "add")),
        str(ToolCallLimitExceededError(3, 1, 2, None, "add")),
    ]


def case_tool_thread_limit(env):
    limit = ToolCallLimitMiddleware(thread_limit=2)
    script = [*endless(1), "one", *endless(1), "two", *endless(1), "three"]
    made = agent(script, limit, checkpointer=env.saver())
    results = [shown(made.invoke(USER, THREAD)) for _ in range(3)]
    return results, made.get_state(THREAD).values.get("thread_tool_call_count")


def case_tool_run_and_thread_limit(env):
    results = []
    for behavior in ("continue", "end"):
        limit = ToolCallLimitMiddleware(thread_limit=3, run_limit=2, exit_behavior=behavior)
        made = agent([*endless(4), "x"] * 2, limit, checkpointer=env.saver(behavior))
        results.append([shown(made.invoke(USER, THREAD)) for _ in range(2)])
    return results


def several(count, start):
    return ai(*(call("add", str(at), a=1, b=at) for at in range(start, start + count)))


def case_tool_calls_that_are_far_beyond_a_limit(env):
    script = [several(3, 0), several(3, 3), several(4, 6), "done"]
    return shown(agent(script, ToolCallLimitMiddleware(run_limit=1)).invoke(USER))


def case_tool_calls_that_an_end_has_refused_leave_the_thread_its_own(env):
    limit = ToolCallLimitMiddleware(thread_limit=2, exit_behavior="end")
    made = agent([several(3, 0), several(2, 3), "done"], limit, checkpointer=env.saver())
    results = [shown(made.invoke(USER, THREAD)) for _ in range(2)]
    return results, made.get_state(THREAD).values.get("thread_tool_call_count")


def case_limits_of_a_run_and_a_thread_that_are_equal(env):
    limit = ToolCallLimitMiddleware(thread_limit=1, run_limit=1)
    return shown(agent([*endless(2), "done"], limit).invoke(USER))


def case_two_limits(env):
    made = agent(
        [*searching(2), *endless(2), "done"],
        ToolCallLimitMiddleware(run_limit=3),
        ToolCallLimitMiddleware(run_limit=1, tool_name="search"),
    )
    return shown(made.invoke(USER))


def case_two_limits_that_refuse_one_call(env):
    found = []
    for behavior in ("continue", "end"):
        limits = [
            ToolCallLimitMiddleware(run_limit=1, exit_behavior=behavior),
            ToolCallLimitMiddleware(run_limit=1, tool_name="search"),
        ]
        found.append(shown(agent([*searching(2), "done"], *limits).invoke(USER)))
    return found


async def case_tools_async(env):
    made = agent([*endless(3), "done"], ToolCallLimitMiddleware(run_limit=1))
    return shown(await made.ainvoke(USER))


def case_picture(env):
    made = agent(
        [],
        ModelCallLimitMiddleware(run_limit=1),
        ToolCallLimitMiddleware(run_limit=1),
        ToolCallLimitMiddleware(run_limit=1, exit_behavior="end", tool_name="add"),
    )
    drawn = made.get_graph()
    return sorted(drawn.nodes), sorted(
        (one.source, one.target, one.conditional) for one in drawn.edges
    )


def case_updates(env):
    made = agent(
        endless(), ModelCallLimitMiddleware(run_limit=1), ToolCallLimitMiddleware(run_limit=1)
    )
    return [
        (name, sorted(update or ()))
        for part in made.stream(USER, stream_mode="updates")
        for name, update in part.items()
    ]


def case_counts_in_the_state(env):
    seen = []

    class Looks(AgentMiddleware):
        """Looks at the counts."""

        def after_model(self, state, runtime):
            seen.append({name: state.get(name) for name in state if name.endswith("count")})

    limits = [ModelCallLimitMiddleware(run_limit=9), ToolCallLimitMiddleware(run_limit=9)]
    agent([*endless(2), "done"], Looks(), *limits).invoke(USER)
    return seen
