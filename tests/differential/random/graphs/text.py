"""A program as text: what the generator chose, written the way a person would write it."""

from typing import Any

from tests.differential.random.dice import Spec

from .graphs import KEYS, MANAGED, MORE_KEYS

HEAD = """\
import operator
from collections import deque
from dataclasses import dataclass, field
from typing import Annotated, Any

from langchain_core.messages import AIMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.channels import AnyValue, EphemeralValue, Topic, UntrackedValue
from langgraph.config import get_store, get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.managed import IsLastStep, RemainingSteps
from langgraph.runtime import Runtime
from langgraph.types import CachePolicy, Command, RetryPolicy, Send, StateUpdate, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from tests.differential.random.graphs.prelude import (
    Planned, latest, look, merge, most, pick, play, play_async, seen, size
)
"""


def program(spec: Spec) -> str:
    """The text of a program; its one case is `case_random`."""
    graphs = [_known(graph) for graph in spec["graphs"]]
    lines = [HEAD]
    if spec.get("context"):
        lines += _class("Context", spec["context"], ["user: str"])
    for graph in graphs:
        lines += _schemas(graph)
    lines += ["", "", "def build(saver, store, trouble):"]
    for graph in graphs:
        lines += _indent(_graph(graph, spec))
    lines += ["    return root", "", "", "async def script(do):"]
    lines += _indent([_action(action) for action in spec["script"]] or ["pass"])
    call = f"(env, build, script, Command, saved={spec['saved']}, sync={_grows(spec)})"
    if spec["aio"]:
        lines += ["", "", "async def case_random(env):", f"    return await play_async{call}"]
    else:
        lines += ["", "", "def case_random(env):", f"    return play{call}"]
    return "\n".join(lines) + "\n"


def _grows(spec: Spec) -> bool:
    """Whether a graph has joins or topics: in its default mode the peer stores them while the next
    super-step changes them. What has no checkpoints stores nothing at once ("Graphs without
    checkpoints that are to store at once").
    """
    if not may_store_at_once(spec):
        return False
    starts = [start for graph in spec["graphs"] for start, _ in graph["edges"]]
    keys = {key for graph in spec["graphs"] for key in graph["keys"]}
    return any(isinstance(start, list) for start in starts) or bool(keys & {"topic", "topics"})


def may_store_at_once(spec: Spec) -> bool:
    """Whether `durability="sync"` may be asked for."""
    return spec["saved"] and all(graph["checkpointer"] != "false" for graph in spec["graphs"])


def _known(graph: Spec) -> Spec:
    """A graph without routes to nodes that were taken out of it while it shrank."""
    names = {"START", "END", *(node["name"] for node in graph["nodes"])}
    edges = [
        [start if isinstance(start, str) else [s for s in start if s in names], end]
        for start, end in graph["edges"]
        if end in names and (start in names if isinstance(start, str) else names & set(start))
    ]
    paths = [
        {**path, "to": [t for t in path["to"] if t in names] or ["END"]}
        for path in graph["paths"]
        if path["of"] in names
    ]
    nodes = [_known_routes(node, names) for node in graph["nodes"]]
    kept = {at: [n for n in graph[at] if n in names | {"*"}] for at in ("before", "after")}
    return {**graph, "edges": edges, "paths": paths, "nodes": nodes, **kept}


def _known_routes(node: Spec, names: set[str]) -> Spec:
    goto = node["goto"]
    if goto is None or goto["kind"] == "parent":
        return node
    to = [t for t in goto["to"] if t in names]
    if goto["kind"] == "mix" and goto["send"] not in names:
        return {**node, "goto": None}
    return {**node, "goto": {**goto, "to": to} if to else None}


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


def _schemas(graph: Spec) -> list[str]:
    lines = _schema(f"{graph['name'].title()}", graph["schema"], graph["keys"])
    for part in ("input", "output"):
        if graph[part] is not None:
            lines += _schema(f"{graph['name'].title()}{part.title()}", "typed", graph[part])
    for node in graph["nodes"]:
        if node.get("reads"):
            lines += _schema(f"{node['name'].title()}Reads", node["reads"], ["secret", "log"])
    return lines


