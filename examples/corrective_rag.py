"""Corrective retrieval: an answer from this project's documentation, checked at every step.

    python examples/corrective_rag.py
    python examples/corrective_rag.py --ask "What is the weather in Delft?"

A router decides whether the documentation can know the answer. What the retriever finds is graded;
if nothing is left, the question is put in other words, and at last the web is asked. An answer that
the sources do not support is written again.

The retriever ranks paragraphs by BM25 (Robertson and Zaragoza, 2009). `web_search` is a function
that `build` takes: here it finds nothing, since examples stay on this machine.

`--model PROVIDER:NAME` takes a real model. Without it, scripted answers (loopback.py).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypedDict

from loopback import Asked, Reply
from pydantic import BaseModel
from showing import pages, show

from plait.documents import Document
from plait.graph import END, START, StateGraph
from plait.retrievers import BaseRetriever

QUESTION = "My battery died halfway: is the morning's progress gone?"
FOUND = 4
REWRITES = 1
ANSWERS = 2


class Route(BaseModel):
    """Where the answer to a question may be found."""

    source: Literal["documentation", "web"]


class Grade(BaseModel):
    """A yes or no."""

    yes: bool


class Search(TypedDict, total=False):
    """What the graph works on."""

    question: str
    query: str
    documents: list[Document]
    answer: str
    rewrites: int
    answers: int


# --- the retriever -------------------------------------------------------------------------------


class Paragraphs(BaseRetriever):
    """The paragraphs of some texts, the best first (BM25, k1 = 1.5, b = 0.75)."""

    documents: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        counts = [Counter(words(one.page_content)) for one in self.documents]
        sizes = [sum(count.values()) for count in counts]
        mean = sum(sizes) / len(sizes)
        scores = [0.0] * len(counts)
        for word in set(words(query)):
            holding = sum(word in count for count in counts)
            rarity = math.log(1 + (len(counts) - holding + 0.5) / (holding + 0.5))
            for place, (count, size) in enumerate(zip(counts, sizes, strict=True)):
                here = count[word]
                scores[place] += rarity * here * 2.5 / (here + 1.5 * (0.25 + 0.75 * size / mean))
        best = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)[:FOUND]
        return [self.documents[place] for place in best if scores[place] > 0]


def words(text: str) -> list[str]:
    """The words of a text that say something, without a plural's ending."""
    found = re.findall(r"[a-z]{4,}", text.lower())
    return [word if word.endswith("ss") else word.removesuffix("s") for word in found]


def paragraphs() -> list[Document]:
    """The documentation, by paragraph."""
    return [
        Document(text, metadata={"page": page.stem})
        for page in pages()
        for text in re.split(r"\n\s*\n", page.read_text("utf-8"))
        if text[:1].isalpha()
    ]


def no_web(query: str) -> list[Document]:
    """A web search that finds nothing."""
    return []


# --- the graph -----------------------------------------------------------------------------------


def build(model: Any, web_search: Callable[[str], list[Document]] = no_web) -> Any:
    """The graph.

    Args:
        model: what routes, grades, rewrites and answers.
        web_search: where to look when the documentation does not know.
    """
    retriever = Paragraphs(documents=paragraphs())
    router, grader = model.with_structured_output(Route), model.with_structured_output(Grade)

    def route(state: Search) -> Literal["retrieve", "search_web"]:
        asked = f"Is this about plait's documentation, or for the web?\n{state.get('question')}"
        return "retrieve" if router.invoke(asked).source == "documentation" else "search_web"

    def retrieve(state: Search) -> Search:
        return {"documents": retriever.invoke(state.get("query") or state.get("question", ""))}

    def grade(state: Search) -> Search:
        query = state.get("query") or state.get("question")
        asked = [
            f"Does this help to answer {query!r}?\n\n{one.page_content}"
            for one in state.get("documents", [])
        ]
        grades = grader.batch(asked)
        kept = zip(state.get("documents", []), grades, strict=True)
        return {"documents": [one for one, good in kept if good.yes]}

    def after_grading(state: Search) -> Literal["answer", "rewrite", "search_web"]:
        if state.get("documents"):
            return "answer"
        return "rewrite" if state.get("rewrites", 0) < REWRITES else "search_web"

    def rewrite(state: Search) -> Search:
        said = model.invoke(f"Put this in words that the pages may use: {state.get('question')}")
        return {"query": said.text, "rewrites": state.get("rewrites", 0) + 1}

    def search_web(state: Search) -> Search:
        return {"documents": web_search(state.get("question", ""))}

    def answer(state: Search) -> Search:
        asked = f"Answer from the sources alone: {state.get('question')}"
        if "answer" in state:
            asked += f"\nThis is not in them: {state['answer']}"
        said = model.invoke(f"{asked}\n\n{sources(state)}")
        return {"answer": said.text, "answers": state.get("answers", 0) + 1}

    def check(state: Search) -> Literal["answer", "__end__"]:
        asked = f"Do the sources say this? {state.get('answer')}\n\n{sources(state)}"
        if not state.get("documents") or state.get("answers", 0) >= ANSWERS:
            return END
        return END if grader.invoke(asked).yes else "answer"

    graph = StateGraph(Search)
    for node in (retrieve, grade, rewrite, search_web, answer):
        graph.add_node(node)
    graph.add_conditional_edges(START, route)
    graph.add_edge("retrieve", "grade")
    graph.add_conditional_edges("grade", after_grading)
    graph.add_edge("rewrite", "retrieve")
    graph.add_edge("search_web", "answer")
    graph.add_conditional_edges("answer", check)
    return graph.compile(name="corrective_rag")


def sources(state: Search) -> str:
    """What was found, as a model is shown it."""
    found = state.get("documents", [])
    return "\n\n".join(f"[{one.metadata.get('page')}] {one.page_content}" for one in found)


def tell(graph: Any, question: str) -> Iterator[str]:
    """Run it; gives what each step found."""
    for update in graph.stream({"question": question}, stream_mode="updates"):
        for name, part in update.items():
            if "documents" in part:
                found = ", ".join(one.metadata.get("page", "web") for one in part["documents"])
                yield f"{name}: {found or 'nothing'}"
            else:
                yield f"{name}: {part.get('answer') or part.get('query')}"


# --- scripted answers, for want of a model --------------------------------------------------------

SAME = {"battery": "process", "died": "killed", "progress": "finished", "gone": "lost"}


def script(asked: Asked) -> Reply:
    """Route by the weather, grade by shared words, claim too much, then quote the first source."""
    head, _, rest = asked.user.partition("\n")
    if head.startswith("Is this about"):
        return {"source": "web" if "weather" in rest else "documentation"}
    if head.startswith("Does this help"):
        shared = set(words(head)) & set(words(rest)) - {"help", "answer"}
        return {"yes": len(shared) >= 2}
    if head.startswith("Do the sources"):
        return {"yes": head.partition("? ")[2] in rest}
    if head.startswith("Put this"):
        return " ".join(SAME.get(word, word) for word in words(head.partition(": ")[2]))
    first = re.search(r"\[\S+\] (.*?\.)(\s|$)", rest, re.DOTALL)
    if first is None:
        return "No source says anything about that."
    return first[1] if "This is not in them" in rest else "Of course: nothing is ever lost."


if __name__ == "__main__":
    show("Retrieval that corrects itself.", QUESTION, build, tell, script)
