"""Models that say what their script says, at once or in pieces, and keep what they were asked."""

import json
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool

ERRORS = {
    "connection": ConnectionError,
    "value": ValueError,
    "timeout": TimeoutError,
    "runtime": RuntimeError,
}


class Scripted(BaseChatModel):
    """Says what its script says."""

    script: list
    seen: list
    own_structure: bool = False
    answers: list = []

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self.bind(tools=[shown(one) for one in tools], **kwargs)

    def with_structured_output(self, schema, **kwargs):
        if self.answers:
            return RunnableLambda(lambda messages: self.answers.pop(0) if self.answers else {})
        if not self.own_structure:
            return super().with_structured_output(schema, **kwargs)
        name = schema.get("title", "dict") if isinstance(schema, dict) else schema.__name__
        return RunnableLambda(lambda messages: {"schema": name, "seen": len(list(messages))})

    def _next(self, messages, kwargs):
        bound = {k: v for k, v in kwargs.items() if k != "tools" or v}  # "Forms of the provider"
        self.seen.append({"messages": list(messages), "kwargs": bound})
        reply = self.script.pop(0) if self.script else {"text": "the end"}
        if reply.get("error"):
            raise ERRORS[reply["error"]]("the model failed")
        return reply

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        message = AIMessage(**fields(self._next(messages, kwargs)))
        return ChatResult(generations=[ChatGeneration(message=message)])


class Streaming(Scripted):
    """The same, in pieces."""

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        for piece in pieces(self._next(messages, kwargs)):
            chunk = ChatGenerationChunk(message=piece)
            if run_manager and isinstance(piece.content, str):
                run_manager.on_llm_new_token(piece.content, chunk=chunk)
            yield chunk


def shown(tool):
    """What a provider is shown of a tool."""
    if isinstance(tool, dict) and "type" in tool:
        return tool
    found = convert_to_openai_tool(tool)
    if found["function"]["name"] == "write_todos":  # described in each side's own words
        del found["function"]["parameters"]
    return found


def calls_of(reply):
    return [dict(one, type="tool_call") for one in reply.get("calls", [])]


def fields(reply):
    """The fields of the message that a reply of a script is."""
    found: dict[str, Any] = {"content": reply.get("blocks") or reply.get("text", "")}
    found["tool_calls"] = calls_of(reply)
    found["invalid_tool_calls"] = [
        dict(one, type="invalid_tool_call") for one in reply.get("invalid", [])
    ]
    for name in ("id", "name", "usage_metadata", "additional_kwargs", "response_metadata"):
        if name in reply:
            found[name] = reply[name]
    return found


def pieces(reply):
    """The chunks of a reply."""
    own = {"id": reply["id"]} if "id" in reply else {}
    for block in reply.get("blocks") or []:
        yield AIMessageChunk(content=[block], **own)
    for word in reply.get("text", "").split(" ") if not reply.get("blocks") else []:
        yield AIMessageChunk(content=word + " " if word else "", **own)
    for index, one in enumerate(reply.get("calls", []) + reply.get("invalid", [])):
        text = one["args"] if isinstance(one["args"], str) else json.dumps(one["args"])
        half = len(text) // 2
        for n, part in enumerate((text[:half], text[half:])):
            known = {"name": one["name"], "id": one["id"]} if n == 0 else {"name": None, "id": None}
            piece = {**known, "args": part, "index": index, "type": "tool_call_chunk"}
            yield AIMessageChunk(content="", tool_call_chunks=[piece], **own)
    if "usage_metadata" in reply:
        yield AIMessageChunk(content="", usage_metadata=reply["usage_metadata"], **own)


def model_of(spec, log):
    """The model of a program; what it is asked goes into `log`."""
    kind = Streaming if spec.get("streams") else Scripted
    more = {"profile": spec["profile"]} if "profile" in spec else {}
    more["answers"] = list(spec.get("answers", []))
    script = [dict(one) for one in spec["script"]]
    model = kind(script=script, seen=[], own_structure=spec.get("own_structure", False), **more)
    object.__setattr__(model, "seen", log)
    return model
