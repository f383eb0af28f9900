"""Draws programs with agents of create_agent and their middleware."""

from typing import Any

from .chance import Chance
from .react import without
from .scripts import ARGUMENTS, TOOLS, Replies, Spec, actions, run, tools

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


def agents(chance: Chance) -> Spec:
    """A program of this family."""
    asyncs = chance.often(0.4)
    spec: Spec = {"family": "agents"}
    spec["tools"] = tools(chance, [*TOOLS, "builtin"], 3, asyncs)
    names = [one["name"] for one in spec["tools"] if one["name"] != "builtin"]
    spec["middleware"] = stack(chance, names, asyncs)
    if chance.often(0.25):
        spec["response_format"] = response_format(chance)
        if not spec["tools"]:  # "Answers in no form"
            spec["response_format"]["by"] = "provider"
    spec["model"] = model(chance, spec, names)
    chance.put(spec, "prompt", 0.3, ["text", "message"])
    chance.put(spec, "state", 0.3, [True])
    chance.put(spec, "name", 0.1, ["helper"])
    chance.put(spec, "parent", 0.15, ["chain", "node", "called"])
    if "parent" not in spec:
        chance.put(spec, "interrupt_before", 0.1, [["tools"], ["model"]])
        chance.put(spec, "interrupt_after", 0.1, [["tools"], ["model"]])
    if chance.often(0.15):
        given = chance.one([None, {"user": "eve"}])
        spec["context"] = {"schema": chance.one(["class", "dict"]), "given": given}
    if chance.often(0.6) or any(one["kind"] == "people" for one in spec["middleware"]):
        spec["saver"] = True
    if chance.often(0.3) or "tool" in str(spec["middleware"]):
        spec["store"] = True  # what a wrapper puts in its place needs what the tool needs, or not
    notes: list[Spec] = [{}, {}, {"notes": ["given"]}] if spec.get("state") else [{}]
    spec["actions"] = actions(chance, spec, asyncs, notes)
    decide(chance, spec, asyncs)
    if "name" in spec or any("name" in one for one in spec["model"]["script"]):
        without(spec, "messages")
    return spec


def decide(chance: Chance, spec: Spec, asyncs: bool) -> None:
    """Adds decisions of a person where one is asked."""
    people = [one["options"] for one in spec["middleware"] if one["kind"] == "people"]
    if not people:
        return
    policies = [one for one in people[0]["interrupt_on"].values() if isinstance(one, dict)]
    allowed = [kind for kind in DECISIONS if all(kind in p["allowed_decisions"] for p in policies)]
    # "Wrong answers of people": the sides differ about what comes after one.
    spec["actions"] = [one for one in spec["actions"] if not {"resume", "answers"} & one.keys()]
    for _ in range(chance.number(1, 4) if allowed else 1):
        action: Spec = {"decide": chance.some(allowed or ["approve"], 1, 3)}
        chance.put(action, "edit_name", 0.1, ["echo", "nobody"])
        chance.put(action, "say", 0.5, [True])
        spec["actions"].append(run(chance, action, asyncs))
    chance.put(spec["actions"][-1], "wrong", 0.2, ["few"])


def model(chance: Chance, spec: Spec, names: list[str]) -> Spec:
    """What the model says; where a form is asked for, also in that form."""
    brought = ["extra"] if any(one.get("tools") for one in spec["middleware"]) else []
    if any(one["kind"] == "todo" for one in spec["middleware"]):
        brought.append("write_todos")
    replies = Replies(chance, [*names, *brought])
    script = replies.script(1, 5)
    found: Spec = {"script": script}
    if wanted := spec.get("response_format"):
        kinds = ["Weather", "Verdict"] if wanted["schema"] == "Union" else [wanted["schema"]]
        for _ in range(chance.number(1, 2)):
            if chance.often(0.7):
                kind = chance.one(kinds)
                calls = [replies.call(kind, chance.one(SCHEMAS[kind]))]
                if chance.often(0.15):
                    calls.append(replies.call(kind, chance.one(SCHEMAS[kind])))
                script.append({"calls": calls})
            else:
                script.append({"text": chance.one(TEXTS)})
        if chance.often(0.3):
            found["profile"] = {"structured_output": True}
    if chance.often(0.4):
        found["streams"] = True
    return found


def response_format(chance: Chance) -> Spec:
    """A form in which the agent has to answer."""
    found: Spec = {"by": chance.one(["tool", "tool", "provider", "auto", "plain"])}
    found["schema"] = chance.one(list(SCHEMAS))
    if found["by"] == "tool":
        if chance.often(0.2):
            found["schema"] = "Union"
        chance.put(found, "content", 0.2, ["it is done"])
        chance.put(found, "handle_errors", 0.5, [True, False, "mend it", "callable", "class"])
    return found


def stack(chance: Chance, names: list[str], asyncs: bool) -> list[Spec]:
    """None to four middleware, each kind that the library ships at most once."""
    found: list[Spec] = []
    for index in range(chance.one([0, 1, 1, 2, 2, 3, 4])):
        one = by_hand(chance, index, asyncs) if chance.often(0.55) else shipped(chance, names)
        if one["kind"] == "hand" or one["kind"] not in [other["kind"] for other in found]:
            found.append(one)
    return found


