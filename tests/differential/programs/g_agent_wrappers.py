"""create_agent's middleware around calls of models and tools: order, changes, retries, updates."""

import operator
from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    dynamic_prompt,
    wrap_model_call,
    wrap_tool_call,
)
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command, interrupt

from .hooked import ONE, USER, all_hooks, arun, run
from .scripted import add, ai, call, model_of, mul

THREAD = {"configurable": {"thread_id": "1"}}


def told(messages):
    return [(one.type, one.content) for one in messages]


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


def case_what_a_wrapper_adds_in_place(env):
    def adding(which):
        def wrap(request, handler):
            held = request.messages if which == "messages" else request.state["messages"]
            held.append(HumanMessage(f"by the {which}"))
            return handler(request)

        return wrap_model_call(name="W")(wrap)

    agents = [
        create_agent(model_of("one", "two"), middleware=[adding(which)], checkpointer=saver)
        for which in ("messages", "state")
        for saver in (None, env.saver(which))
    ]
    return [[told(agent.invoke(USER, THREAD)["messages"]) for _ in range(2)] for agent in agents]


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


class AsyncKeeping(AgentMiddleware):
    """Keeps something with each answer, in async runs; of some attempts, it has none."""

    state_schema = Kept

    def __init__(self, tag, fails_from=None):
        self.tag = tag
        self.fails_from = fails_from
        self.asked = 0

    @property
    def name(self):
        return self.tag

    async def awrap_model_call(self, request, handler):
        self.asked += 1
        if self.fails_from is not None and self.asked >= self.fails_from:
            raise ValueError(self.tag)
        return ExtendedModelResponse(await handler(request), Command(update={"kept": [self.tag]}))


class Keeping(AsyncKeeping):
    def wrap_model_call(self, request, handler):
        self.asked += 1
        if self.fails_from is not None and self.asked >= self.fails_from:
            raise ValueError(self.tag)
        return ExtendedModelResponse(handler(request), Command(update={"kept": [self.tag]}))


async def case_updates_of_async_wrappers(env):
    made = create_agent(model_of("done"), middleware=[AsyncKeeping("a"), AsyncKeeping("b")])
    result = await made.ainvoke(USER)
    return told(result["messages"]), result["kept"]


async def case_updates_of_an_attempt_before_one_that_fails(env):
    """The wrapper answers itself: nothing is kept of an answer that nobody was given."""

    class Tries(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            handler(request)
            try:
                return handler(request)
            except ValueError:
                return AIMessage("instead")

        async def awrap_model_call(self, request, handler):
            await handler(request)
            try:
                return await handler(request)
            except ValueError:
                return AIMessage("instead")

    found = []
    for is_async in (False, True):
        middleware = [Tries(), Keeping("a", fails_from=2)]
        made = create_agent(model_of("one", "two"), middleware=middleware)
        result = await made.ainvoke(USER) if is_async else made.invoke(USER)
        found.append((told(result["messages"]), result.get("kept")))
    return found


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


def wrapper_that_gives(result):
    @wrap_tool_call
    def wrap(request, handler):
        handler(request)
        return result

    return wrap


def case_a_text_from_a_tool_wrapper(env):
    return env.error(lambda: run([wrapper_that_gives("done")]))


def case_nothing_from_a_tool_wrapper(env):
    return env.error(lambda: run([wrapper_that_gives(None)]))


async def case_nothing_from_an_async_tool_wrapper(env):
    @wrap_tool_call
    async def wrap(request, handler):
        await handler(request)

    return await env.aerror(arun([wrap]))
