"""Draws the pictures of docs/pictures.md: `python -m tests.drawing.examples`."""

from __future__ import annotations

from pathlib import Path

from plait.checkpoint.memory import InMemorySaver
from plait.drawing import Graph

from .graphs import paper, service_desk, waiting

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"


def examples() -> dict[str, Graph]:
    """File name to what it shows."""
    desk = service_desk().compile().get_graph()
    searches = ["search_docs", "search_tickets", "search_code"]
    way = ["receive", "classify", "technical", "reproduce", searches, "rank", "diagnose"]
    app = waiting().compile(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    app.invoke({"log": []}, thread)
    return {
        "desk": desk.mark([*way, "human_review"], current="draft_reply"),
        "paper": paper().compile(interrupt_before=["publish"]).get_graph(xray=True),
        "waiting": app.get_thread_graph(thread, xray=True),
    }


if __name__ == "__main__":
    for name, graph in examples().items():
        (FOLDER / f"{name}.svg").write_text(graph.draw_svg())
