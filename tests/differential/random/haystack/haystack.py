"""Draws programs with Haystack's Agent: tools, state, streams, breakpoints, sync and async."""

from typing import Any

from tests.differential.random.dice import Dice, Spec

ARGUMENTS: dict[str, list[Any]] = {
    "add": [{"a": 1, "b": 2}, {"a": 3}, {"a": "x"}, {}, {"a": 1, "c": 5}, {"a": 2, "b": None}],
    "boom": [{"x": "value"}, {"x": "key"}, {"x": "other"}],
    "search": [{"query": "cats"}, {"query": "c", "repo": "mine"}, {"query": "q", "top": 1}, {}],
    "note": [{"text": "one"}, {"text": "two"}, {"text": 3}],
    "recall": [{}, {"n": 4}, {"documents": ["mine"]}],
    "gives": [
        {"form": one} for one in ("none", "list", "dict", "float", "text", "message", "nested")
    ],
    "place": [{"point": {"x": 1}}, {"point": {"x": 1, "y": 2}, "tags": ["a"]}, {"point": 3}],
    "tells": [{"text": "now"}, {"text": ""}],
    "shout": [{"text": "hey"}, {"text": "a", "times": 2}, {"text": "b", "times": 0}, {}],
    "missing": [{}, {"x": 1}],
}
NAMES = [name for name in ARGUMENTS if name != "missing"]
STATE = {
    "n": [("int", None), ("int", "plus"), ("int", "never")],
    "documents": [("list", None), ("strings", None), ("list", "plus")],
    "last": [("dict", None), ("any", None)],
    "repository": [("str", None)],
}
STRINGS: list[Any] = [
    {"handler": "@joined"},
    {"handler": "@failing"},
    {"source": "summary"},
    {"source": "nowhere"},
    {"source": "n", "handler": "@joined"},
]
TO_STATE: list[Any] = [
    {"documents": {"source": "docs"}},
    {"n": {"source": "n", "handler": "@plus"}, "last": {}},
    {"n": {"source": "n"}},
    {"documents": {"source": "nowhere"}},
    {"messages": {"source": "said"}},
    {"n": {"source": "n", "handler": "@never"}},
]
TEXTS = ["fine", "it is so", "", "é well then"]


def haystack(dice: Dice) -> Spec:
    """A program of this family."""
    spec: Spec = {"tools": [tool(dice, name) for name in dice.mixed(NAMES, 0, 4)]}
    if spec["tools"]:
        dice.put(spec, "as", 0.3, ["set", "mixed"])
    if spec.get("as") == "mixed" or "shout" in str(spec["tools"]):
        spec["as"] = "set"  # "Snapshots of tools of several kinds"
    names = [one["name"] for one in spec["tools"]]
    if dice.chance(0.6):
        spec["state"] = {key: list(dice.one(STATE[key])) for key in dice.mixed(list(STATE), 1, 4)}
    options: Spec = {}
    dice.put(options, "system_prompt", 0.3, ["Be kind."])
    dice.put(options, "exit_conditions", 0.3, [["text"], names[:1], [*names[-1:], "text"], ["no"]])
    dice.put(options, "max_agent_steps", 0.25, [1, 2, 3])
    dice.put(options, "raise_on_tool_invocation_failure", 0.2, [True])
    invoker: list[Any] = [{"convert_result_to_json_string": True}, {"max_workers": 1}]
    invoker.append({"enable_streaming_callback_passthrough": True})
    dice.put(options, "tool_invoker_kwargs", 0.3, invoker)
    if not options.get("exit_conditions", True):
        del options["exit_conditions"]
    spec["options"] = options
    script = Script(dice, names, bool(set(options.get("exit_conditions", ())) - {"text"}))
    spec["script"] = [script.reply() for _ in range(dice.number(1, 5))]
    asyncs = dice.chance(0.35)
    spec["actions"] = [run(dice, spec, asyncs, n) for n in range(dice.number(1, 3))]
    if any("stop" in one for one in spec["actions"]):
        for one in spec["tools"]:  # "Serialized sources of texts"
            strings = one.get("options", {}).get("outputs_to_string", {})
            if "handler" not in strings:
                one.get("options", {}).pop("outputs_to_string", None)
    if dice.chance(0.1):
        spec["actions"].append({"do": "schema"})
    return spec


