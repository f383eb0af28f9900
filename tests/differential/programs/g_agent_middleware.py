"""create_agent's middleware: hooks, jumps, wrappers, contributed state and tools, their order."""

import operator
from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    after_agent,
    after_model,
    before_agent,
    before_model,
    dynamic_prompt,
    hook_config,
    wrap_model_call,
    wrap_tool_call,
)
from langchain.agents.middleware.types import (
    OmitFromInput,
    OmitFromOutput,
    OmitFromSchema,
    PrivateStateAttr,
)
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}
KINDS = ("before_agent", "before_model", "after_model", "after_agent")


class Scripted(BaseChatModel):
    """Says what its script says, and keeps what it was asked."""

    script: list
    seen: Any = None

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        named = [one if isinstance(one, dict) else {"name": one.name} for one in tools]
        return self.bind(tools=named, **kwargs)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.seen.append(([(m.type, m.content) for m in messages], kwargs))
        said = self.script.pop(0) if self.script else "the end"
        if isinstance(said, Exception):
            raise said
        message = AIMessage(said) if isinstance(said, str) else said
        return ChatResult(generations=[ChatGeneration(message=message)])


def model_of(*script):
    return Scripted(script=list(script), seen=[])


def call(name, id="1", **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def ai(*calls):
    return AIMessage("", tool_calls=list(calls))


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def mul(a: int, b: int) -> int:
    """Multiply."""
    return a * b


@tool(return_direct=True)
def direct(a: int) -> str:
    """Ends the loop."""
    return f"direct {a}"


ONE = ai(call("add", a=1, b=2))


def picture(graph):
    drawn = graph.get_graph()
    edges = sorted((one.source, one.target, one.conditional) for one in drawn.edges)
    return list(drawn.nodes), edges


def run(middleware, *script, tools=(add,), given=USER, **more):
    """The updates of one run, and what the model was asked."""
    model = model_of(*(script or (ONE, "done")))
    agent = create_agent(model, list(tools), middleware=middleware, **more)
    return list(agent.stream(given, {"recursion_limit": 20})), model.seen


async def arun(middleware, *script, tools=(add,), **more):
    model = model_of(*(script or (ONE, "done")))
    agent = create_agent(model, list(tools), middleware=middleware, **more)
    return [part async for part in agent.astream(USER, {"recursion_limit": 20})], model.seen


def told(messages):
    return [(one.type, one.content) for one in messages]


def all_hooks(name):
    """Middleware that notes each of its hooks in the messages."""

    def hook(kind):
        def run(self, state, runtime):
            return {"messages": [HumanMessage(f"{name} {kind}")]}

        return run

    return type(name, (AgentMiddleware,), {kind: hook(kind) for kind in KINDS})()


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
        run([*around, jumping("after_model", jump, declared)])
        for around in ([], [all_hooks("A")])
        for jump in ("end", "model", "tools")
        for declared in (["end", "model", "tools"],)
    ]


