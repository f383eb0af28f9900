"""Middleware written by hand: hooks that are nodes, and wrappers around models and tools."""

import operator
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelResponse,
    after_agent,
    after_model,
    before_agent,
    before_model,
    hook_config,
    wrap_model_call,
    wrap_tool_call,
)
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command, interrupt

DECORATORS = {
    "before_agent": before_agent,
    "before_model": before_model,
    "after_model": after_model,
    "after_agent": after_agent,
}


class NotedState(AgentState):
    notes: Annotated[NotRequired[list], operator.add]
    jumps: Annotated[NotRequired[list], operator.add]


@tool
def extra(x: int = 1) -> str:
    """A tool that middleware brings."""
    return f"extra {x}"


def node_of(name, kind, action):
    """The function of a hook that is a node."""
    where = f"{name}.{kind}"

    def run(state):
        if isinstance(action, dict):
            if where in (state.get("jumps") or []):
                return None
            said = [AIMessage("jumped")] if action.get("say") else []
            return {"jumps": [where], "messages": said, "jump_to": action["jump"]}
        if action == "note":
            return {"notes": [where]}
        if action == "say":
            return {"messages": [HumanMessage(where)]}
        if action == "ask":
            return {"notes": [interrupt(where)]}
        if action == "drop":
            return {"messages": [RemoveMessage(id=state["messages"][-1].id)]}
        if action == "fail":
            raise ValueError(where)
        if action == "keys":
            return {"notes": [sorted(state)]}
        if action == "command":
            return Command(update={"notes": [where]})
        return None

    return run


def model_wrapper(name, action):
    """What a wrapper of model calls does before and after: a generator that yields requests."""

    def steps(request):
        if action == "short":
            return AIMessage(f"{name} instead")
        if action == "response":
            return ModelResponse([AIMessage(f"{name} made"), AIMessage("two")])
        if action == "structured":
            return ModelResponse([AIMessage("with")], structured_response=4)
        changed = changes_of(name, action, request)
        try:
            response = yield request.override(**changed) if changed else request
        except Exception:
            if action == "fallback":
                return AIMessage(f"{name} falls back")
            if action != "retry":
                raise
            response = yield request
        if action == "twice":
            response = yield request
        if action == "extended":
            return ExtendedModelResponse(response, Command(update={"notes": [name]}))
        if action == "commanded":
            said = HumanMessage(f"{name} adds")
            return ExtendedModelResponse(response, Command(update={"messages": [said]}))
        if action == "last":
            return response.result[-1]
        if action == "changed":
            last = response.result[-1]
            return ModelResponse([last.model_copy(update={"content": f"{name} changed"})])
        return response

    return steps


def changes_of(name, action, request):
    """What a wrapper overrides in a request."""
    return {
        "prompt": lambda: {"system_prompt": f"{name} says"},
        "system": lambda: {"system_message": SystemMessage(f"{name} says")},
        "append": lambda: {
            "system_message": SystemMessage(f"{request.system_prompt or ''}+{name}")
        },
        "messages": lambda: {"messages": request.messages[-1:]},
        "no_tools": lambda: {"tools": []},
        "fewer_tools": lambda: {"tools": request.tools[:1]},
        "choice": lambda: {"tool_choice": "any"},
        "settings": lambda: {"model_settings": {"temperature": 1}},
        "no_format": lambda: {"response_format": None},
    }.get(action, dict)()


def tool_wrapper(name, action):
    """The same for calls of tools."""

    def steps(request):
        call = request.tool_call
        if action == "short":
            return ToolMessage(f"{name} instead", tool_call_id=call["id"], name=call["name"])
        if action == "ask":
            interrupt(f"{name} {call['name']}?")
        if action == "args":
            request = request.override(tool_call={**call, "args": {**call["args"], "x": 9}})
        if action == "tool":
            request = request.override(tool=extra, tool_call={**call, "args": {}})
        try:
            result = yield request
        except GraphBubbleUp:
            raise
        except Exception as error:
            if action == "catch":
                return ToolMessage(
                    f"{name} caught {error}", tool_call_id=call["id"], status="error"
                )
            if action != "retry":
                raise
            result = yield request
        if action == "command":
            return Command(update={"messages": [result], "notes": [name]})
        if action == "again":
            result = yield request
        if action == "changed" and isinstance(result, ToolMessage):
            return result.model_copy(update={"content": f"{name}: {result.content}"})
        return result

    return steps


def driven(steps, request, handler):
    """Runs a wrapper's steps with a handler."""
    made = steps(request)
    try:
        wanted = next(made)
        while True:
            try:
                response = handler(wanted)
            except Exception as error:
                wanted = made.throw(error)
            else:
                wanted = made.send(response)
    except StopIteration as end:
        return end.value


async def adriven(steps, request, handler):
    made = steps(request)
    try:
        wanted = next(made)
        while True:
            try:
                response = await handler(wanted)
            except Exception as error:
                wanted = made.throw(error)
            else:
                wanted = made.send(response)
    except StopIteration as end:
        return end.value


def methods_of(name, kind, action, mode):
    """The methods of a class of middleware that do what one hook is to do."""
    found: dict[str, Any] = {}
    if kind.startswith("wrap"):
        steps = (model_wrapper if kind == "wrap_model_call" else tool_wrapper)(name, action)

        def method(self, request, handler):
            return driven(steps, request, handler)

        async def amethod(self, request, handler):
            return await adriven(steps, request, handler)

    else:
        run = node_of(name, kind, action)

        def method(self, state, runtime):
            return run(state)

        async def amethod(self, state, runtime):
            return run(state)

        if isinstance(action, dict):
            jumps = hook_config(can_jump_to=[action["jump"]])
            method, amethod = jumps(method), jumps(amethod)
    if mode != "async":
        found[kind] = method
    if mode != "sync":
        found[f"a{kind}"] = amethod
    return found


def decorated(name, kind, action, mode):
    """The same as middleware made by a decorator."""
    if kind.startswith("wrap"):
        steps = (model_wrapper if kind == "wrap_model_call" else tool_wrapper)(name, action)
        made = wrap_model_call if kind == "wrap_model_call" else wrap_tool_call

        def function(request, handler):
            return driven(steps, request, handler)

        async def afunction(request, handler):
            return await adriven(steps, request, handler)

        more = {"state_schema": NotedState} if kind == "wrap_model_call" else {}
        return made(name=name, **more)(afunction if mode == "async" else function)
    run = node_of(name, kind, action)

    def hook(state, runtime):
        return run(state)

    async def ahook(state, runtime):
        return run(state)

    jumps = {"can_jump_to": [action["jump"]]} if isinstance(action, dict) else {}
    made = DECORATORS[kind](name=name, state_schema=NotedState, **jumps)
    return made(ahook if mode == "async" else hook)


def by_hand(spec):
    """The middleware of a spec, written as a class or by decorators."""
    name, mode = spec["name"], spec.get("mode", "both")
    if spec.get("form") == "decorator":
        return [decorated(f"{name}_{k}", k, a, mode) for k, a in spec["hooks"].items()]
    body: dict[str, Any] = {"state_schema": NotedState}
    for kind, action in spec["hooks"].items():
        body.update(methods_of(name, kind, action, mode))
    if spec.get("tools"):
        body["tools"] = [extra]
    return [type(name, (AgentMiddleware,), body)()]
