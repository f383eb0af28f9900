"""Draws programs with agents of create_react_agent."""

from tests.differential.random.dice import Dice, Spec

from .scripts import TOOLS, Replies, actions, tools

HANDLERS = [True, False, "told the model", "callable", "typed", "union", "class", "classes"]
FORMS = ["Weather", "Person", "city_json", {"prompt": "Sum up.", "schema": "Verdict"}]


def react(dice: Dice) -> Spec:
    """A program of this family."""
    asyncs = dice.chance(0.35)
    spec: Spec = {"family": "react"}
    spec["tools"] = tools(dice, TOOLS, 4, asyncs)
    names = [one["name"] for one in spec["tools"] if one["name"] != "builtin"]
    dice.put(spec, "version", 0.5, ["v1", "v2"])
    replies = Replies(dice, names, one_question=spec.get("version") == "v1")
    spec["model"] = {"script": replies.script()}
    if dice.chance(0.4):
        spec["model"]["streams"] = True
    if dice.chance(0.7):
        spec["model"]["own_structure"] = True
    dice.put(spec["model"], "form", 0.2, ["bound", "function", "async" if asyncs else "bound"])
    dice.put(spec, "prompt", 0.4, ["text", "message", "function", "config", "runnable"])
    if asyncs and dice.chance(0.1):
        spec["prompt"] = "async"
    dice.put(spec, "response_format", 0.2, FORMS)
    dice.put(spec, "state", 0.4, ["noted", "bare", "pydantic", "answered"])
    hooks = ["input", "replace", "append", "nothing", "ask", "note"]
    dice.put(spec, "before", 0.2, hooks)
    if spec.get("version") != "v1":
        dice.put(spec, "after", 0.2, ["drop", "reject", "nothing", "human", "ask", "note"])
    if spec.get("state") == "pydantic" and spec.get("before") not in (None, "input", "note"):
        del spec["before"]  # "Hooks before the model with a pydantic state"
    if "state" not in spec and "note" in (spec.get("before"), spec.get("after")):
        spec["state"] = "noted"
    dice.put(spec, "handle_tool_errors", 0.4, HANDLERS)
    dice.put(spec, "name", 0.1, ["helper"])
    dice.put(spec, "parent", 0.2, ["chain", "node", "called"])
    if "parent" not in spec:
        dice.put(spec, "interrupt_before", 0.1, [["tools"], ["agent"]])
        dice.put(spec, "interrupt_after", 0.1, [["tools"], ["agent"]])
    if dice.chance(0.15):
        given = dice.one([None, {"user": "eve"}])
        spec["context"] = {"schema": dice.one(["class", "dict"]), "given": given}
    if dice.chance(0.5):
        spec["saver"] = True
    if dice.chance(0.4):
        spec["store"] = True
    extra: list[Spec] = [{}, {}, {"notes": ["given"]}] if spec.get("state") else [{}]
    spec["actions"] = actions(dice, spec, asyncs, extra)
    if "name" in spec or any("name" in one for one in spec["model"]["script"]):
        without(spec, "messages")  # the sides sign messages at different times
    if spec.get("before") in ("input", "note"):
        without(spec, "tasks", "debug", "events")  # the peer changes the input that it has told
    if spec.get("state") == "pydantic":
        without(spec, "tasks", "debug")
    return spec


def without(spec: Spec, *modes: str) -> None:
    """Takes streams of these modes out; "events": those of events."""
    for one in spec["actions"]:
        if one["do"] == "events" and not {"messages", "events"}.isdisjoint(modes):
            one["do"] = "invoke"
        if isinstance(one.get("stream_mode"), str) and one["stream_mode"] in modes:
            one["stream_mode"] = "updates"
        elif "stream_mode" in one and not isinstance(one["stream_mode"], str):
            kept = [mode for mode in one["stream_mode"] if mode not in modes]
            one["stream_mode"] = kept or ["updates"]
        if "tasks" in modes:  # a pydantic state
            one.pop("version", None)
