"""Agents by create_agent."""

import inspect
from typing import Any

from langchain.agents import create_agent
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.messages import SystemMessage

from .actions import Player, picture_of
from .hooks import NotedState, by_hand
from .models import model_of
from .react import around, context_of, options_of, untold_of
from .shipped import shipped
from .structures import FORMS
from .tools import tool_of


def handle(form):
    """A form of `handle_errors`."""
    if form == "callable":
        return lambda error: f"mend {type(error).__name__}"
    return {"class": ValueError, "classes": (ValueError, KeyError)}.get(form, form)


def format_of(spec):
    """A form of `response_format`."""
    schema = FORMS[spec["schema"]]
    more: dict[str, Any] = {}
    if spec["by"] == "tool":
        if "content" in spec:
            more["tool_message_content"] = spec["content"]
        if "handle_errors" in spec:
            more["handle_errors"] = handle(spec["handle_errors"])
        return ToolStrategy(schema, **more)
    if spec["by"] == "provider":
        return ProviderStrategy(schema)
    return AutoStrategy(schema) if spec["by"] == "auto" else schema


def agent_of(spec, env, log):
    """The agent of a program."""
    more = options_of({k: v for k, v in spec.items() if k != "state"})
    if spec.get("state"):
        more["state_schema"] = NotedState
    if "prompt" in spec:
        more["system_prompt"] = (
            "Be kind." if spec["prompt"] == "text" else SystemMessage("Be brief.")
        )
    if spec.get("response_format"):
        more["response_format"] = format_of(spec["response_format"])
    if spec.get("saver") and not spec.get("parent"):
        more["checkpointer"] = env.saver()
    if spec.get("store"):
        more["store"] = env.store()
    middleware: list[Any] = []
    for one in spec.get("middleware", []):
        middleware += by_hand(one) if one["kind"] == "hand" else [shipped(one, log)]
    model = model_of(spec["model"], log)
    tools = [*(tool_of(one) for one in spec["tools"]), *spec.get("more_tools", [])]
    if "repair_history" in inspect.signature(create_agent).parameters:
        more["repair_history"] = False  # what plait does otherwise is a documented difference
    return create_agent(model, tools, middleware=middleware, **more)


class Decider(Player):
    """A player who also decides about tool calls that wait for a person."""

    def given(self, action):
        if "decide" not in action:
            return super().given(action)
        snapshot = self.graph.get_state(self.config(action))
        answers = [decisions(one.value, action) for one in snapshot.interrupts]
        if len(answers) == 1:
            return super().given({"resume": answers[0]})
        return super().given(
            {"resume": {o.id: a for o, a in zip(snapshot.interrupts, answers, strict=True)}}
        )


def decisions(question, action):
    """The answer to one question about tool calls."""
    kinds = action["decide"]
    if not isinstance(question, dict) or "action_requests" not in question:
        name = (question.get("tool_call") or {}).get("name") if isinstance(question, dict) else None
        return decision(kinds[0], {"name": name, "args": {}}, action)
    asked = question["action_requests"]
    made = [decision(kinds[n % len(kinds)], one, action) for n, one in enumerate(asked)]
    return {"decisions": made[:-1] if action.get("wrong") == "few" else made}


def decision(kind, asked, action):
    """One decision about a request."""
    name, args = asked.get("name"), asked.get("args") or {}
    if kind == "edit":
        name = action.get("edit_name", name)
        return {"type": "edit", "edited_action": {"name": name, "args": {**args, "x": 7}}}
    if kind == "respond":
        return {"type": "respond", "message": "by a person"}
    if kind == "reject":
        return {"type": "reject", **({"message": "not now"} if action.get("say") else {})}
    return {"type": kind}


def play(spec, env):
    """What came of a program: of building the agent, then of each action."""
    log: list = []
    built = env.error(lambda: agent_of(spec, env, log))
    if not isinstance(built, tuple):
        return {"built": built}
    graph = built[1]
    drawn = env.error(lambda: picture_of(graph))
    if spec.get("parent"):
        graph = around(graph, spec, env)
    player = Decider(graph, env, context_of(spec), untold_of(spec))
    return {"drawn": drawn, "played": player.play(spec["actions"]), "seen": log}
