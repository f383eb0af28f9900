"""Draws programs with agents of create_agent and their middleware."""

from typing import Any

from tests.differential.random.dice import Dice, Spec

from .react import without
from .scripts import ARGUMENTS, TOOLS, Replies, actions, run, tools

NODES = ("before_agent", "before_model", "after_model", "after_agent")
PLAIN = ["nothing", "note", "note", "say", "ask", "drop", "fail", "keys", "command"]
OF_MODEL = [
    *("pass", "short", "response", "structured", "retry", "fallback", "twice", "extended"),
    *("commanded", "last", "changed", "prompt", "system", "append", "messages", "no_tools"),
    *("fewer_tools", "choice", "settings", "no_format"),
]
OF_TOOL = ["pass", "short", "ask", "args", "tool", "catch", "retry", "command", "again", "changed"]
SCHEMAS = {
    "Weather": [{"city": "Rome"}, {"city": "Rome", "degrees": 3}, {"degrees": "x"}, {}],
    "Verdict": [{"good": True}, {"good": "maybe"}, {"good": False, "why": "price"}],
    "Route": [{"start": "a"}, {"start": "a", "end": "b"}, {"end": 1}],
    "Person": [{"name": "Ann"}, {"name": "Ann", "age": 3}, {"age": "old"}],
    "city_json": [{"city": "Rome"}, {"city": "Rome", "size": 2}],
}
TEXTS = ['{"city": "Rome"}', '{"good": true}', '{"start": "a"}', '{"name": "Ann"}', "{", "[]"]
DECISIONS = ["approve", "edit", "reject", "respond"]


def agents(dice: Dice) -> Spec:
    """A program of this family."""
    asyncs = dice.chance(0.4)
    spec: Spec = {"family": "agents"}
    spec["tools"] = tools(dice, [*TOOLS, "builtin"], 3, asyncs)
    names = [one["name"] for one in spec["tools"] if one["name"] != "builtin"]
    spec["middleware"] = stack(dice, names, asyncs)
    if dice.chance(0.25):
        spec["response_format"] = response_format(dice)
        if not spec["tools"]:  # "Answers in no form"
            spec["response_format"]["by"] = "provider"
    spec["model"] = model(dice, spec, names)
    dice.put(spec, "prompt", 0.3, ["text", "message"])
    dice.put(spec, "state", 0.3, [True])
    dice.put(spec, "name", 0.1, ["helper"])
    dice.put(spec, "parent", 0.15, ["chain", "node", "called"])
    if "parent" not in spec:
        dice.put(spec, "interrupt_before", 0.1, [["tools"], ["model"]])
        dice.put(spec, "interrupt_after", 0.1, [["tools"], ["model"]])
    if dice.chance(0.15):
        given = dice.one([None, {"user": "eve"}])
        spec["context"] = {"schema": dice.one(["class", "dict"]), "given": given}
    if dice.chance(0.6) or any(one["kind"] == "people" for one in spec["middleware"]):
        spec["saver"] = True
    if dice.chance(0.3) or "tool" in str(spec["middleware"]):
        spec["store"] = True  # what a wrapper puts in its place needs what the tool needs, or not
    notes: list[Spec] = [{}, {}, {"notes": ["given"]}] if spec.get("state") else [{}]
    spec["actions"] = actions(dice, spec, asyncs, notes)
    decide(dice, spec, asyncs)
    selects = any(one["kind"] == "selector" for one in spec["middleware"])
    # "Graphs inside that are watched"; the question of a selector is in each side's own words
    if selects or spec.get("parent") == "node":
        for one in spec["actions"]:
            one["do"] = "invoke" if one["do"] == "events" else one["do"]
    if "name" in spec or any("name" in one for one in spec["model"]["script"]):
        without(spec, "messages")
    return spec


def decide(dice: Dice, spec: Spec, asyncs: bool) -> None:
    """Adds decisions of a person where one is asked."""
    people = [one["options"] for one in spec["middleware"] if one["kind"] == "people"]
    if not people:
        return
    policies = [one for one in people[0]["interrupt_on"].values() if isinstance(one, dict)]
    allowed = [kind for kind in DECISIONS if all(kind in p["allowed_decisions"] for p in policies)]
    # "Wrong answers of people": the sides differ about what comes after one.
    spec["actions"] = [one for one in spec["actions"] if not {"resume", "answers"} & one.keys()]
    for _ in range(dice.number(1, 4) if allowed else 1):
        action: Spec = {"decide": dice.mixed(allowed or ["approve"], 1, 3)}
        dice.put(action, "edit_name", 0.1, ["echo", "nobody"])
        dice.put(action, "say", 0.5, [True])
        spec["actions"].append(run(dice, action, asyncs))
    dice.put(spec["actions"][-1], "wrong", 0.2, ["few"])