def _schema(name: str, kind: str, keys: list[str]) -> list[str]:
    return _class(name, kind, [_field(key, kind) for key in keys] or ["pass"])


def _class(name: str, kind: str, fields: list[str]) -> list[str]:
    head = {
        "typed": [f"class {name}(TypedDict, total=False):"],
        "pydantic": [f"class {name}(BaseModel):"],
        "dataclass": ["@dataclass", f"class {name}:"],
    }[kind]
    return ["", "", *head, *_indent(fields)]


def _field(key: str, kind: str) -> str:
    of, reducer = (KEYS | MORE_KEYS)[key]
    declared = f"Annotated[{of}, {reducer}]" if reducer else of
    if kind == "typed":
        return f"{key}: {declared}"
    if key in MANAGED:
        return f"{key}: {declared} = None"
    if of not in ("str", "int", "float", "bool"):
        default = of + "()" if kind == "pydantic" else f"field(default_factory={of})"
        return f"{key}: {declared} = {default}"
    return f"{key}: {declared} = {of}()"


def _graph(graph: Spec, spec: Spec) -> list[str]:
    name = graph["name"]
    nodes = graph["nodes"]
    schemas = "".join(
        f", {part}_schema={name.title()}{part.title()}"
        for part in ("input", "output")
        if graph[part] is not None
    )
    lines: list[str] = []
    for node in nodes:
        if not node.get("sub"):
            lines += [*_node(node, graph, spec), ""]
    for index, path in enumerate(graph["paths"]):
        lines += [*_path(path, index, name, spec), ""]
    if spec.get("context"):
        schemas += ", context_schema=Context"
    lines.append(f"b = StateGraph({name.title()}{schemas})")
    lines += [_add_node(node) for node in nodes]
    for start, end in graph["edges"]:
        lines.append(f"b.add_edge({_source(start)}, {_name(end)})")
    for index, path in enumerate(graph["paths"]):
        lines.append(_add_path(path, index, name))
    lines.append(f"{name} = b.compile({_compile(graph, spec)})")
    return [*lines, ""]


def _compile(graph: Spec, spec: Spec) -> str:
    saver = {"saver": "saver", "none": "None", "true": "True", "false": "False"}
    parts = [f"checkpointer={saver[graph['checkpointer'] or 'none']}"]
    if graph["name"] == "root":
        parts.append("store=store")
    if spec.get("cache"):
        parts.append("cache=InMemoryCache()")
    for when in ("before", "after"):
        if graph[when]:
            parts.append(f"interrupt_{when}={('*' if '*' in graph[when] else graph[when])!r}")
    return ", ".join(parts)


def _name(name: str) -> str:
    return name if name in ("START", "END") else repr(name)


def _source(start: Any) -> str:
    return str(start) if isinstance(start, list) else _name(start)


def _names(names: list[str]) -> str:
    return "[" + ", ".join(map(_name, names)) + "]"


def _add_node(node: Spec) -> str:
    parts = [repr(node["name"]), node.get("sub") or f"{node['name']}_node"]
    if node["defer"]:
        parts.append("defer=True")
    if node.get("cache"):
        parts.append("cache_policy=CachePolicy(key_func=seen)")
    if node["retry"]:
        parts.append(
            f"retry_policy=RetryPolicy(max_attempts={node['retry']}, initial_interval=0, "
            "jitter=False, retry_on=Planned)"
        )
    return f"b.add_node({', '.join(parts)})"


