"""The picture of a pipeline in the documents is that of the program before it."""

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURE = "pictures/pipeline.svg"


def test_the_picture_in_the_documents_is_that_of_the_program_before_it() -> None:
    before, shown, _ = (DOCS / "pipelines.md").read_text("utf-8").partition(f"({PICTURE})")
    assert shown
    names: dict[str, Any] = {"__name__": __name__}
    for block in re.findall(r"^```python\n(.*?)^```$", before, re.MULTILINE | re.DOTALL):
        exec(block, names)
    graph = names["p"].get_graph()
    assert graph.draw_svg() == (DOCS / PICTURE).read_text("utf-8")
    assert {"reranker", "evaluator"} <= set(graph.nodes)