def model(dice: Dice, spec: Spec, names: list[str]) -> Spec:
    """What the model says; where a form is asked for, also in that form."""
    brought = ["extra"] if any(one.get("tools") for one in spec["middleware"]) else []
    if any(one["kind"] == "todo" for one in spec["middleware"]):
        brought.append("write_todos")
    replies = Replies(dice, [*names, *brought])
    script = replies.script(1, 5)
    found: Spec = {"script": script}
    if wanted := spec.get("response_format"):
        kinds = ["Weather", "Verdict"] if wanted["schema"] == "Union" else [wanted["schema"]]
        for _ in range(dice.number(1, 2)):
            if dice.chance(0.7):
                kind = dice.one(kinds)
                calls = [replies.call(kind, dice.one(SCHEMAS[kind]))]
                if dice.chance(0.15):
                    calls.append(replies.call(kind, dice.one(SCHEMAS[kind])))
                script.append({"calls": calls})
            else:
                script.append({"text": dice.one(TEXTS)})
        if dice.chance(0.3):
            found["profile"] = {"structured_output": True}
    if dice.chance(0.4):
        found["streams"] = True
    return found


def response_format(dice: Dice) -> Spec:
    """A form in which the agent has to answer."""
    found: Spec = {"by": dice.one(["tool", "tool", "provider", "auto", "plain"])}
    found["schema"] = dice.one(list(SCHEMAS))
    if found["by"] == "tool":
        if dice.chance(0.2):
            found["schema"] = "Union"
        dice.put(found, "content", 0.2, ["it is done"])
        dice.put(found, "handle_errors", 0.5, [True, False, "mend it", "callable", "class"])
    return found


def stack(dice: Dice, names: list[str], asyncs: bool) -> list[Spec]:
    """None to four middleware, each kind that the library ships at most once."""
    found: list[Spec] = []
    for index in range(dice.one([0, 1, 1, 2, 2, 3, 4])):
        one = by_hand(dice, index, asyncs) if dice.chance(0.55) else shipped(dice, names)
        if one["kind"] == "hand" or _kind(one) not in map(_kind, found):
            found.append(one)
    return found


def _kind(one: Spec) -> Any:
    """What there may be one of: several of personal data look for different things."""
    return one["kind"], one.get("options", {}).get("type")


def by_hand(dice: Dice, index: int, asyncs: bool) -> Spec:
    """Middleware with one to three hooks."""
    found: Spec = {"kind": "hand", "name": f"M{index}"}
    hooks: Spec = {}
    for kind in dice.mixed([*NODES, "wrap_model_call", "wrap_tool_call"], 1, 3):
        if kind in NODES:
            hooks[kind] = jump(dice, kind) if dice.chance(0.25) else dice.one(PLAIN)
        else:
            hooks[kind] = dice.one(OF_MODEL if kind == "wrap_model_call" else OF_TOOL)
    found["hooks"] = hooks
    dice.put(found, "form", 0.3, ["decorator"])
    found["mode"] = dice.one(["async", "both"] if asyncs else ["sync", "both"])
    if dice.chance(0.05):
        found["mode"] = dice.one(["sync", "async"])
    if "form" not in found:
        dice.put(found, "tools", 0.15, [True])
    return found


def jump(dice: Dice, kind: str) -> Spec:
    """A hook that jumps once; "end" from after_agent and "model" before it differ (`Jumps`)."""
    targets = {
        "before_agent": ["end", "tools"],
        "before_model": ["end", "tools"],
        "after_model": ["end", "model", "tools"],
        "after_agent": ["model", "tools"],
    }
    found: Spec = {"jump": dice.one(targets[kind])}
    dice.put(found, "say", 0.4, [True])
    return found


def shipped(dice: Dice, names: list[str]) -> Spec:
    """One middleware that the library ships."""
    kind = dice.one(list(OPTIONS))
    return {"kind": kind, "options": OPTIONS[kind](dice, names)}


def _limit(dice: Dice, names: list[str]) -> Spec:
    found: Spec = {dice.one(["run_limit", "thread_limit"]): dice.number(1, 2)}
    dice.put(found, "exit_behavior", 0.6, ["end", "error"])
    return found