def case_undeclared_jumps_of_the_last_hook(env):
    return [
        run([jumping("after_model", jump, None), *more])
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


# --- around the model ----------------------------------------------------------------------------


def case_what_a_request_holds(env):
    seen = []

    @wrap_model_call
    def look(request, handler):
        seen.append(
            (
                type(request).__name__,
                told(request.messages),
                request.system_prompt,
                [one if isinstance(one, dict) else one.name for one in request.tools],
                request.tool_choice,
                request.response_format,
                sorted(request.state),
                request.model_settings,
                type(request.runtime).__name__,
            )
        )
        response = handler(request)
        seen.append((type(response).__name__, told(response.result), response.structured_response))
        return response

    return run([look], system_prompt="Be kind.", tools=[add, {"type": "web"}]), seen


def case_order_of_wrappers(env):
    def around(name):
        def wrap(request, handler):
            text = f"{request.system_prompt or ''}>{name}"
            response = handler(request.override(system_message=SystemMessage(text)))
            said = response.result[0]
            return ModelResponse([said.model_copy(update={"content": f"{said.content}<{name}"})])

        return wrap_model_call(name=name)(wrap)

    return run([around("a"), around("b"), around("c")])


async def case_order_of_wrappers_async(env):
    def around(name):
        async def wrap(request, handler):
            text = f"{request.system_prompt or ''}>{name}"
            response = await handler(request.override(system_message=SystemMessage(text)))
            said = response.result[0]
            return said.model_copy(update={"content": f"{said.content}<{name}"})

        return wrap_model_call(name=name)(wrap)

    return await arun([around("a"), around("b")])


def case_what_a_wrapper_changes(env):
    other = model_of("other")
    changes = (
        {"messages": [HumanMessage("instead")]},
        {"system_message": SystemMessage("S")},
        {"system_prompt": "P"},
        {"tools": [add]},
        {"tools": []},
        {"tools": [], "tool_choice": "any"},
        {"tool_choice": "add"},
        {"model_settings": {"temperature": 1}},
        {"model_settings": {"temperature": 1}, "tools": []},
        {"model": other},
        {"tools": [add, {"type": "web"}]},
    )
    found = [
        run([wrap_model_call(name="W")(lambda r, h, c=one: h(r.override(**c)))], "done")
        for one in changes
    ]
    return found, other.seen


def case_what_a_wrapper_returns(env):
    return [
        run([wrap_model_call(name="W")(lambda r, h, one=one: one)], "never")
        for one in (
            AIMessage("mine"),
            ModelResponse([AIMessage("one"), AIMessage("two")]),
            ModelResponse([AIMessage("with")], structured_response=4),
            ExtendedModelResponse(ModelResponse([AIMessage("x")])),
        )
    ]


def case_retries_of_the_model(env):
    @wrap_model_call
    def again(request, handler):
        try:
            return handler(request)
        except ValueError:
            return handler(request)

    return run([again], ValueError("no"), "done")


def case_calls_that_a_wrapper_answers(env):
    def answer(request, handler):
        said = handler(request).result
        answers = [ToolMessage("no", tool_call_id=one["id"]) for one in said[0].tool_calls]
        return ModelResponse([*said, *answers])

    return run([wrap_model_call(answer)]), run([wrap_model_call(answer), all_hooks("A")])


def case_a_call_that_is_not_made(env):
    cached = wrap_model_call(name="Cached")(lambda request, handler: AIMessage("cached"))
    return run([cached], "never")


def case_tools_that_nobody_can_run(env):
    more = wrap_model_call(name="More")(lambda r, h: h(r.override(tools=[*r.tools, mul])))
    return env.error(lambda: run([more]))


def case_tools_that_a_wrapper_runs(env):
    class Dynamic(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request.override(tools=[*request.tools, mul]))

        def wrap_tool_call(self, request, handler):
            return handler(request.override(tool=mul) if request.tool is None else request)

    class Lazy(Dynamic):
        def wrap_tool_call(self, request, handler):
            return handler(request)

    script = ai(call("mul", a=3, b=4)), "done"
    return run([Dynamic()], *script), run([Dynamic()], *script, tools=()), run([Lazy()], *script)


class Kept(AgentState):
    kept: Annotated[list, operator.add]
    last: Any


def keeping(name, **more):
    """A wrapper of the model that writes to the state besides."""
    made = []

    def wrap(request, handler):
        response = handler(request)
        made.append(1)
        update = {"kept": [f"{name} {len(made)}"], **more}
        return ExtendedModelResponse(response, Command(update=update))

    return wrap_model_call(state_schema=Kept, name=name)(wrap)


def final(middleware, *script):
    agent = create_agent(model_of(*script), [add], middleware=middleware)
    return agent.invoke({**USER, "kept": []})


def case_updates_of_wrappers(env):
    return final([keeping("a", messages=[HumanMessage("more")]), keeping("b", last=1)], ONE, "done")


def case_updates_of_several_attempts(env):
    twice = wrap_model_call(name="T")(lambda r, h: (h(r), h(r))[0])
    own = wrap_model_call(name="O")(lambda r, h: (h(r), AIMessage("own"))[1])
    return [
        final([keeping("a"), twice, keeping("b"), keeping("c")], "one", "two"),
        final([keeping("a"), own, keeping("b")], "one"),
    ]


def case_updates_that_conflict(env):
    return env.error(lambda: final([keeping("a", last=1), keeping("b", last=2)], "done"))


def case_commands_that_do_more(env):
    def commanding(**more):
        def wrap(request, handler):
            return ExtendedModelResponse(handler(request), Command(**more))

        return wrap_model_call(name="C")(wrap)

    return [
        env.error(lambda: run([commanding(goto="tools")])),
        env.error(lambda: run([commanding(resume=1)])),
        env.error(lambda: run([commanding(graph="__parent__", update={"messages": ["x"]})])),
    ]


async def case_missing_twins_of_wrappers(env):
    class Sync(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request)

    class Async(AgentMiddleware):
        async def awrap_model_call(self, request, handler):
            return await handler(request)

    class SyncTools(AgentMiddleware):
        def wrap_tool_call(self, request, handler):
            return handler(request)

    class AsyncTools(AgentMiddleware):
        async def awrap_tool_call(self, request, handler):
            return await handler(request)

    found = []
    for one in (Sync, Async, SyncTools, AsyncTools):
        found += [env.error(lambda one=one: run([one()])), await env.aerror(arun([one()]))]
    return found, run([AsyncTools()], "no calls")


async def case_dynamic_prompts(env):
    class State(AgentState):
        mood: NotRequired[str]

    @dynamic_prompt
    def short(request):
        return f"Be {request.state.get('mood', 'kind')} at {len(request.messages)}."

    @dynamic_prompt
    def message(request: ModelRequest):
        return SystemMessage("As a message.")

    @dynamic_prompt
    async def later(request):
        return "Later."

    given = {**USER, "mood": "brief"}
    return [
        run([short], system_prompt="unused", state_schema=State, given=given),
        run([message]),
        await arun([short]),
        await arun([later]),
        [one.name for one in (short, message, later)],
    ]


# --- around tools --------------------------------------------------------------------------------


def case_order_of_tool_wrappers(env):
    def around(number):
        def wrap(request, handler):
            args = request.tool_call["args"]
            changed = {**request.tool_call, "args": {**args, "b": args["b"] * 10 + number}}
            answer = handler(request.override(tool_call=changed))
            return answer.model_copy(update={"content": f"{answer.content}<{number}"})

        return wrap_tool_call(name=f"w{number}")(wrap)

    return run([around(1), around(2), around(3)], ai(call("add", a=0, b=0)), "done")


async def case_order_of_tool_wrappers_async(env):
    def around(number):
        async def wrap(request, handler):
            answer = await handler(request)
            return answer.model_copy(update={"content": f"{answer.content}<{number}"})

        return wrap_tool_call(name=f"w{number}")(wrap)

    return await arun([around(1), around(2)])


def case_what_a_tool_wrapper_sees(env):
    seen = []

    @wrap_tool_call
    def look(request, handler):
        seen.append(
            (
                request.tool_call,
                request.tool.name if request.tool else None,
                sorted(request.state),
                sorted(request.runtime.state),
                request.runtime.tool_call_id,
            )
        )
        return handler(request)

    return run([look], ai(call("add", a=1, b=2)), ai(call("nope", "2", x=1)), "done"), seen


def case_what_a_tool_wrapper_returns(env):
    def wrap(request, handler):
        id = request.tool_call["id"]
        if id == "1":
            return ToolMessage("mine", tool_call_id=id, name="add")
        return Command(update={"messages": [ToolMessage("commanded", tool_call_id=id)]})

    two = ai(call("add", a=1, b=2), call("add", "2", a=3, b=4))
    return final([wrap_tool_call(wrap)], two, "done")


def case_errors_in_tool_wrappers(env):
    @tool
    def boom(a: int) -> int:
        """Fail."""
        raise ValueError("no")

    def catch(request, handler):
        try:
            return handler(request)
        except ValueError as error:
            return ToolMessage(f"failed: {error}", tool_call_id=request.tool_call["id"])

    script = ai(call("boom", a=1)), "done"
    return [
        run([wrap_tool_call(catch)], *script, tools=[boom]),
        env.error(lambda: run([wrap_tool_call(name="Z")(lambda r, h: 1 / 0)])),
    ]


def case_questions_in_a_tool_wrapper(env):
    def approve(request, handler):
        answer = interrupt(f"run {request.tool_call['name']}?")
        if answer == "yes":
            return handler(request)
        return ToolMessage("refused", tool_call_id=request.tool_call["id"])

    two = ai(call("add", a=1, b=2), call("mul", "2", a=3, b=4))
    agent = create_agent(
        model_of(two, "done"),
        [add, mul],
        middleware=[wrap_tool_call(approve)],
        checkpointer=env.saver(),
    )
    asked = agent.invoke(USER, THREAD)["__interrupt__"]
    answers = {one.id: "yes" if "add" in one.value else "no" for one in asked}
    return sorted(one.value for one in asked), agent.invoke(Command(resume=answers), THREAD)


# --- state and tools of middleware ---------------------------------------------------------------


def case_state_of_middleware(env):
    class State(AgentState):
        n: int
        private: Annotated[int, PrivateStateAttr]
        made: Annotated[int, OmitFromInput]
        taken: Annotated[int, OmitFromOutput]
        both: NotRequired[Annotated[list, OmitFromSchema(True, True)]]

    class Other(AgentState):
        u: int

    seen = []

    def look(kind):
        def run(state, runtime):
            seen.append((kind, {k: v for k, v in state.items() if k != "messages"}))
            if kind == "first":
                return {"private": 7, "made": 8, "both": [1]}

        return run

    agent = create_agent(
        model_of(ONE, "done"),
        [add],
        middleware=[
            before_agent(state_schema=State, name="A")(look("first")),
            before_model(name="B")(look("second")),
            after_model(state_schema=Other, name="C")(look("third")),
        ],
        state_schema=Other,
    )
    given, taken = agent.get_input_jsonschema(), agent.get_output_jsonschema()
    schemas = [sorted(one["properties"]) for one in (given, taken)]
    return agent.invoke({**USER, "n": 1, "u": 2, "taken": 5}), seen, schemas


def case_keys_that_two_declare(env):
    class Adds(AgentState):
        k: Annotated[list, operator.add]

    class Replaces(AgentState):
        k: list

    def middleware(schema, name):
        return before_agent(state_schema=schema, name=name)(lambda state, runtime: {"k": [name]})

    found = []
    for first, second in ((Adds, Replaces), (Replaces, Adds)):
        agent = create_agent(
            model_of("a"), middleware=[middleware(first, "x"), middleware(second, "y")]
        )
        found.append(agent.invoke({**USER, "k": ["given"]})["k"])
        agent = create_agent(
            model_of("a"), middleware=[middleware(first, "x")], state_schema=second
        )
        found.append(agent.invoke({**USER, "k": ["given"]})["k"])
    return found


def case_a_reducer_before_a_mark(env):
    class State(AgentState):
        k: NotRequired[Annotated[list, operator.add, OmitFromInput]]

    def middleware(name):
        return before_agent(state_schema=State, name=name)(lambda state, runtime: {"k": [name]})

    agent = create_agent(model_of("a"), middleware=[middleware("x"), middleware("y")])
    return agent.invoke(USER)["k"]


def case_tools_of_middleware(env):
    class Brings(AgentMiddleware):
        tools = (mul,)

    class Makes(AgentMiddleware):
        def __init__(self):
            self.tools = [add]

    script = ai(call("mul", a=3, b=4)), ai(call("add", "2", a=3, b=4)), "done"
    return run([Brings(), Makes()], *script, tools=()), run([Brings()], *script, tools=[add, mul])


def case_a_counter(env):
    """State of middleware that lasts over the turns of a thread."""

    class Counted(AgentState):
        calls: NotRequired[Annotated[int, PrivateStateAttr]]

    class Count(AgentMiddleware):
        state_schema = Counted

        @hook_config(can_jump_to=["end"])
        def before_model(self, state, runtime):
            if state.get("calls", 0) >= 3:
                return {"jump_to": "end", "messages": [AIMessage("enough")]}

        def after_model(self, state, runtime):
            return {"calls": state.get("calls", 0) + 1}

    agent = create_agent(
        model_of(ONE, "one", "two"), [add], middleware=[Count()], checkpointer=env.saver()
    )
    found = [agent.invoke(USER, THREAD) for _ in range(3)]
    return found, agent.get_state(THREAD).values["calls"], picture(agent)


def case_breakpoints_at_hooks(env):
    agent = create_agent(
        model_of(ONE, "done"),
        [add],
        middleware=[all_hooks("A")],
        checkpointer=env.saver(),
        interrupt_before=["A.after_model"],
    )
    first = list(agent.stream(USER, THREAD))
    return first, agent.get_state(THREAD).next, list(agent.stream(None, THREAD))


def case_stream_values_and_custom(env):
    class Tells(AgentMiddleware):
        def before_model(self, state, runtime):
            runtime.stream_writer({"seen": len(state["messages"])})

    agent = create_agent(model_of(ONE, "done"), [add], middleware=[Tells(), all_hooks("A")])
    return list(agent.stream(USER, stream_mode=["values", "custom"]))


def case_requests(env):
    first = ModelRequest(model=None, messages=[HumanMessage("x")], system_prompt="a")
    second = first.override(system_prompt="b", tool_choice="any")
    return [
        (first.system_prompt, second.system_prompt, second.tool_choice, second.messages),
        first.override(system_prompt=None).system_message,
        env.error(lambda: first.override(nope=1)),
        env.error(lambda: first.override(system_prompt="a", system_message=SystemMessage("b"))),
        (first.tools, first.state, first.model_settings, first.response_format),
        first == ModelRequest(model=None, messages=[HumanMessage("x")], system_prompt="a"),
        ModelRequest(
            model=None,
            messages=[],
            system_message=SystemMessage([{"type": "text", "text": t} for t in "ab"]),
        ).system_prompt,
    ]


class Hears(BaseCallbackHandler):
    """Notes which chains start, by name."""

    def __init__(self):
        self.heard = []

    def on_chain_start(self, serialized, inputs, *, name=None, **kwargs):
        self.heard.append(name)


def case_callbacks(env):
    hears = Hears()
    around = wrap_model_call(name="W")(lambda request, handler: handler(request))
    agent = create_agent(model_of(ONE, "done"), [add], middleware=[all_hooks("A"), around])
    agent.invoke(USER, {"callbacks": [hears]})
    return hears.heard


def case_stream_messages(env):
    said = after_model(name="Said")(lambda state, runtime: {"messages": [AIMessage("also")]})
    agent = create_agent(model_of("done"), [add], middleware=[all_hooks("A"), said])
    parts = agent.stream(USER, stream_mode="messages")
    return [(one.type, one.content, meta["langgraph_node"]) for one, meta in parts]


def case_stream_tasks(env):
    agent = create_agent(model_of(ONE, "done"), [add], middleware=[all_hooks("A")])
    parts = agent.stream(USER, stream_mode="tasks")
    return [{k: v for k, v in part.items() if k != "metadata"} for part in parts]


async def case_stream_updates_with_updates_of_wrappers(env):
    @wrap_model_call(state_schema=Kept)
    async def keeps(request, handler):
        return ExtendedModelResponse(await handler(request), Command(update={"kept": ["x"]}))

    agent = create_agent(model_of(ONE, "done"), [add], middleware=[keeps])
    parts = agent.astream({**USER, "kept": []}, stream_mode=["updates", "values"])
    return [part async for part in parts]


def case_a_thread_with_hooks(env):
    agent = create_agent(
        model_of(ONE, "done", "again"), [add], middleware=[all_hooks("A")], checkpointer=env.saver()
    )
    agent.invoke(USER, THREAD)
    before = [one for one in agent.get_state_history(THREAD) if one.next == ("tools",)]
    replayed = agent.invoke(None, before[0].config)
    nexts = [one.next for one in agent.get_state_history(THREAD)]
    return replayed, nexts, agent.get_state(THREAD).metadata["step"]


def case_questions_in_hooks(env):
    @after_model
    def review(state, runtime):
        last = state["messages"][-1]
        if last.tool_calls:
            return None
        return {"messages": [AIMessage(interrupt(last.content), id=last.id)]}

    @wrap_model_call
    def allowed(request, handler):
        if len(request.messages) == 1 and interrupt("call the model?") != "yes":
            return AIMessage("not asked")
        return handler(request)

    found = []
    for number, answers in enumerate((["yes", "better"], ["no", "worse"])):
        config = {"configurable": {"thread_id": str(number)}}
        agent = create_agent(
            model_of(ONE, "draft"), [add], middleware=[review, allowed], checkpointer=env.saver()
        )
        found.append(agent.invoke(USER, config)["__interrupt__"][0].value)
        for answer in answers:
            result = agent.invoke(Command(resume=answer), config)
            found.append([one.value for one in result.get("__interrupt__", ())])
        found.append(told(result["messages"]))
    return found


def case_handoffs(env):
    """A tool that leads the graph around the agent elsewhere."""

    @tool
    def hand_over(to: str, id: Annotated[str, InjectedToolCallId]) -> Any:
        """Hand over."""
        done = ToolMessage(f"over to {to}", tool_call_id=id)
        return Command(goto=to, graph=Command.PARENT, update={"messages": [done]})

    first = create_agent(model_of(ai(call("hand_over", to="bob"))), [hand_over], name="ada")
    second = create_agent(model_of("I am Bob."), middleware=[all_hooks("A")], name="bob")
    builder = StateGraph(MessagesState)
    builder.add_node("ada", first, destinations=("bob",))
    builder.add_node("bob", second)
    builder.add_edge(START, "ada")
    graph = builder.compile(env.saver())
    return told(graph.invoke(USER, THREAD)["messages"]), graph.get_state(THREAD).next


def case_commands_of_tools_that_lead_on(env):
    @tool
    def stop(id: Annotated[str, InjectedToolCallId]) -> Any:
        """Stop."""
        done = ToolMessage("stopped", tool_call_id=id)
        return Command(update={"messages": [done], "jump_to": "end"})

    return run([], ai(call("stop")), "on", tools=[stop])
