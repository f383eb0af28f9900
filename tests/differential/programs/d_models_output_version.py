"""Answers as standard blocks: `output_version="v1"` of a program's own models and of fakes."""

import os

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import START, MessagesState, StateGraph


class Whole(BaseChatModel):
    reply: AIMessage

    @property
    def _llm_type(self):
        return "whole"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=self.reply.model_copy())])


class Pieces(BaseChatModel):
    pieces: list

    @property
    def _llm_type(self):
        return "pieces"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        raise AssertionError("it streams")

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        for piece in self.pieces:
            yield ChatGenerationChunk(message=AIMessageChunk(piece))


CALLS = AIMessage("hi", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "1"}])
TEXTS = AIMessage([{"type": "text", "text": "see"}, {"type": "text", "text": "this"}])
THOUGHTS = [
    [{"type": "reasoning", "reasoning": "so"}],
    [{"type": "reasoning", "reasoning": " then"}],
    "yes",
    " indeed",
    [{"type": "reasoning", "reasoning": "or"}],
]


def shown(message):
    return [message.type, message.content, message.response_metadata, message.text]


def case_answers(env):
    models = [Whole(reply=one, output_version="v1") for one in (CALLS, TEXTS, AIMessage(""))]
    answers = [model.invoke("x") for model in models]
    return (
        [shown(answer) for answer in answers],
        answers[0].tool_calls,
        [shown(Whole(reply=CALLS, output_version=version).invoke("x")) for version in ("v0", None)],
        (models[0] | StrOutputParser()).invoke("x"),
        [shown(each) for each in models[0].stream("x")],
    )


async def case_async_answers(env):
    model = Whole(reply=CALLS, output_version="v1")
    chunks = [each async for each in Pieces(pieces=THOUGHTS, output_version="v1").astream("x")]
    return shown(await model.ainvoke("x")), [each.content for each in chunks]


def case_chunks(env):
    chunks = list(Pieces(pieces=THOUGHTS, output_version="v1").stream("x"))
    total = chunks[0]
    for chunk in chunks[1:]:
        total += chunk
    return [shown(chunk) for chunk in chunks], shown(total), total.content_blocks


def case_tokens_of_a_graph(env):
    model = FakeListChatModel(responses=["ab"], output_version="v1")
    builder = StateGraph(MessagesState).add_edge(START, "bot")
    builder.add_node("bot", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph = builder.compile()
    tokens = [each.content for each, _ in graph.stream({"messages": "x"}, stream_mode="messages")]
    return tokens, graph.invoke({"messages": "x"})["messages"][-1].content


def case_the_environment_says_it(env):
    os.environ["LC_OUTPUT_VERSION"] = "v1"
    try:
        model = Whole(reply=CALLS)
        return model.invoke("x").content, Whole(reply=CALLS, output_version="v0").invoke(
            "x"
        ).content
    finally:
        del os.environ["LC_OUTPUT_VERSION"]


class Ends(BaseCallbackHandler):
    def __init__(self):
        self.heard = []

    def on_llm_end(self, response, **kwargs):
        generation = response.generations[0][0]
        self.heard.append((generation.text, generation.message.content))


def case_what_handlers_are_told(env):
    ends = Ends()
    Whole(reply=CALLS, output_version="v1").invoke("x", {"callbacks": [ends]})
    list(Pieces(pieces=["a", "b"], output_version="v1").stream("x", {"callbacks": [ends]}))
    return ends.heard
