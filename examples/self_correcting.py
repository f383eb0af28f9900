"""Code that corrects itself: write a program, run it, read the error, try again.

    python examples/self_correcting.py

The program runs in a process of its own, with a time limit. What it prints to its error stream is
all that the model learns of its mistake.

`--model PROVIDER:NAME` takes a real model; its programs run on this machine, so look at what you
ask for. Without it, scripted answers (loopback.py).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Literal, TypedDict

from loopback import Asked, Reply
from showing import show

from plait.graph import END, START, StateGraph

QUESTION = "Print the median of 7, 1, 4 and 2."
ATTEMPTS = 3
SECONDS = 10


class Work(TypedDict, total=False):
    """What the graph works on."""

    task: str
    code: str
    printed: str
    error: str
    attempts: int


def build(model: Any) -> Any:
    """The graph."""

    def write(state: Work) -> Work:
        asked = f"Write a Python program, and nothing else. {state.get('task')}"
        if state.get("error"):
            asked += f"\n\nThis one failed:\n{state.get('code')}\n\nIt said:\n{state.get('error')}"
        said = model.invoke(asked).text
        fenced = re.search(r"```(?:python)?\n(.*?)```", said, re.DOTALL)
        return {
            "code": fenced[1] if fenced else said,
            "attempts": state.get("attempts", 0) + 1,
        }

    def run(state: Work) -> Work:
        command = [sys.executable, "-I", "-c", state.get("code", "")]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return {"printed": "", "error": f"It ran for more than {SECONDS} seconds."}
        return {"printed": done.stdout, "error": done.stderr}

    def check(state: Work) -> Literal["write", "__end__"]:
        failed = bool(state.get("error"))
        return "write" if failed and state.get("attempts", 0) < ATTEMPTS else END

    graph = StateGraph(Work)
    graph.add_node("write", write)
    graph.add_node("run", run)
    graph.add_edge(START, "write")
    graph.add_edge("write", "run")
    graph.add_conditional_edges("run", check)
    return graph.compile(name="self_correcting")


def tell(graph: Any, task: str) -> Iterator[str]:
    """Run it; gives each program, and what came of it."""
    for update in graph.stream({"task": task}, stream_mode="updates"):
        for name, part in update.items():
            if name == "write":
                yield f"--- attempt {part['attempts']}"
                yield part["code"].rstrip()
            elif part["error"]:
                yield f"failed: {part['error'].strip().splitlines()[-1]}"
            else:
                yield f"printed: {part['printed'].strip()}"


# --- scripted answers, for want of a model --------------------------------------------------------

WRONG = """\
numbers = sorted([7, 1, 4, 2])
print((numbers[len(numbers) / 2 - 1] + numbers[len(numbers) / 2]) / 2)
"""
RIGHT = WRONG.replace(" / 2 - 1]", " // 2 - 1]").replace("/ 2])", "// 2])")


def script(asked: Asked) -> Reply:
    """Divide wrongly at first, and rightly once the error is known."""
    return f"```python\n{RIGHT if 'integers or slices' in asked.user else WRONG}```"


if __name__ == "__main__":
    show("A program that is written, run and corrected.", QUESTION, build, tell, script)
