"""What is done with a graph of a made program: runs, streams, answers, looks, changes by hand."""

import asyncio
import html
from typing import Any

from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

LOUD = {"human": HumanMessage, "system": SystemMessage, "ai": AIMessage}


def message_of(spec):
    """A message of an input: text, pair, dict or object."""
    if not isinstance(spec, dict) or "kind" not in spec:
        return tuple(spec) if isinstance(spec, list) else spec
    rest = {k: v for k, v in spec.items() if k != "kind"}
    if spec["kind"] == "tool":
        return ToolMessage(**rest)
    if spec["kind"] == "remove":
        return RemoveMessage(id=rest.get("id", REMOVE_ALL_MESSAGES))
    if "tool_calls" in rest:
        rest["tool_calls"] = [dict(one, type="tool_call") for one in rest["tool_calls"]]
    return LOUD[spec["kind"]](**rest)


def input_of(action):
    """What a run is given."""
    if "resume" in action:
        return Command(resume=action["resume"])
    given = action.get("input")
    if not isinstance(given, dict):
        return given
    found = dict(given)
    if isinstance(found.get("messages"), list):
        found["messages"] = [message_of(one) for one in found["messages"]]
    return Command(update=found) if action.get("as_command") else found


def picture_of(graph, xray=False):
    """Its Mermaid text; what one side writes as entities is read as what it means."""
    return html.unescape(graph.get_graph(xray=xray).draw_mermaid().replace("#", "&#"))


INSIDE = ("call_model", "RunnableSequence", "Prompt")
"""Runs around a model that one side tells of ("Runs inside an agent")."""


class Player:
    """Does one action after another with a graph, and keeps what came of each."""

    def __init__(self, graph, env, context=None, is_untold=None):
        self.graph, self.env, self.context = graph, env, context
        self.is_untold = is_untold or (lambda event, node: False)

    def config(self, action):
        found: dict[str, Any] = {"recursion_limit": action.get("limit", 12)}
        if action.get("thread", "1"):
            found["configurable"] = {"thread_id": action.get("thread", "1")}
        for key in ("tags", "metadata", "max_concurrency"):
            if key in action:
                found[key] = action[key]
        return found

    def play(self, actions):
        return [self.one(action) for action in actions]

    def one(self, action):
        if {"resume", "answers", "decide"} & action.keys() and not self.is_asked(action):
            return "nobody asks"
        do = getattr(self, f"do_{action['do']}")
        if action.get("async"):
            return asyncio.run(self.env.aerror(do(action)))
        return self.env.error(lambda: do(action))

    def is_asked(self, action):
        """Whether a question waits: the sides differ about answers to none, and about questions
        of a task that failed later."""
        try:
            snapshot = self.graph.get_state(self.config(action))
        except Exception:  # "States that do not fit"
            return False
        return bool(snapshot.interrupts) and not any(one.error for one in snapshot.tasks)

    def more(self, action):
        found = {k: action[k] for k in ("stream_mode", "subgraphs", "durability") if k in action}
        for key in ("interrupt_before", "interrupt_after", "version", "output_keys"):
            if key in action:
                found[key] = action[key]
        if self.context is not None:
            found["context"] = self.context
        return found

    def given(self, action):
        """The input; answers to all that is open are found by what is open."""
        if "answers" not in action:
            return input_of(action)
        snapshot = self.graph.get_state(self.config(action))
        open_ones = sorted(snapshot.interrupts, key=lambda one: repr(one.value))
        answers = action["answers"]
        if action.get("backwards"):
            open_ones = open_ones[::-1]
        return Command(resume={one.id: a for one, a in zip(open_ones, answers, strict=False)})

    def do_invoke(self, action):
        given, config = self.given(action), self.config(action)
        if action.get("async"):
            return self._ainvoke(given, config, action)
        found = self.graph.invoke(given, config, **self.more(action))
        return {"$parts": found, "error": None} if "stream_mode" in action else found

    async def _ainvoke(self, given, config, action):
        found = await self.graph.ainvoke(given, config, **self.more(action))
        return {"$parts": found, "error": None} if "stream_mode" in action else found

    def do_stream(self, action):
        given, config = self.given(action), self.config(action)
        if action.get("async"):
            return self._astream(given, config, self.more(action))
        parts = []
        error = self.env.error(
            lambda: parts.extend(self.graph.stream(given, config, **self.more(action)))
        )
        return {"$parts": parts, "error": error}

    async def _astream(self, given, config, more):
        parts = []

        async def run():
            async for part in self.graph.astream(given, config, **more):
                parts.append(part)

        error = await self.env.aerror(run())
        return {"$parts": parts, "error": error}

    def do_events(self, action):
        events = self._events(self.given(action), self.config(action))
        return events if action.get("async") else asyncio.run(events)

    async def _events(self, given, config):
        more = {"context": self.context} if self.context is not None else {}
        parts = []

        async def run():
            async for one in self.graph.astream_events(given, config, version="v2", **more):
                about = one["metadata"]
                where = (about.get("langgraph_node"), about.get("langgraph_step"))
                if one["name"] in INSIDE or self.is_untold(one, where[0]):
                    continue
                tags = [tag for tag in one["tags"] if not tag.startswith("seq:")]
                parts.append((one["event"], one["name"], where, tags, one["data"]))

        error = await self.env.aerror(run())
        return {"$parts": parts, "error": error}

    def do_update(self, action):
        values = input_of({"input": action["values"]})
        if action.get("async"):
            return self._aupdate(action, values)
        self.graph.update_state(self.config(action), values, action.get("as_node"))
        return self.graph.get_state(self.config(action))

    async def _aupdate(self, action, values):
        await self.graph.aupdate_state(self.config(action), values, action.get("as_node"))
        return await self.graph.aget_state(self.config(action))

    def do_state(self, action):
        subgraphs = action.get("subgraphs", False)
        if action.get("async"):
            return self.graph.aget_state(self.config(action), subgraphs=subgraphs)
        return self.graph.get_state(self.config(action), subgraphs=subgraphs)

    def do_history(self, action):
        return [
            (one.values, one.next, one.metadata, [(t.name, t.interrupts) for t in one.tasks])
            for one in self.graph.get_state_history(self.config(action))
        ]

    def do_fork(self, action):
        """Runs on from an older checkpoint; the one of an input has messages whose ids it lacks, or
        has, by chance."""
        history = list(self.graph.get_state_history(self.config(action)))
        past = [one for one in history if one.metadata["source"] != "input"]
        if not past:
            return "nothing before"
        old = past[min(action["back"], len(past) - 1)]
        config = {**self.config(action), "configurable": old.config["configurable"]}
        return self.graph.invoke(None, config, **self.more(action))

    def do_draw(self, action):
        return picture_of(self.graph, action.get("xray", False))

    def do_schemas(self, action):
        """The fields of its schemas; what is inside a message is shown by programs by hand."""
        of_input, of_output = self.graph.get_input_jsonschema(), self.graph.get_output_jsonschema()
        fields = [
            (sorted(one.get("properties", {})), one.get("title")) for one in (of_input, of_output)
        ]
        return fields, self.graph.get_context_jsonschema()