def _node(node: Spec, graph: Spec, spec: Spec) -> list[str]:
    name = node["name"]
    aio = spec["aio"] and node["aio"]
    body: list[str] = []
    answers: list[str] = []
    if node.get("runtime"):
        user = "['user']" if spec["context"] == "typed" else ".user"
        body.append(f"user = runtime.context and runtime.context{user}")
        answers.append("user")
    for step in node["steps"]:
        body += _step(step, node, aio, answers)
    body += _result(node, answers)
    given = f"state: {name.title()}Reads" if node.get("reads") else "state"
    if node.get("runtime"):
        given += ", runtime: Runtime[Context]"
    return [f"{'async ' if aio else ''}def {name}_node({given}):", *_indent(body)]


def _step(step: list[Any], node: Spec, aio: bool, answers: list[str]) -> list[str]:
    name = node["name"]
    if step[0] == "fail":
        maybe = "await trouble.amaybe" if aio else "trouble.maybe"
        late = f", late={step[2]}" if step[2:] and step[2] else ""
        return [f"{maybe}({name!r}, {', '.join(map(str, step[1]))}{late})"]
    if step[0] == "ask":
        answers.append(f"answer{len(answers)}")
        return [f"{answers[-1]} = interrupt({{'of': {name!r}, 'seen': seen(state)}})"]
    if step[0] == "custom":
        return [f"get_stream_writer()({{'from': {name!r}, 'size': size(state)}})"]
    if step[0] == "store":
        answers.append("kept")
        put, get = ("aput", "aget") if aio else ("put", "get")
        wait = "await " if aio else ""
        return [
            f"item = {wait}get_store().{get}(('a', 'b'), {name!r})",
            "kept = item and item.value['size']",
            f"{wait}get_store().{put}(('a', 'b'), {name!r}, {{'size': (kept or 0) + 1}})",
        ]
    answers.append("called")
    call = f"await {step[1]}.ainvoke" if aio else f"{step[1]}.invoke"
    return [f"called = seen({call}({{'log': [{name!r}]}}) or {{}})"]


def _update(node: Spec, answers: list[str]) -> str:
    told = "".join(f" {{{answer}}}" for answer in answers)
    values = {
        "n": "1",
        "log": f"[f'{node['name']}({{seen(state)}}){told}'[:200]]",
        "d": f"{{{node['name']!r}: size(state)}}",
        "msgs": f"[AIMessage(f'hi {{size(state)}}', id=f'{node['name']}{{size(state) % 3}}')]",
        "last": repr(node["name"]),
        "bare": repr(node["name"]),
        "extra": f"f'{node['name']}{{size(state)}}'",
        "tags": f"{{{node['name']!r}}}",
        "frozen": f"frozenset([{node['name']!r}])",
        "price": "0.5",
        "text": repr(node["name"]),
        "flag": "size(state) % 2 == 1",
        "top": "size(state)",
        "queue": f"deque([{node['name']!r}])",
        "topic": f"[{node['name']!r}, 'more']",
        "topics": repr(node["name"]),
        "spark": repr(node["name"]),
        "any": "'any'",
        "loose": repr(node["name"]),
        "secret": repr(node["name"]),
    }
    return "{" + ", ".join(f"{key!r}: {values[key]}" for key in node["writes"]) + "}"


def _result(node: Spec, answers: list[str]) -> list[str]:
    update = _update(node, answers) if node["writes"] else "None"
    goto = node["goto"]
    if goto is None:
        listed = node["several"] and node["writes"]
        return [f"return [{update}, Command(update={update})]" if listed else f"return {update}"]
    targets = _names(goto["to"])
    if goto["kind"] == "parent":
        where = f"goto={targets}, " if goto["to"] else ""
        return [f"return Command(graph=Command.PARENT, {where}update={update})"]
    if goto["kind"] == "send":
        real = [t for t in goto["to"] if t != "END"]
        sends = ", ".join(f"Send({t!r}, {{'log': ['sent'], 'n': {i}}})" for i, t in enumerate(real))
        return [
            "if size(state) > 8:",
            f"    return {update}",
            f"return Command(goto=[{sends}], update={update})",
        ]
    if goto["kind"] == "mix":
        send = f"Send({goto['send']!r}, {{'log': ['sent'], 'n': 1}})"
        return [
            "if size(state) > 8:",
            f"    return {update}",
            f"return Command(goto=[{send}, *{targets}], update={update})",
        ]
    if goto["kind"] == "one":
        return [f"return Command(goto=pick(state, {targets}), update={update})"]
    return [
        "if size(state) > 8:",
        f"    return {update}",
        f"return Command(goto=[t for t in {targets} if t != END], update={update})",
    ]


