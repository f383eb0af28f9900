"""The command line of the worked examples: the question, the model, the picture."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ending import told
from loopback import Script, chat_model, model_option

DOCS = Path(__file__).resolve().parents[1] / "docs"
"""The pages that the examples work on: this project's own."""


def show(
    about: str,
    question: str,
    build: Callable[[Any], Any],
    tell: Callable[[Any, str], Iterable[str]],
    script: Script,
) -> None:
    """Run an example as the command line says.

    Args:
        about: what it is, for `--help`.
        question: what is asked unless `--ask` says otherwise.
        build: makes the graph, of a chat model.
        tell: asks the graph; gives the lines to print.
        script: what is said without a real model.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--ask", default=question, help="what is asked")
    picture_option(parser, "write the graph as an SVG file instead")
    model_option(parser)
    given = parser.parse_args()
    with told(), chat_model(given.model, script) as model:
        graph = build(model)
        if given.picture:
            given.picture.write_text(graph.get_graph().draw_svg())
            return
        for line in tell(graph, given.ask):
            print(line)


def picture_option(parser: argparse.ArgumentParser, about: str) -> None:
    """Let the command line ask for a picture."""
    parser.add_argument("--picture", metavar="FILE.svg", type=_svg, help=about)


def _svg(text: str) -> Path:
    if (path := Path(text)).suffix != ".svg":
        raise argparse.ArgumentTypeError(f"pictures are SVG: name a file that ends in .svg: {text}")
    return path


def title(page: Path) -> str:
    """The heading of a page."""
    return page.read_text("utf-8").splitlines()[0].lstrip("# ")


def pages() -> list[Path]:
    """The pages, by name."""
    return sorted(DOCS.glob("*.md"))


def page_of(name: str) -> Path:
    """The page of a name, as a model may write it.

    Raises:
        ValueError: there is none; the text says which there are.
    """
    found = DOCS / f"{Path(name).stem}.md"
    if found not in pages():
        known = ", ".join(page.stem for page in pages())
        raise ValueError(f"There is no page {name!r}. There are: {known}.")
    return found
