from typing import Literal

from pydantic import BaseModel, Field

from plait.graph import END, START, StateGraph


class State(BaseModel):
    topic: str
    joke: str = ""
    good: bool = False
    tries: int = Field(default=0, ge=0)


def generate(state: State):
    return {"joke": f"about {state.topic}", "tries": state.tries + 1}


def check(state: State) -> Literal["generate", "done"]:
    return "done" if state.tries > 2 else "generate"


def done(state: State) -> State:
    return state.model_copy(update={"good": True})


wf = StateGraph(State)
wf.add_node("generate", generate)
wf.add_node("done", done)
wf.add_edge(START, "generate")
wf.add_conditional_edges("generate", check, {"generate": "generate", "done": "done"})
wf.add_edge("done", END)
chain = wf.compile()
out = chain.invoke({"topic": "cats"})
print(out["joke"])
out2 = chain.invoke(State(topic="dogs"))
print(out2)
