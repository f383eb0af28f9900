"""A ReAct agent that looks things up in this project's own documentation.

    python examples/react.py
    python examples/react.py --ask "Which pages mention fences?"

The model decides which tool to call, sees what it gave, and decides again, until it can answer.

`--model PROVIDER:NAME` takes a real model. Without it, scripted answers (loopback.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loopback import Asked, Call, Reply
from showing import page_of, pages, show

from plait.prebuilt import ToolNode, create_react_agent

QUESTION = "Which pages mention SIGKILL, and what is the first of them about?"


def search(word: str) -> str:
    """The pages that mention a word, as a list of names."""
    found = [page.stem for page in pages() if word.lower() in page.read_text("utf-8").lower()]
    return ", ".join(found) or "none"


def beginning(page: str) -> str:
    """The heading and the first paragraph of a page."""
    heading, *parts = page_of(page).read_text("utf-8").split("\n\n")
    text = next(part for part in parts if not part.startswith("#"))
    return f"{heading.lstrip('# ')}: {text}"


def build(model: Any) -> Any:
    """The agent."""
    prompt = "You answer questions about the documentation of plait. Look before you answer."
    tools = ToolNode([search, beginning], handle_tool_errors=True)  # models misname pages
    return create_react_agent(model, tools, prompt=prompt, name="librarian")


def tell(agent: Any, question: str) -> Iterator[str]:
    """Ask the agent; gives what it does and says, as it happens."""
    for update in agent.stream({"messages": [("user", question)]}, stream_mode="updates"):
        for part in update.values():
            for message in part["messages"]:
                if message.type == "tool":
                    yield f"< {message.text}"
                    continue
                for call in message.tool_calls:
                    yield f"> {call['name']}({', '.join(map(str, call['args'].values()))})"
                if message.text:
                    yield message.text


# --- scripted answers, for want of a model --------------------------------------------------------


def script(asked: Asked) -> Reply:
    """Search for the word in capitals, or the last one; then read the first page found."""
    words = asked.user.rstrip("?.").replace(",", "").split()
    if not words:
        return "What is the question?"
    word = next((w for w in words if w.isupper() and len(w) > 1), words[-1])
    if not asked.results:
        return [Call("search", {"word": word})]
    names = asked.results[0].split(", ")
    if names == ["none"]:
        return f"No page mentions {word}."
    if len(asked.results) == 1:
        return [Call("beginning", {"page": names[0]})]
    return f"{len(names)} pages mention {word}. The first is {asked.results[1]}"


if __name__ == "__main__":
    show("A ReAct agent over this project's documentation.", QUESTION, build, tell, script)
