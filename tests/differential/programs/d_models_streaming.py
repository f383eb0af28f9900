"""Models that say whether they stream: their field `streaming`, and calls with `stream=`."""

from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, merge_message_runs
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent, tools_condition


class Model(BaseChatModel):
    streaming: bool = False
    used: Any = None

    @property
    def _llm_type(self):
        return "model"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.used.append(("generate", sorted(kwargs)))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("whole"))])

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        self.used.append(("stream", sorted(kwargs)))
        for text in ("pie", "ces"):
            yield ChatGenerationChunk(message=AIMessageChunk(text))


class Hears(BaseCallbackHandler):
    def __init__(self):
        self.tokens = []

    def on_llm_new_token(self, token, **kwargs):
        self.tokens.append(token)


WAYS = (
    {},
    {"streaming": True},
    {"streaming": False},
    {"streaming": True, "disable_streaming": True},
    {"streaming": True, "disable_streaming": "tool_calling"},
)
CALLS = ({}, {"stream": True}, {"stream": False}, {"tools": [1]})


def each_way():
    for way in WAYS:
        for kwargs in CALLS:
            used = []
            yield Model(used=used, **way), kwargs, used


def case_whole_answers(env):
    found = []
    for model, kwargs, used in each_way():
        handler = Hears()
        heard = model.invoke("q", {"callbacks": [handler]}, **kwargs).content
        alone = model.invoke("q", **kwargs).content
        many = model.generate([[HumanMessage("q")]], **kwargs).generations[0][0].text
        found.append((heard, handler.tokens, alone, many, used))
    return found


async def case_whole_answers_async(env):
    found = []
    for model, kwargs, used in each_way():
        handler = Hears()
        heard = (await model.ainvoke("q", {"callbacks": [handler]}, **kwargs)).content
        alone = (await model.ainvoke("q", **kwargs)).content
        found.append((heard, handler.tokens, alone, used))
    return found


def case_streams(env):
    return [
        ([chunk.content for chunk in model.stream("q", **kwargs)], used)
        for model, kwargs, used in each_way()
    ]


def case_in_a_graph(env):
    found = []
    for way in WAYS[:3]:
        model = Model(used=[], **way)
        graph = StateGraph(MessagesState).add_edge(START, "say")
        graph.add_node("say", lambda state, model=model: {"messages": [model.invoke("q")]})
        compiled = graph.compile()
        given = {"messages": [HumanMessage("q")]}
        found.append([part.content for part, _ in compiled.stream(given, stream_mode="messages")])
        found.append([message.content for message in compiled.invoke(given)["messages"]])
        found.append(model.used)
    return found


class CutOff(Model):
    """Ends, by its limit of tokens, within the arguments of a call."""

    def bind_tools(self, tools, **kwargs):
        return self

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        pieces = [("pay", '{"euro": 1', "1", 0), (None, "0", None, 0)]
        if messages[-1].type == "human":
            for name, args, call_id, index in pieces:
                piece = {"name": name, "args": args, "id": call_id, "index": index}
                yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[piece]))
        else:
            yield ChatGenerationChunk(message=AIMessageChunk("paid"))


def case_calls_that_are_cut_off(env):
    paid = []

    def pay(euro: int) -> str:
        """Pay."""
        paid.append(euro)
        return "paid"

    agent = create_react_agent(CutOff(streaming=True, used=[]), [pay])
    agent.invoke({"messages": [HumanMessage("Pay 1000 euro.")]})
    return paid, CutOff(streaming=True, used=[]).invoke("q").tool_calls


def sums(state):
    """A node that streams its model itself, and keeps the sum."""
    total = None
    for chunk in CutOff(used=[]).stream(state["messages"]):
        total = chunk if total is None else total + chunk
    return {"messages": [total]}


def case_sums_of_calls_that_are_cut_off(env):
    paid = []

    def pay(euro: int) -> str:
        """Pay."""
        paid.append(euro)
        return "paid"

    graph = StateGraph(MessagesState)
    graph.add_node("model", sums)
    graph.add_node("tools", ToolNode([pay]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    ended = graph.compile().invoke({"messages": [HumanMessage("Pay 1000 euro.")]})
    return paid, [message.type for message in ended["messages"]]


def case_runs_of_calls_that_are_cut_off(env):
    call = {"name": "pay", "args": '{"euro": 10', "id": "1", "error": None}
    run = [AIMessage("a", invalid_tool_calls=[call]), AIMessage("b")]
    (merged,) = merge_message_runs(run)
    return merged.tool_calls


def case_forms_that_are_cut_off(env):
    schema = {"title": "pay", "type": "object", "properties": {"euro": {"type": "integer"}}}
    asked = CutOff(used=[]).with_structured_output(schema)
    shown = []
    try:
        for value in asked.stream([HumanMessage("q")]):
            shown.append(value)
    except ValueError:
        shown.append("cut off")
    return shown
