"""What models of made programs say, which tools they have, and what is done with the agents."""

import json
from typing import Any

from tests.differential.random.dice import Dice, Spec

PRIVATE = [
    "write to ann@mail.org or call 10.0.0.1",
    "see https://shop.example.com/a?b=1 or pay by 4111 1111 1111 1111",
    "bob@mail.org, carl@mail.org, 00:1b:44:11:3a:b7 and http://10.1.2.3/x",
]
"""Texts with what is personal."""

ARGUMENTS: dict[str, list[Any]] = {
    "add": [{"a": 1, "b": 5}, {"a": 3}, {"a": "4", "b": 1}, {"a": "x"}, {}, {"a": 1, "c": 2}],
    "echo": [{"text": "hi"}, {"text": 5}, {"text": None}, {}, {"text": PRIVATE[2]}],
    "place": [{"point": {"x": 1}}, {"point": {"x": 1, "y": 2}, "tags": ["a"]}, {"point": 3}],
    "pick": [{"color": "red"}, {"color": "blue", "n": 2}, {"color": "green"}],
    "peek": [{}, {"state": {"mine": 1}}],
    "count_messages": [{"x": 1}, {"x": "no"}, {"x": 1, "field": []}],
    "notes_of": [{"x": 1}],
    "remember": [{"value": "v"}, {"value": "w"}],
    "recall": [{}, {"key": "none"}],
    "about": [{}, {"x": 2}, {"x": 1, "runtime": "mine"}],
    "whoami": [{}, {"x": 1}, {"call_id": "forged"}],
    "configured": [{"x": 1}],
    "art": [{"n": 2}, {"n": 9}],
    "noted": [{"text": "one"}, {"text": "two"}],
    "silent": [{"text": "hush"}],
    "leads": [{"to": "end"}, {"to": "nobody"}, {"to": "tools"}],
    "sends": [{"n": 0}, {"n": 1}],
    "to_parent": [{"text": "now"}],
    "several": [{"n": n} for n in range(5)],
    "gives": [
        {"form": form}
        for form in (
            *("dict", "list", "strings", "none", "true", "float", "blocks", "mixed", "image"),
            *("model", "tuple", "empty", "message", "other_id", "human", "set"),
        )
    ],
    "fails": [
        {"kind": kind}
        for kind in (
            *("value", "key", "tool", "tool_empty", "broken", "custom", "type", "runtime"),
            *("lookup", "timeout"),
        )
    ],
    "ask": [{"what": "a?"}, {"what": "b?"}],
    "ask_twice": [{"what": "c?"}],
    "writes": [{"n": 2}, {"n": 0}],
    "tells": [{"n": 1}],
    "nothing": [{}, {"x": 1}],
    "shout": [{"text": "hey"}, {"text": "a", "times": 2}, {"times": 1}],
    "search": [{"q": "cats"}, {"q": "c"}, {"q": "cats", "limit": 99}],
    "by_json": [{"n": 1}, {"n": 1, "s": "x"}, {"s": 1}],
    "missing": [{}, {"x": 1}],
}
"""Arguments with which models call the tools, some of them wrong."""

TOOLS = [name for name in ARGUMENTS if name != "missing"]
PLAIN_FORM = {"shout", "configured"}
"""Tools that are made in one way: the sides differ about arguments named config."""
ASKING = {"ask", "ask_twice"}
BLOCKS = [
    [{"type": "text", "text": "a block"}],
    [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
    [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "so"}],
]
USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
MODES = ("updates", "values", "messages", "custom", "tasks", "checkpoints", "debug")


def tools(dice: Dice, names: list[str], most: int = 4, asyncs: bool = False) -> list[Spec]:
    """Some tools, each in some form."""
    return [_tool(dice, name, asyncs) for name in dice.mixed(names, 0 if most < 4 else 1, most)]


def _tool(dice: Dice, name: str, asyncs: bool) -> Spec:
    found: Spec = {"name": name}
    if name in PLAIN_FORM:
        return found
    dice.put(found, "form", 0.3, ["function", "both"])
    if asyncs and dice.chance(0.4):
        found["async"] = True
    options: Spec = {}
    if dice.chance(0.12):
        options["return_direct"] = True
    dice.put(options, "handle_tool_error", 0.15, [True, "tool error text", "callable"])
    dice.put(options, "handle_validation_error", 0.1, ["invalid text", "callable"])
    if options:
        found["options"] = options
    return found


class Replies:
    """Draws what a model says; the ids of its calls are all different."""

    def __init__(self, dice: Dice, names: list[str], one_question: bool = False) -> None:
        self._dice, self._names, self._calls = dice, names, 0
        self._one_question = one_question

    def call(self, name: str | None = None, arguments: Any = None) -> Spec:
        """A tool call, mostly of a known tool."""
        dice = self._dice
        self._calls += 1
        if name is None:
            name = dice.one(self._names) if self._names and dice.chance(0.94) else "missing"
        if arguments is None:
            arguments = dice.one(ARGUMENTS.get(name, [{}]))
        return {"name": name, "args": arguments, "id": f"c{self._calls}"}

    def reply(self) -> Spec:
        """One message of the model."""
        dice = self._dice
        found: Spec = {}
        if dice.chance(0.6):
            found["calls"] = self.several(dice.one([1, 1, 1, 2, 2, 3]))
        if not found or dice.chance(0.2):
            if dice.chance(0.15):
                found["blocks"] = dice.one(BLOCKS)
            else:
                found["text"] = dice.one(["fine", "it is so", "", "well then", dice.one(PRIVATE)])
        if dice.chance(0.05):
            name = dice.one(self._names or ["missing"])
            found["invalid"] = [{"name": name, "args": "oops", "id": "i1", "error": "not JSON"}]
        if dice.chance(0.1):
            found["usage_metadata"] = USAGE
        if dice.chance(0.15):
            found["id"] = f"m{dice.number(1, 3)}"
        dice.put(found, "name", 0.05, ["bob"])
        dice.put(found, "error", 0.04, ["connection", "value"])
        return found

    def several(self, count: int) -> list[Spec]:
        """Tool calls; a question is alone where the sides differ about several calls."""
        calls = [self.call() for _ in range(count)]
        asking = [one for one in calls if one["name"] in ASKING]
        return asking[:1] if self._one_question and asking else calls

    def script(self, least: int = 1, most: int = 4) -> list[Spec]:
        """What a model says, message by message."""
        return [self.reply() for _ in range(self._dice.number(least, most))]


