"""Draws programs with a ToolNode or ValidationNode."""

from tests.differential.random.dice import Dice, Spec

from .agents import OF_TOOL, SCHEMAS
from .react import HANDLERS
from .scripts import TOOLS, Replies, actions, messages, run, tools


def nodes(dice: Dice) -> Spec:
    """A program of this family."""
    asyncs = dice.chance(0.4)
    spec: Spec = {"family": "nodes", "kind": "tools" if dice.chance(0.85) else "validation"}
    spec["by"] = dice.one(["edge", "sends", "condition"])
    spec["tools"] = tools(dice, [name for name in TOOLS if name != "leads"], 4, asyncs)
    names = [one["name"] for one in spec["tools"]]
    # "Questions of parallel tools": one node that runs several calls asks one question at most.
    replies = Replies(dice, names, one_question=spec["by"] != "sends")
    spec["calls"] = replies.several(dice.number(1, 3))
    if spec["kind"] == "validation":
        validation(dice, spec, replies)
    else:
        dice.put(spec, "handle_tool_errors", 0.6, HANDLERS)
        dice.put(spec, "messages_key", 0.15, ["chat"])
        dice.put(spec, "name", 0.1, ["mine"])
        dice.put(spec, "tags", 0.1, [["t"]])
        dice.put(spec, "wrap", 0.25, [one for one in OF_TOOL if one not in ("tool", "ask")])
        if "wrap" in spec and spec.get("handle_tool_errors") in (
            "typed",
            "union",
            "class",
            "classes",
        ):
            del spec["handle_tool_errors"]  # "Handlers behind interceptors"
    if dice.chance(0.4):
        spec["saver"] = True
    if dice.chance(0.6) or "wrap" in spec:
        spec["store"] = True
    spec["actions"] = actions(dice, spec, asyncs, [{}, {"notes": ["given"]}])
    for one in spec["actions"]:
        if one.get("as_node") == "agent":
            one["as_node"] = "after"
    return spec


REVIEWED = ("add", "echo", "pick", "nothing", "search", "fails")
"""Tools that take what their model gives alone ("What a reviewed tool shows", "... keeps")."""
PEOPLE = [
    {"type": "accept"},
    {"type": "edit", "args": {"args": {"a": 7}}},
    {"type": "edit", "args": {"args": {"text": "edited"}}},
    {"type": "response", "args": "by a person"},
    {"type": "reject", "args": "no"},
]


def reviews(dice: Dice) -> Spec:
    """A program of a ToolNode whose tools ask before they run."""
    asyncs = dice.chance(0.4)
    spec: Spec = {"family": "nodes", "kind": "tools", "by": dice.one(["edge", "condition"])}
    names = dice.mixed(REVIEWED, 1, 3)
    spec["tools"] = [{"name": name, "reviewed": True} for name in names]
    for one in spec["tools"]:
        if asyncs:
            one["async"] = True
    spec["calls"] = [Replies(dice, names).call(dice.one(names))]
    spec["saver"] = True
    spec["actions"] = [{"do": "invoke", "input": {"messages": messages(dice)}}]
    spec["actions"] += [
        run(dice, {"resume": dice.one(PEOPLE)}, asyncs) for _ in range(dice.number(1, 2))
    ]
    if asyncs:
        spec["actions"][0]["async"] = True
    return spec


def validation(dice: Dice, spec: Spec, replies: Replies) -> None:
    """Schemas to validate by, and calls of them."""
    spec["by"] = "edge"
    spec["schemas"] = dice.mixed(["Weather", "Verdict"], 1, 2)
    spec["tools"] = [one for one in spec["tools"] if one.get("form") != "function"]
    for name in spec["schemas"]:
        spec["calls"].append(replies.call(name, dice.one(SCHEMAS[name])))
    dice.put(spec, "format_error", 0.4, [True])
