"""The table of mistakes: each is a function that makes one, with the error or warning it gets.

`docs/mistakes.md` is this table for people: `python -m tests.mistakes.table` writes it.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import plait
from plait.checkpoint.memory import InMemorySaver
from plait.graph import START, StateGraph

HOUSE = Path(plait.__file__).parent
DOCUMENT = Path(__file__).parents[2] / "docs" / "mistakes.md"

CHAPTERS = {
    "building": "When a graph is built",
    "equipping": "When an agent is given its middleware",
    "routing": "When a node says what runs next",
    "running": "When a graph is called, and its nodes run",
    "writing": "When something is written to the state",
    "keeping": "When threads wait for a time, are guarded, and are kept",
    "answering": "When a thread is answered, updated or resumed",
    "approving": "When a person decides about tool calls",
}
"""Module of the mistakes to their heading."""

HEAD = (
    "# Mistakes\n\n"
    "Every mistake that is known gives a typed error or a named warning, which says what happened, "
    "where, and what to do next. `tests/mistakes` makes each of them; this page is written from "
    "there (`python -m tests.mistakes.table`), and a test keeps it so.\n\n"
    "Errors are in `plait.errors`, split by who can mend them; they come back from a process "
    "pool as themselves. Warnings are subclasses of "
    '`PlaitWarning`: `warnings.filterwarnings("error", category=plait.errors.PlaitWarning)` makes '
    "them errors.\n"
)


@dataclass(frozen=True)
class Mistake:
    """One mistake: what one does, and what one gets."""

    chapter: str
    name: str
    title: str
    gives: type[BaseException]
    says: tuple[str, ...]
    make: Callable[[], Any]

    @property
    def warns(self) -> bool:
        """Whether it only warns."""
        return issubclass(self.gives, Warning)


TABLE: list[Mistake] = []


def mistake(
    title: str, gives: type[BaseException], *says: str
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Enter a mistake: its title for people, its error, and what the message must say."""

    def enter(make: Callable[[], Any]) -> Callable[[], Any]:
        chapter = make.__module__.rsplit(".", 1)[-1]
        TABLE.append(Mistake(chapter, make.__name__, title, gives, says, make))
        return make

    return enter


class State(TypedDict, total=False):
    """The state of most mistakes."""

    text: str
    items: Annotated[list[Any], add]


THREAD: Any = {"configurable": {"thread_id": "order-7"}}


def graph_of(**nodes: Any) -> StateGraph[Any]:
    """A graph whose nodes run one after the other."""
    graph = StateGraph(State)
    before = START
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(before, name)
        before = name
    return graph


def saved(**nodes: Any) -> Any:
    """A compiled sequence with a saver."""
    return graph_of(**nodes).compile(checkpointer=InMemorySaver())


def mistakes() -> list[Mistake]:
    """Every mistake, by chapter."""
    if not TABLE:
        for chapter in CHAPTERS:
            import_module(f"{__package__}.{chapter}")
    return TABLE


def message_of(made: Mistake) -> str:
    """Make a mistake; the message it gets, with the notes that say more than where it was.

    Raises:
        AssertionError: it gets no error, or another one, or a warning points at plait's own code.
    """
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            made.make()
        except made.gives as error:
            notes: list[str] = getattr(error, "__notes__", [])
            more = [one for one in notes if not one.startswith("During")]
            said = str(error) if not more or str(error).endswith(".") else f"{error}."
            return " ".join([said, *more])
    if not made.warns:
        raise AssertionError(f"{made.name} gave no error")
    warned = [one for one in heard if one.category is made.gives]
    if not warned:
        raise AssertionError(f"{made.name} gave no {made.gives.__name__}")
    if Path(warned[0].filename).is_relative_to(HOUSE):
        raise AssertionError(f"{made.name} was not told where the program made it")
    return str(warned[0].message)


_CHANCE = re.compile(
    r"0x[0-9a-f]+|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b"
    r"|\s+For further information visit \S+"
)


def document() -> str:
    """The table as the page for people."""
    lines = [HEAD]
    for chapter, heading in CHAPTERS.items():
        lines += [f"## {heading}", "", "| mistake | gives | and says |", "|---|---|---|"]
        for made in mistakes():
            if made.chapter == chapter:
                said = _CHANCE.sub("...", message_of(made)).replace("|", "\\|").replace("\n", " ")
                lines.append(f"| {made.title} | `{made.gives.__name__}` | {said} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    from tests.mistakes import table  # the module that the chapters enter their mistakes into

    DOCUMENT.write_text(table.document())