def _tool_limit(dice: Dice, names: list[str]) -> Spec:
    found = {dice.one(["run_limit", "thread_limit"]): dice.number(1, 2)}
    dice.put(found, "exit_behavior", 0.7, ["end", "error", "continue"])
    dice.put(found, "tool_name", 0.5, names or ["add"])
    return found


def _retry(dice: Dice, names: list[str]) -> Spec:
    found: Spec = {"max_retries": dice.number(0, 2)}
    dice.put(found, "on_failure", 0.7, ["continue", "error", "callable"])
    dice.put(found, "retry_on", 0.5, [["value"], ["connection", "timeout"], "callable"])
    return found


def _people(dice: Dice, names: list[str]) -> Spec:
    policies: Spec = {}
    for name in names or ["add"]:
        policies[name] = dice.one([True, True, False, "config"])
        if policies[name] == "config":
            policies[name] = {"allowed_decisions": dice.mixed(DECISIONS, 1, 4)}
            dice.put(policies[name], "description", 0.5, ["Look at it", "callable"])
            dice.put(policies[name], "when", 0.2, [True])
    found: Spec = {"interrupt_on": policies}
    dice.put(found, "description_prefix", 0.2, ["Please look"])
    dice.put(found, "edit_notice", 0.2, [None, "Edited: "])
    dice.put(found, "interrupt_mode", 0.25, ["per_call"])
    return found


def _pii(dice: Dice, names: list[str]) -> Spec:
    found: Spec = {"type": dice.one(["email", "url", "ip", "credit_card", "mac_address"])}
    dice.put(found, "strategy", 0.8, ["redact", "mask", "hash", "block"])
    for key in ("apply_to_input", "apply_to_output", "apply_to_tool_results"):
        dice.put(found, key, 0.5, [True, False])
    return found


def _summary(dice: Dice, names: list[str]) -> Spec:
    found: Spec = {"model": {"script": [{"text": "in short"}, {"text": "shorter"}]}}
    found["trigger"] = dice.one([["messages", dice.number(2, 5)], ["tokens", dice.number(5, 60)]])
    found["keep"] = dice.one([["messages", dice.number(1, 3)], ["tokens", dice.number(1, 40)]])
    return found


def _selector(dice: Dice, names: list[str]) -> Spec:
    known = names or ["add"]
    found: Spec = {}
    dice.put(found, "always_include", 0.3, [known[:1], ["nobody"]])
    picked = [one for one in known if one not in found.get("always_include", ())]
    answers: list[Any] = [{"tools": dice.mixed(picked, 0, 3)} for _ in range(dice.number(1, 3))]
    if dice.chance(0.2):
        answers.insert(0, dice.one([{"tools": ["nobody"]}, {}, None, {"tools": None}, "add"]))
    found["answers"] = answers
    dice.put(found, "max_tools", 0.4, [1, 2])
    dice.put(found, "max_retries", 0.3, [0, 2])
    dice.put(found, "on_parsing_failure", 0.5, ["none", "all", "error", picked[:1], "callable"])
    return found


def _emulator(dice: Dice, names: list[str]) -> Spec:
    chosen = dice.mixed(names or ["add"], 1, 2) if dice.chance(0.6) else None
    return {"tools": chosen, "model": {"script": [{"text": "emulated"}, {"text": "again"}]}}


def _fallback(dice: Dice, names: list[str]) -> Spec:
    return {"models": [{"script": [{"text": "from the other"}]} for _ in range(dice.number(1, 2))]}


def _editing(dice: Dice, names: list[str]) -> Spec:
    found: Spec = {"trigger": dice.number(1, 30), "keep": dice.number(0, 2)}
    dice.put(found, "clear_tool_inputs", 0.4, [True])
    dice.put(found, "placeholder", 0.3, ["gone"])
    return found


OPTIONS: dict[str, Any] = {
    "model_limit": _limit,
    "tool_limit": _tool_limit,
    "tool_retry": _retry,
    "model_retry": _retry,
    "fallback": _fallback,
    "people": _people,
    "pii": _pii,
    "todo": lambda dice, names: {"system_prompt": "Plan.", "tool_description": "Plan it."},
    "editing": _editing,
    "summary": _summary,
    "selector": _selector,
    "emulator": _emulator,
    "tool_error": lambda dice, names: {},
    "dynamic": lambda dice, names: {},
}
"""What draws the options of each middleware."""

ARGUMENTS.update(
    extra=[{}, {"x": 4}],
    write_todos=[{"todos": [{"content": "a", "status": "pending"}]}, {"todos": 3}],
)