def by_hand(chance: Chance, index: int, asyncs: bool) -> Spec:
    """Middleware with one to three hooks."""
    found: Spec = {"kind": "hand", "name": f"M{index}"}
    hooks: Spec = {}
    for kind in chance.some([*NODES, "wrap_model_call", "wrap_tool_call"], 1, 3):
        if kind in NODES:
            hooks[kind] = jump(chance, kind) if chance.often(0.25) else chance.one(PLAIN)
        else:
            hooks[kind] = chance.one(OF_MODEL if kind == "wrap_model_call" else OF_TOOL)
    found["hooks"] = hooks
    chance.put(found, "form", 0.3, ["decorator"])
    found["mode"] = chance.one(["async", "both"] if asyncs else ["sync", "both"])
    if chance.often(0.05):
        found["mode"] = chance.one(["sync", "async"])
    if "form" not in found:
        chance.put(found, "tools", 0.15, [True])
    return found


def jump(chance: Chance, kind: str) -> Spec:
    """A hook that jumps once; "end" from after_agent and "model" before it differ (`Jumps`)."""
    targets = {
        "before_agent": ["end", "tools"],
        "before_model": ["end", "tools"],
        "after_model": ["end", "model", "tools"],
        "after_agent": ["model", "tools"],
    }
    found: Spec = {"jump": chance.one(targets[kind])}
    chance.put(found, "say", 0.4, [True])
    return found


def shipped(chance: Chance, names: list[str]) -> Spec:
    """One middleware that the library ships."""
    kind = chance.one(list(OPTIONS))
    return {"kind": kind, "options": OPTIONS[kind](chance, names)}


def _limit(chance: Chance, names: list[str]) -> Spec:
    found: Spec = {chance.one(["run_limit", "thread_limit"]): chance.number(1, 2)}
    chance.put(found, "exit_behavior", 0.6, ["end", "error"])
    return found


def _tool_limit(chance: Chance, names: list[str]) -> Spec:
    found = {chance.one(["run_limit", "thread_limit"]): chance.number(1, 2)}
    chance.put(found, "exit_behavior", 0.7, ["end", "error", "continue"])
    chance.put(found, "tool_name", 0.5, names or ["add"])
    return found


def _retry(chance: Chance, names: list[str]) -> Spec:
    found: Spec = {"max_retries": chance.number(0, 2)}
    chance.put(found, "on_failure", 0.7, ["continue", "error", "callable"])
    chance.put(found, "retry_on", 0.5, [["value"], ["connection", "timeout"], "callable"])
    return found


def _people(chance: Chance, names: list[str]) -> Spec:
    policies: Spec = {}
    for name in names or ["add"]:
        policies[name] = chance.one([True, True, False, "config"])
        if policies[name] == "config":
            policies[name] = {"allowed_decisions": chance.some(DECISIONS, 1, 4)}
            chance.put(policies[name], "description", 0.5, ["Look at it", "callable"])
            chance.put(policies[name], "when", 0.2, [True])
    found: Spec = {"interrupt_on": policies}
    chance.put(found, "description_prefix", 0.2, ["Please look"])
    chance.put(found, "edit_notice", 0.2, [None, "Edited: "])
    chance.put(found, "interrupt_mode", 0.25, ["per_call"])
    return found


def _pii(chance: Chance, names: list[str]) -> Spec:
    found: Spec = {"type": chance.one(["email", "url", "ip"])}
    chance.put(found, "strategy", 0.8, ["redact", "mask", "hash", "block"])
    for key in ("apply_to_input", "apply_to_output", "apply_to_tool_results"):
        chance.put(found, key, 0.5, [True, False])
    return found


def _summary(chance: Chance, names: list[str]) -> Spec:
    found: Spec = {"model": {"script": [{"text": "in short"}, {"text": "shorter"}]}}
    found["trigger"] = ["messages", chance.number(2, 5)]
    found["keep"] = ["messages", chance.number(1, 3)]
    return found


def _emulator(chance: Chance, names: list[str]) -> Spec:
    chosen = chance.some(names or ["add"], 1, 2) if chance.often(0.6) else None
    return {"tools": chosen, "model": {"script": [{"text": "emulated"}, {"text": "again"}]}}


def _fallback(chance: Chance, names: list[str]) -> Spec:
    return {
        "models": [{"script": [{"text": "from the other"}]} for _ in range(chance.number(1, 2))]
    }


def _editing(chance: Chance, names: list[str]) -> Spec:
    found: Spec = {"trigger": chance.number(1, 30), "keep": chance.number(0, 2)}
    chance.put(found, "clear_tool_inputs", 0.4, [True])
    chance.put(found, "placeholder", 0.3, ["gone"])
    return found


OPTIONS: dict[str, Any] = {
    "model_limit": _limit,
    "tool_limit": _tool_limit,
    "tool_retry": _retry,
    "model_retry": _retry,
    "fallback": _fallback,
    "people": _people,
    "pii": _pii,
    "todo": lambda chance, names: {"system_prompt": "Plan.", "tool_description": "Plan it."},
    "editing": _editing,
    "summary": _summary,
    "emulator": _emulator,
    "tool_error": lambda chance, names: {},
    "dynamic": lambda chance, names: {},
}
"""What draws the options of each middleware."""

ARGUMENTS.update(
    extra=[{}, {"x": 4}],
    write_todos=[{"todos": [{"content": "a", "status": "pending"}]}, {"todos": 3}],
)
