"""create_agent's middleware: hooks that are nodes, their order, and where they jump."""

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    after_agent,
    after_model,
    before_agent,
    before_model,
    hook_config,
)
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.runtime import Runtime
from langgraph.types import Command

from .hooked import UNREPAIRED, USER, all_hooks, arun, picture, run
from .scripted import add, ai, call, model_of, mul


@tool(return_direct=True)
def direct(a: int) -> str:
    """Ends the loop."""
    return f"direct {a}"


def jumping(kind, jump, can_jump_to, name="Jump"):
    """Middleware whose one hook jumps the first time that it runs."""
    seen = []

    def run(self, state, runtime):
        seen.append(1)
        return {"jump_to": jump} if len(seen) == 1 else None

    hook = hook_config(can_jump_to=can_jump_to)(run)
    return type(name, (AgentMiddleware,), {kind: hook})()


# --- hooks ---------------------------------------------------------------------------------------


def case_order_of_hooks(env):
    return run([all_hooks("A"), all_hooks("B")])


async def case_order_of_hooks_async(env):
    return await arun([all_hooks("A"), all_hooks("B")])


def case_order_without_tools(env):
    return run([all_hooks("A"), all_hooks("B")], "done", tools=())


def case_decorators(env):
    seen = []

    @before_agent
    def start(state, runtime: Runtime):
        """Starts."""
        seen.append(("start", sorted(state), type(runtime).__name__))

    @before_model
    def ahead(state, runtime):
        seen.append("ahead")
        return {"messages": [HumanMessage("please")]}

    @after_model(name="Behind")
    def behind(state, runtime):
        seen.append("behind")

    @after_agent
    def end(state, runtime):
        seen.append("end")
        return {"messages": [AIMessage("bye")]}

    made = [start, ahead, behind, end]
    return run(made), seen, [one.name for one in made], start.tools


async def case_decorators_async(env):
    seen = []

    @before_agent
    async def start(state, runtime):
        seen.append("start")

    @before_model
    async def ahead(state, runtime):
        return {"messages": [HumanMessage("please")]}

    @after_model
    def behind(state, runtime):
        seen.append("behind")

    @after_agent(name="End")
    async def end(state, runtime):
        seen.append("end")

    return await arun([start, ahead, behind, end]), seen


async def case_both_twins(env):
    class Both(AgentMiddleware):
        def before_model(self, state, runtime):
            return {"messages": [HumanMessage("sync")]}

        async def abefore_model(self, state, runtime):
            return {"messages": [HumanMessage("async")]}

    return run([Both()], "done"), await arun([Both()], "done")


def case_only_an_async_hook(env):
    class Only(AgentMiddleware):
        async def abefore_model(self, state, runtime):
            return None

    return create_agent(model_of(), middleware=[Only()]).get_graph().nodes.keys()


def case_only_an_async_hook_in_a_sync_run(env):
    class Only(AgentMiddleware):
        async def abefore_model(self, state, runtime):
            return None

    return env.error(lambda: create_agent(model_of(), middleware=[Only()]).invoke(USER))


def case_hooks_without_a_runtime(env):
    class Short(AgentMiddleware):
        def before_model(self, state):
            return {"messages": [HumanMessage(f"{len(state['messages'])}")]}

    return run([Short()])


def case_hooks_that_return_commands(env):
    return [
        run([before_model(name="H")(lambda state, runtime: Command(update={"messages": ["q"]}))]),
        run([after_model(name="H")(lambda state, runtime: Command(goto="__end__"))]),
    ]


def case_hooks_that_return_nonsense(env):
    return env.error(lambda: run([before_model(name="H")(lambda state, runtime: 3)]))


def case_hooks_that_fail(env):
    def fail(state, runtime):
        raise KeyError("x")

    return [
        env.error(lambda hook=hook: run([hook(fail)]))
        for hook in (before_agent, before_model, after_model, after_agent)
    ]


def case_names(env):
    class Named(AgentMiddleware):
        name = "custom.name"

        def before_model(self, state, runtime):
            return None

    class Child(Named):
        name = "child"

    return picture(create_agent(model_of(), [add], middleware=[Child(), Named()]))


def case_twice_the_same(env):
    return env.error(lambda: create_agent(model_of(), middleware=[all_hooks("A"), all_hooks("A")]))


def case_messages_removed_by_a_hook(env):
    forget = before_model(name="Forget")(
        lambda state, runtime: {"messages": [RemoveMessage(id="__remove_all__"), HumanMessage("x")]}
    )
    nothing = after_model(name="Nothing")(
        lambda state, runtime: {"messages": [RemoveMessage(id="__remove_all__")]}
    )
    return run([forget], "done"), run([nothing], "done")


# --- jumps ---------------------------------------------------------------------------------------


