"""Reflection: one model writes, another one judges, until it is good or the rounds are used up.

    python examples/reflection.py
    python examples/reflection.py --ask "Say what a superstep is, in at most 20 words."

The judge answers in a form (a pydantic class), so that the way on is a decision and not a guess.

`--model PROVIDER:NAME` takes a real model. Without it, scripted answers (loopback.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, TypedDict

from loopback import Asked, Reply
from pydantic import BaseModel
from showing import show

from plait.graph import END, START, StateGraph
from plait.types import Command

QUESTION = "Say what a checkpoint is good for, in at most 15 words."
ROUNDS = 3


class Verdict(BaseModel):
    """What a judge says of a draft."""

    good: bool
    advice: str
    """What to do better, if it is not good."""


class Draft(TypedDict, total=False):
    """What the graph works on."""

    task: str
    text: str
    advice: str
    rounds: int


def build(model: Any) -> Any:
    """The graph."""
    judge_model = model.with_structured_output(Verdict)

    def write(state: Draft) -> Draft:
        earlier = ""
        if "advice" in state:
            earlier = f"\n\nYour last draft: {state.get('text')}\nAdvice: {state['advice']}"
        said = model.invoke([("system", "You write."), ("user", f"{state.get('task')}{earlier}")])
        return {"text": said.text, "rounds": state.get("rounds", 0) + 1}

    def judge(state: Draft) -> Command[Literal["write", "__end__"]]:
        asked = f"The task: {state.get('task')}\nThe draft: {state.get('text')}"
        verdict = judge_model.invoke([("system", "You judge drafts, strictly."), ("user", asked)])
        again = not verdict.good and state.get("rounds", 0) < ROUNDS
        return Command(update={"advice": verdict.advice}, goto="write" if again else END)

    graph = StateGraph(Draft)
    graph.add_node("write", write)
    graph.add_node("judge", judge)
    graph.add_edge(START, "write")
    graph.add_edge("write", "judge")
    return graph.compile(name="reflection")


def tell(graph: Any, task: str) -> Iterator[str]:
    """Run it; gives every draft, and what is said of it."""
    for update in graph.stream({"task": task}, stream_mode="updates"):
        for name, part in update.items():
            yield f"{name}: {part['text'] if name == 'write' else part['advice']}"


# --- scripted answers, for want of a model --------------------------------------------------------

DRAFTS = (
    "A checkpoint keeps the whole state of a thread after every step, so that a run which was "
    "stopped, killed or asked a question can go on later, and on another machine.",
    "A checkpoint lets a stopped run go on later, anywhere, without repeating finished work.",
)


def script(asked: Asked) -> Reply:
    """Write too much at first; judge by counting words."""
    if asked.schema is None:
        return DRAFTS[1] if "Advice:" in asked.user else DRAFTS[0]
    task, draft = asked.user.split("\nThe draft: ")
    limit = int(next(iter(re.findall(r"at most (\d+)", task)), "15"))
    words = len(draft.split())
    if words <= limit:
        return {"good": True, "advice": f"Good: {words} words."}
    return {"good": False, "advice": f"{words} words are too many: at most {limit}."}


if __name__ == "__main__":
    show("A writer and a judge.", QUESTION, build, tell, script)