def tool(dice: Dice, name: str) -> Spec:
    """A tool in some form."""
    found: Spec = {"name": name}
    options: Spec = {}
    dice.put(options, "outputs_to_string", 0.15, STRINGS)
    if name in ("search", "note", "add"):
        dice.put(options, "outputs_to_state", 0.5, TO_STATE)
    if name == "search":
        dice.put(options, "inputs_from_state", 0.4, [{"repository": "repo"}, {"n": "top"}])
    if options:
        found["options"] = options
    dice.put(found, "form", 0.4, ["decorator", "plain"])
    return found


class Script:
    """Draws what the model says."""

    def __init__(self, dice: Dice, names: list[str], one_call: bool) -> None:
        self._dice, self._names, self._calls = dice, names, 0
        self._counts = [1] if one_call else [1, 1, 1, 2, 3]  # "Tools that end a ... agent"

    def reply(self) -> Spec:
        """One answer of the generator: a message, now and then several, or an error."""
        if self._dice.chance(0.05):
            return {"several": [self.message(), self.message()]}
        if self._dice.chance(0.04):
            return {"error": self._dice.one(["value", "connection"])}
        return self.message()

    def message(self) -> Spec:
        dice = self._dice
        found: Spec = {"role": "assistant"}
        if dice.chance(0.65):
            found["calls"] = [self.call() for _ in range(dice.one(self._counts))]
        if "calls" not in found or dice.chance(0.2):
            found["text"] = dice.one(TEXTS)
        dice.put(found, "meta", 0.1, [{"usage": {"total": 3}}])
        dice.put(found, "reasoning", 0.1, ["hm"])
        return found

    def call(self) -> Spec:
        dice = self._dice
        self._calls += 1
        name = dice.one(self._names) if self._names and dice.chance(0.94) else "missing"
        found: Spec = {"name": name, "args": dice.one(ARGUMENTS[name])}
        if dice.chance(0.9):
            found["id"] = f"c{self._calls}"
        return found


def run(dice: Dice, spec: Spec, asyncs: bool, turn: int) -> Spec:
    """One run of the agent."""
    found: Spec = {"do": "run", "messages": dice.one(MESSAGES) if dice.chance(0.4) else MESSAGES[0]}
    if turn and dice.chance(0.4):
        found["follow"] = True
    if asyncs:
        found["async"] = True
    dice.put(found, "streamed", 0.4, [True])
    given: Spec = {}
    for key in spec.get("state", ()):
        dice.put(given, key, 0.3, GIVEN[key])
    dice.put(given, "system_prompt", 0.1, ["Be brief."])
    if given:
        found["given"] = given
    names = [one["name"] for one in spec["tools"]]
    if names and dice.chance(0.1):
        found["tools"] = dice.one([names[:1], [{"name": "add"}, {"name": "gives"}], ["nobody"]])
    if turn and dice.chance(0.4):
        found |= {"resume": True, "streamed": True}  # "Snapshots of agents": they name a callback
    elif dice.chance(0.3) and not any("several" in one for one in spec["script"]):
        found.pop("tools", None)  # "Breakpoints at tools of one run"
        found["stop"] = {"at": dice.one(["tools", "model"]), "visit": dice.number(0, 2)}
        if found["stop"]["at"] == "tools" and names:
            dice.put(found["stop"], "tool", 0.5, names)
    return found


GIVEN: dict[str, list[Any]] = {
    "n": [5, 0],
    "documents": [["d"], []],
    "last": [{"k": 1}],
    "repository": ["repo"],
}
MESSAGES: list[list[Spec]] = [
    [{"role": "user", "text": "hi"}],
    [{"role": "system", "text": "S"}, {"role": "user", "text": "hi", "name": "ann"}],
    [{"role": "user", "text": "hi", "meta": {"k": 1}}, {"role": "user", "text": "again"}],
    [
        {"role": "user", "text": "1"},
        {"role": "assistant", "calls": [{"name": "add", "args": {"a": 1}, "id": "old"}]},
        {"role": "tool", "text": "2", "origin": ["add", {"a": 1}, "old"]},
    ],
    [],
]