def case_jumps_from_before_agent(env):
    return [
        run([jumping("before_agent", "end", ["end"]), all_hooks("A")]),
        run([jumping("before_agent", "model", ["end", "model"]), all_hooks("A")]),
        env.error(lambda: run([jumping("before_agent", "tools", ["tools"])])),
        env.error(lambda: run([jumping("before_agent", "tools", ["end"])])),
    ]


def case_jumps_from_before_model(env):
    return [
        run([jumping("before_model", "end", ["end"]), all_hooks("A")]),
        run([all_hooks("A"), jumping("before_model", "model", ["model"])]),
        run([all_hooks("A"), jumping("before_model", "end", ["end"])]),
        env.error(lambda: run([jumping("before_model", "tools", ["end"])])),
    ]


def case_jumps_from_after_model(env):
    return [
        run([*around, jumping("after_model", jump, declared)], **UNREPAIRED)
        for around in ([], [all_hooks("A")])
        for jump in ("end", "model", "tools")
        for declared in (["end", "model", "tools"],)
    ]


def case_undeclared_jumps_of_the_last_hook(env):
    return [
        run([jumping("after_model", jump, None), *more], **UNREPAIRED)
        for jump in ("end", "model", "tools")
        for more in ([], [all_hooks("A")])
    ]


def case_jumps_from_after_agent(env):
    return [
        run([jumping("after_agent", "model", ["model"])]),
        run([jumping("after_agent", "tools", ["tools"])]),
        run([jumping("after_agent", "model", ["model"]), all_hooks("A")]),
    ]


def case_jumps_to_the_end_from_after_agent(env):
    return run([jumping("after_agent", "end", ["end"])])


def case_undeclared_jumps(env):
    return [
        run([jumping("before_agent", "end", None)]),
        run([jumping("before_model", "end", None)]),
    ]


def case_jumps_without_tools(env):
    return [
        run([jumping("before_model", "end", ["end"])], "a", tools=()),
        run([jumping("after_model", "model", ["model"])], "a", "b", tools=()),
        run([jumping("after_model", "end", ["end"])], "a", tools=()),
        env.error(lambda: run([jumping("after_model", "tools", ["tools"])], "a", tools=())),
    ]


async def case_jumps_async(env):
    class Stop(AgentMiddleware):
        @hook_config(can_jump_to=["end"])
        def before_model(self, state, runtime):
            return None

        async def abefore_model(self, state, runtime):
            return {"jump_to": "end", "messages": [AIMessage("stopped")]}

    return await arun([Stop()]), run([Stop()])


def case_a_tool_first(env):
    """The agent begins with a tool call that the model did not make."""

    @before_agent(can_jump_to=["tools"])
    def first(state, runtime):
        return {"messages": [ai(call("add", "0", a=4, b=5))], "jump_to": "tools"}

    return run([first], "done")


def case_pictures(env):
    class Jumps(AgentMiddleware):
        @hook_config(can_jump_to=["end", "model"])
        def before_model(self, state, runtime):
            return None

        @hook_config(can_jump_to=["tools"])
        def after_model(self, state, runtime):
            return None

        @hook_config(can_jump_to=["model"])
        def after_agent(self, state, runtime):
            return None

        @hook_config(can_jump_to=["end"])
        def before_agent(self, state, runtime):
            return None

    class Tools(AgentMiddleware):
        tools = (mul,)

    class Wraps(AgentMiddleware):
        def wrap_tool_call(self, request, handler):
            return handler(request)

    a, jumps = all_hooks("A"), Jumps()
    return [
        picture(create_agent(model_of(), tools, middleware=middleware))
        for middleware in ([a], [a, jumps], [jumps, a], [jumps])
        for tools in ([add], [direct])
    ] + [
        picture(create_agent(model_of(), [], middleware=middleware))
        for middleware in ([a], [Tools()], [Wraps()], [Tools(), Wraps(), a])
    ]


# --- answers and calls ---------------------------------------------------------------------------


def case_calls_that_a_hook_answers(env):
    def answering(state, runtime):
        last = state["messages"][-1]
        if getattr(last, "tool_calls", None):
            return {"messages": [ToolMessage("not allowed", tool_call_id="1")]}

    one = after_model(name="Answer")(answering)
    two = ai(call("add", a=1, b=2), call("add", "2", a=3, b=4))
    return run([one]), run([one], two, "done")


def case_a_hook_that_goes_on(env):
    def more(state, runtime):
        return {"messages": [HumanMessage("go on")]} if len(state["messages"]) < 3 else None

    return run([after_model(name="More")(more)], "one", "two"), run([after_model(more)])


def case_a_hook_that_changes_calls(env):
    def change(state, runtime):
        last = state["messages"][-1]
        if not last.tool_calls:
            return None
        return {"messages": [AIMessage("", id=last.id, tool_calls=[call("add", "9", a=7, b=7)])]}

    return run([after_model(name="Change")(change)])