def _path(path: Spec, index: int, graph: str, spec: Spec) -> list[str]:
    aio = "async " if spec["aio"] and path["aio"] else ""
    targets = path["to"]
    lines = [f"{aio}def {graph}_path{index}(state):"]
    if path["kind"] == "send":
        sends = ", ".join(
            f"Send({t!r}, {{'log': ['sent'], 'n': {i}}})"
            for i, t in enumerate(targets)
            if t != "END"
        )
        return [*lines, f"    return [{sends}] if size(state) < 8 else END"]
    if path["kind"] == "lists":
        return [*lines, f"    return {_names(targets)} if size(state) < 8 else [END]"]
    if path["map"] == "dict":
        return [*lines, f"    return pick(state, {list(range(len(targets)))})"]
    return [*lines, f"    return pick(state, {_names(targets)})"]


def _add_path(path: Spec, index: int, graph: str) -> str:
    mapped = ""
    if path["map"] == "dict":
        mapped = ", {" + ", ".join(f"{i}: {_name(t)}" for i, t in enumerate(path["to"])) + "}"
    elif path["map"] == "list":
        mapped = f", {_names(path['to'])}"
    return f"b.add_conditional_edges({_name(path['of'])}, {graph}_path{index}{mapped})"


INPUTS = {
    "n": "1",
    "log": "['in']",
    "d": "{'in': 0}",
    "msgs": "[{'role': 'user', 'content': 'hi'}]",
    "last": "'in'",
    "bare": "'in'",
    "extra": "'in'",
    "tags": "{'in'}",
    "frozen": "frozenset(['in'])",
    "price": "0.25",
    "text": "'in'",
    "flag": "False",
    "top": "1",
    "queue": "deque(['in'])",
    "topic": "['in']",
    "topics": "['in']",
    "spark": "'in'",
    "any": "'any'",
    "loose": "'in'",
    "secret": "'in'",
}


def _input(keys: list[str] | None) -> str:
    if keys is None:
        return "None"
    return "{" + ", ".join(f"{key!r}: {INPUTS[key]}" for key in keys) + "}"


def _action(action: Spec) -> str:
    """A call of the player."""
    do = action["do"]
    given: list[str] = []
    if do in ("invoke", "stream"):
        given.append(_input(action["input"]))
    elif do == "resume":
        given.append(repr(action["answers"]))
    elif do == "update":
        given.append(_input(action["values"]))
    elif do == "bulk":
        given.append(f"[{', '.join(map(_superstep, action['steps']))}]")
    if do == "stream":
        given.append(repr(action["modes"]))
    given += [
        f"{name}={action[key]!r}"
        for key, name in _ARGUMENTS.items()
        if action.get(key) not in (None, False) and not (do == "stream" and key == "modes")
    ]
    return f"await do.{do}({', '.join([*given, *(action.get('options') or [])])})"


_ARGUMENTS = {
    "node": "as_node",
    "mapped": "mapped",
    "modes": "modes",
    "limit": "limit",
    "before": "before",
    "filter": "filter",
    "thread": "thread",
    "at": "at",
    "inside": "inside",
    "task": "task",
    "subgraphs": "subgraphs",
    "stop": "stop",
    "version": "version",
}
"""What an action may say, and what the player calls it."""


def _superstep(updates: Any) -> str:
    """One super-step of a bulk update: of one node, or of several."""
    several = updates if isinstance(updates[-1], list) else [updates]
    return f"[{', '.join(f'StateUpdate({_input(values)}, {node!r})' for values, node in several)}]"
