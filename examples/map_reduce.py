"""Map and reduce: every page of the documentation is summed up at once, then all of them as one.

    python examples/map_reduce.py

How many pages there are is only known when the graph runs: `Send` starts one task for each.

`--model PROVIDER:NAME` takes a real model. Without it, scripted answers (loopback.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import add
from typing import Annotated, Any, TypedDict

from loopback import Asked, Reply
from showing import page_of, pages, show

from plait.graph import END, START, StateGraph
from plait.types import Send

QUESTION = "What can a newcomer read here, in three lines?"


class Survey(TypedDict, total=False):
    """What the graph works on."""

    question: str
    names: list[str]
    summaries: Annotated[list[str], add]
    answer: str


class Page(TypedDict):
    """What one task works on."""

    name: str


def build(model: Any) -> Any:
    """The graph."""

    def find(state: Survey) -> Survey:
        return {"names": [page.stem for page in pages()]}

    def each(state: Survey) -> list[Send]:
        return [Send("summarise", {"name": name}) for name in state.get("names", [])]

    def summarise(page: Page) -> Survey:
        text = page_of(page["name"]).read_text("utf-8")
        said = model.invoke(f"Sum this page up in one sentence.\n\n{text[:4_000]}")
        return {"summaries": [f"{page['name']}: {said.text}"]}

    def reduce(state: Survey) -> Survey:
        together = "\n".join(state.get("summaries", []))
        said = model.invoke(f"{state.get('question')}\n\nThe pages:\n{together}")
        return {"answer": said.text}

    graph = StateGraph(Survey)
    graph.add_node("find", find)
    graph.add_node("summarise", summarise)
    graph.add_node("reduce", reduce)
    graph.add_edge(START, "find")
    graph.add_conditional_edges("find", each, ["summarise"])
    graph.add_edge("summarise", "reduce")
    graph.add_edge("reduce", END)
    return graph.compile(name="map_reduce")


def tell(graph: Any, question: str) -> Iterator[str]:
    """Run it, eight pages at a time; gives each summary as it comes, then the whole."""
    config = {"max_concurrency": 8}
    for update in graph.stream({"question": question}, config, stream_mode="updates"):
        for part in update.values():
            yield from part.get("summaries", ())
            if "answer" in part:
                yield ""
                yield part["answer"]


# --- scripted answers, for want of a model --------------------------------------------------------


def script(asked: Asked) -> Reply:
    """The first sentence of a page; of all pages, how many they are and which come first."""
    head, _, text = asked.user.partition("\n\n")
    if head.startswith("Sum this page up"):
        paragraph = next((p for p in text.split("\n\n")[1:] if re.match(r"`?\w", p)), text)
        return paragraph.split(". ")[0].rstrip(".").replace("\n", " ") + "."
    names = [line.split(":")[0] for line in text.splitlines()[1:]]
    return f"{len(names)} pages.\nBegin with {names[0]}.\nEnd with {names[-1]}."


if __name__ == "__main__":
    show("Every page of the documentation, summed up.", QUESTION, build, tell, script)