def messages(dice: Dice, pairs: bool = False) -> Any:
    """The messages of an input; pairs are not for savers, which differ about tuples."""
    forms: list[Any] = [
        [{"role": "user", "content": "hello"}],
        [["human", "hi"]] if pairs else [{"type": "human", "content": "hello"}],
        ["hey"],
        [{"kind": "human", "content": "a", "id": "h1"}],
        [{"role": "user", "content": dice.one(PRIVATE)}],
        [{"kind": "human", "content": [{"type": "text", "text": dice.one(PRIVATE)}]}],
        [{"kind": "human", "content": "a", "name": "ann"}, {"kind": "human", "content": "b"}],
        [{"kind": "system", "content": "be good"}, {"kind": "human", "content": "b"}],
        [
            {"kind": "human", "content": [{"type": "text", "text": "in a block"}]},
            {"kind": "ai", "content": "yes?", "id": "a1"},
            {"kind": "human", "content": "go on"},
        ],
    ]
    return dice.one(forms if dice.chance(0.5) else forms[:1])


def run(dice: Dice, given: Spec, asyncs: bool) -> Spec:
    """An action that runs the graph on an input or an answer."""
    found: Spec = {"do": "invoke", **given}
    if dice.chance(0.5):
        found["do"] = "stream"
        modes = dice.mixed(MODES, 1, 3)
        found["stream_mode"] = modes[0] if len(modes) == 1 and dice.chance(0.7) else modes
        if dice.chance(0.25):
            found["subgraphs"] = True
    elif asyncs and dice.chance(0.3):
        found["do"] = "events"
    elif dice.chance(0.1):
        found["stream_mode"] = dice.one(["updates", "values"])
    if asyncs:
        found["async"] = True
    dice.put(found, "limit", 0.12, [2, 3, 4, 5])
    dice.put(found, "version", 0.1, ["v2"])
    dice.put(found, "interrupt_before", 0.05, [["tools"], "*"])
    dice.put(found, "interrupt_after", 0.05, [["agent"], ["model"], ["tools"]])
    dice.put(found, "tags", 0.1, [["t1"]])
    return found


ANSWERS: list[Any] = ["yes", 5, {"type": "approve"}, ["a", "b"], True]


def actions(dice: Dice, spec: Spec, asyncs: bool, extra: list[Spec]) -> list[Spec]:
    """What is done with a graph, in this order."""
    found = [run(dice, {"input": {"messages": messages(dice, not spec.get("saver"))}}, asyncs)]
    found[0]["input"].update(dice.one(extra))
    if not spec.get("saver"):
        if dice.chance(0.15):
            found.append({"do": dice.one(["draw", "schemas"])})
        return found
    dice.put(found[0], "durability", 0.1, ["sync", "async"])
    found += [_later(dice, asyncs, extra) for _ in range(dice.number(0, 4))]
    if "parent" in spec and any("resume" in one for one in found):  # "Answers after an answer"
        found = [one for one in found if "answers" not in one]
    return _answered(found) if '"ask_twice"' in json.dumps(spec) else found


def _answered(found: list[Spec]) -> list[Spec]:
    """After an answer no run but answers: a tool asks twice ("Answers after an answer")."""
    first = next((at for at, one in enumerate(found) if {"resume", "answers"} & one.keys()), None)
    later = [] if first is None else [one for one in found[first:] if "input" not in one]
    return [*found[:first], *later]


def _later(dice: Dice, asyncs: bool, extra: list[Spec]) -> Spec:
    """An action on a thread that has begun."""
    found = _of_thread(dice, asyncs, extra)
    if not {"resume", "answers"} & found.keys():
        dice.put(found, "thread", 0.15, ["2"])
    return found


def _of_thread(dice: Dice, asyncs: bool, extra: list[Spec]) -> Spec:
    """The same, whichever the thread."""
    kind = dice.one(
        ["turn", "resume", "resume", "answers", "go", "update", "state", "history", "fork"]
    )
    if kind == "fork":
        return {"do": "fork", "back": dice.number(1, 5)}
    if kind == "turn":
        return run(dice, {"input": {"messages": messages(dice), **dice.one(extra)}}, asyncs)
    if kind == "resume":
        return run(dice, {"resume": dice.one(ANSWERS)}, asyncs)
    if kind == "answers":
        several = {"answers": dice.mixed(ANSWERS, 1, 3)}
        if dice.chance(0.4):
            several["backwards"] = True
        return run(dice, several, asyncs)
    if kind == "go":
        return run(dice, {"input": None}, asyncs)
    if kind == "update":
        said: list[Any] = [[{"role": "user", "content": "changed"}]]
        said.append([{"kind": "remove"}, {"kind": "ai", "content": "x"}])
        values = {"messages": dice.one(said)}
        found: Spec = {"do": "update", "values": values}
        found["as_node"] = dice.one(["agent", "tools", "model"])
    else:
        found = {"do": kind}
        if kind == "state" and dice.chance(0.3):
            found["subgraphs"] = True
    if asyncs and kind != "history":
        found["async"] = True
    return found
