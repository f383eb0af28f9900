"""Draws programs of several agents: nodes that hand on to each other, or tools of one of them."""

from tests.differential.random.dice import Dice, Spec

from .agents import by_hand, shipped
from .react import without
from .scripts import ARGUMENTS, ASKING, TOOLS, Replies, actions, tools

NAMES = ["ann", "bob", "cleo"]
FORMS = ["all", "last", "none", "send", "text"]
ALONE = ["leads", "sends", "to_parent", "several", "gives"]
"""Tools that lead elsewhere than the team does, or whose results are shown by other families."""
SHIPPED = ("model_limit", "tool_limit", "todo", "pii", "editing", "summary", "dynamic")
"""Middleware that says something without asking a person."""


def teams(dice: Dice) -> Spec:
    """A program of this family."""
    asyncs = dice.chance(0.4)
    spec: Spec = {"family": "teams", "by": dice.one(["handoffs", "handoffs", "tools", "chain"])}
    names = NAMES[: dice.number(2, 3)]
    spec["members"] = [member(dice, spec, names, name, asyncs) for name in names]
    if dice.chance(0.6):
        spec["saver"] = True
    if dice.chance(0.4) or "wrap_tool_call" in str(spec["members"]):
        spec["store"] = True  # what a wrapper puts in its place needs what the tool needs, or not
    spec["actions"] = actions(dice, spec, asyncs, [{}, {"notes": ["given"]}])
    for one in spec["actions"]:
        if one.get("as_node"):
            one["as_node"] = dice.one(names)
        dice.put(one, "subgraphs", 0.4 if one["do"] in ("stream", "state") else 0, [True])
    without(spec, "messages")  # the sides sign messages at different times
    return spec


def member(dice: Dice, spec: Spec, names: list[str], name: str, asyncs: bool) -> Spec:
    """One agent of the team: its tools, those that lead to the others, and what its model says."""
    found: Spec = {"name": name, "kind": dice.one(["create", "create", "react"])}
    known = [one for one in TOOLS if one not in ALONE]
    if spec["by"] == "tools":  # "Questions of tasks in graphs inside"
        known = [one for one in known if one not in ASKING]
    found["tools"] = tools(dice, known, 2, asyncs)
    others = [other for other in names if other != name]
    if spec["by"] == "handoffs":
        found["to"] = [{"to": other, "form": dice.one(FORMS)} for other in dice.some(others)]
    elif spec["by"] == "tools" and name == names[0]:
        found["asks"] = [{"ask": other, "form": dice.one(["text", "command"])} for other in others]
    led = [f"to_{one['to']}" for one in found.get("to", [])]
    led += [f"ask_{one['ask']}" for one in found.get("asks", [])]
    replies = Replies(dice, [*(one["name"] for one in found["tools"]), *led, *led], True)
    script = [one for one in replies.script(1, 4) if "name" not in one]
    for one in script:
        if "calls" in one:
            one["calls"] = _leading_once(one["calls"])
    for number, call in enumerate(call for one in script for call in one.get("calls", [])):
        call["id"] = f"{name}{number}"
    found["model"] = {"script": script}
    dice.put(found["model"], "streams", 0.3, [True])
    if found["kind"] == "react":
        dice.put(found, "version", 0.4, ["v1", "v2"])
        return found
    found["middleware"] = []
    if dice.chance(0.3):
        found["middleware"].append(by_hand(dice, 0, asyncs))
    if dice.chance(0.3):
        one = shipped(dice, [tool["name"] for tool in found["tools"]])
        found["middleware"] += [one] if one["kind"] in SHIPPED else []
    return found


def _leading_once(calls: list[Spec]) -> list[Spec]:
    """Calls of which one leads to another agent at most: of several, chance tells which goes on
    ("Several that lead out of a graph"), or which is asked first."""
    leading = [one for one in calls if one["name"].startswith(("to_", "ask_"))]
    return [one for one in calls if one not in leading[1:]]


for _name in NAMES:
    ARGUMENTS[f"to_{_name}"] = [{}, {"why": "because"}]
    ARGUMENTS[f"ask_{_name}"] = [{"text": "well?"}, {"text": "and?"}, {}]
