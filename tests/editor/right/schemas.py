import operator
from dataclasses import dataclass, field
from typing import Annotated, Optional

from typing_extensions import TypedDict

from plait.graph import END, START, StateGraph


@dataclass
class State:
    name: str
    log: Annotated[list[str], operator.add] = field(default_factory=list)
    age: Optional[int] = None


class In(TypedDict):
    question: str


class Out(TypedDict):
    answer: str


class Overall(In, Out):
    pass


class Private(TypedDict):
    secret: str


def n(state: State):
    return {"log": [state.name]}


def m(state: State) -> State:
    return State(name=state.name + "!", age=1)


g = (
    StateGraph(State)
    .add_node(n)
    .add_node(m)
    .add_edge(START, "n")
    .add_edge("n", "m")
    .add_edge("m", END)
    .compile()
)
print(g.invoke({"name": "x"}))
print(g.invoke(State(name="x")))


def q(state: In) -> Private:
    return {"secret": state["question"]}


def ans(state: Private) -> Out:
    return {"answer": state["secret"]}


b = StateGraph(Overall, input_schema=In, output_schema=Out)
b.add_node("q", q)
b.add_node("ans", ans)
b.add_edge(START, "q")
b.add_edge("q", "ans")
b.add_edge("ans", END)
out = b.compile().invoke({"question": "hi"})
print(out["answer"])

# In a notebook, each cell imports what it needs.
from plait.graph import END, START  # noqa: E402, F811

print(StateGraph(State).add_node(n).add_edge(START, "n").add_edge("n", END).compile().name)
