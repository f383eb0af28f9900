"""Plan and execute: a planner lists steps, an agent does the first, the planner looks again.

    python examples/plan_and_execute.py
    python examples/plan_and_execute.py --ask "Which is longer, testing or tools?"

`--model PROVIDER:NAME` takes a real model. Without it, scripted answers (loopback.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import add
from typing import Annotated, Any, Literal, TypedDict

from loopback import Asked, Call, Reply
from pydantic import BaseModel
from showing import page_of, show

from plait.graph import END, START, StateGraph
from plait.prebuilt import create_react_agent

QUESTION = "Which page is longer, streaming or subgraphs, and by how many words?"
STEPS = 12


class Plan(BaseModel):
    """The steps that are left, in order; or the answer, if there are none."""

    steps: list[str]
    answer: str = ""


class Work(TypedDict, total=False):
    """What the graph works on."""

    task: str
    steps: list[str]
    done: Annotated[list[str], add]
    answer: str


def count_words(page: str) -> str:
    """How many words a page of the documentation has."""
    return f"{page}: {len(page_of(page).read_text('utf-8').split())} words"


def subtract(a: int, b: int) -> str:
    """a - b"""
    return f"{a} - {b} = {a - b}"


def build(model: Any) -> Any:
    """The graph."""
    planner = model.with_structured_output(Plan)
    worker = create_react_agent(model, [count_words, subtract], name="worker")

    def plan(state: Work) -> Work:
        done = "\n".join(state.get("done", [])) or "nothing"
        made = planner.invoke(f"Plan this: {state.get('task')}\nDone so far:\n{done}")
        return {"steps": made.steps, "answer": made.answer}

    def execute(state: Work) -> Work:
        step = state.get("steps", [])[0]
        done = "\n".join(state.get("done", []))
        asked = {"messages": [("user", f"Do this step: {step}\nKnown:\n{done}")]}
        return {"done": [worker.invoke(asked)["messages"][-1].text]}

    def go_on(state: Work) -> Literal["execute", "__end__"]:
        return "execute" if state.get("steps") and len(state.get("done", [])) < STEPS else END

    graph = StateGraph(Work)
    graph.add_node("plan", plan)
    graph.add_node("execute", execute)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", go_on)
    graph.add_edge("execute", "plan")
    return graph.compile(name="plan_and_execute")


def tell(graph: Any, task: str) -> Iterator[str]:
    """Run it; gives every plan, what came of each step, and the answer."""
    answer = f"No answer after {STEPS} steps."
    for update in graph.stream({"task": task}, stream_mode="updates"):
        for part in update.values():
            if "done" in part:
                yield f"done: {part['done'][0]}"
            elif part["steps"]:
                yield f"plan: {'; '.join(part['steps'])}"
            else:
                answer = part["answer"]
    yield answer


# --- scripted answers, for want of a model --------------------------------------------------------


def script(asked: Asked) -> Reply:
    """Count both pages, subtract, and say which is longer."""
    if asked.schema is not None:
        return _plan(asked.user)
    if asked.results:
        return asked.results[-1]
    step = asked.user.splitlines()[0]
    if "Count" in step:
        return [Call("count_words", {"page": step.split()[-1]})]
    more, less = sorted(map(int, re.findall(r": (\d+) words", asked.user)), reverse=True)
    return [Call("subtract", {"a": more, "b": less})]


def _plan(asked: str) -> Reply:
    task, _, done = asked.partition("\nDone so far:\n")
    names = re.search(r"longer, (?:the page )?(\w+) or (\w+)", task)
    if names is None:
        return {"steps": [], "answer": "Ask which of two pages is longer."}
    counted = dict(re.findall(r"(\w+): (\d+) words", done))
    if "=" in done:
        longer = max(counted, key=lambda name: int(counted[name]))
        return {"steps": [], "answer": f"{longer}, by {done.split('= ')[1]} words."}
    left = [f"Count the words of {name}" for name in names.groups() if name not in counted]
    return {"steps": [*left, "Subtract the smaller number from the larger one"], "answer": ""}


if __name__ == "__main__":
    show("A plan that is carried out step by step.", QUESTION, build, tell, script)
