"""Programs as templates and tutorials have them, with several features at once."""

import operator
from typing import Annotated, Dict, List, NotRequired, Optional, Tuple, TypedDict  # noqa: UP035

from langgraph.graph import START, StateGraph

THREAD = {"configurable": {"thread_id": "1"}}


# --- states ---------------------------------------------------------------------------------------


class Code(TypedDict):
    messages: List  # noqa: UP006 (as tutorials have it)
    seen: NotRequired[Dict]  # noqa: UP006
    pair: Optional[Tuple]  # noqa: UP006, UP045
    log: Annotated[List, operator.add]  # noqa: UP006


def case_keys_of_bare_generics(env):
    builder = StateGraph(Code)
    builder.add_node("ask", lambda state: {"messages": [*state["messages"], "a"], "log": ["ask"]})
    builder.add_node("check", lambda state: {"seen": {"n": len(state["messages"])}, "log": ["c"]})
    builder.add_edge(START, "ask").add_edge("ask", "check")
    graph = builder.compile(checkpointer=env.saver())
    told = [*graph.stream({"messages": ["q"], "pair": None}, THREAD, stream_mode="values")]
    return told, graph.get_state(THREAD).values
