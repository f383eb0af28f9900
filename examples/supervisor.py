"""A supervisor of three agents: where to go this weekend, by the weather, the trains and the money.

    python examples/supervisor.py                              the question below
    python examples/supervisor.py --ask "Delft or Ghent?"      another one
    python examples/supervisor.py --picture team.svg           the team as a picture

The supervisor hands the question to the forecaster and the railwayman at once, then to the
treasurer, and answers from what they said. Each line that is printed says who does what, as it
happens.

`--model PROVIDER:NAME` takes a real model. Without it, scripted answers (loopback.py).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Any

from ending import told
from loopback import Asked, Call, Reply, chat_model, model_option
from showing import picture_option

from plait.agents import create_agent, create_supervisor
from plait.checkpoint.memory import InMemorySaver

QUESTION = "Delft, Bruges or Ghent: where do the two of us go this weekend?"

SKIES = {"Delft": "rain, 11 degrees", "Bruges": "sunny, 17 degrees", "Ghent": "cloudy, 15 degrees"}
FARES = {"Delft": 29.0, "Bruges": 46.5, "Ghent": 43.0}
BEDS = {"Delft": 82.0, "Bruges": 74.0, "Ghent": 91.0}


def forecast(city: str) -> str:
    """The weather in a city at the weekend."""
    return f"{city}: {SKIES.get(city, 'unknown')}"


def fare(city: str) -> str:
    """What one person pays by train, there and back."""
    return f"{city}: {FARES[city]:.2f} euro a person" if city in FARES else f"{city}: no train"


def cost(city: str, people: int) -> str:
    """What a weekend costs: the trains of all, and a night for two."""
    if city not in FARES:
        return f"{city}: nobody gets there"
    return f"{city}: {people * FARES[city] + BEDS[city]:.2f} euro for {people}"


def team(model: Any) -> Any:
    """The supervisor and its agents as a graph."""
    agents = [
        create_agent(model, [forecast], system_prompt=prompt("forecaster"), name="forecaster"),
        create_agent(model, [fare], system_prompt=prompt("railwayman"), name="railwayman"),
        create_agent(model, [cost], system_prompt=prompt("treasurer"), name="treasurer"),
    ]
    return create_supervisor(
        agents,
        model=model,
        prompt=(
            "You are the supervisor. Ask the forecaster and the railwayman at once, then the "
            "treasurer, then say in one sentence where to go, and why."
        ),
        parallel_tool_calls=True,
    ).compile(checkpointer=InMemorySaver(), name="weekend")


def prompt(name: str) -> str:
    """What an agent is told."""
    return f"You are the {name}. Use your tool for every city that is named; say what it says."


def said(app: Any, question: str) -> Iterator[str]:
    """Ask the team; gives a line for whatever happens, as it happens."""
    thread = {"configurable": {"thread_id": "weekend"}}
    given = {"messages": [("user", question)]}
    for inside, update in app.stream(given, thread, stream_mode="updates", subgraphs=True):
        if inside:  # else it is the same again, as the whole team sees it
            who = inside[0].split(":")[0]
            for part in filter(None, update.values()):
                for message in part.get("messages", ()):
                    yield from (f"{who:>10}{line}" for line in lines_of(message))


def lines_of(message: Any) -> Iterator[str]:
    """What a message says, calls, or answers."""
    if message.type == "tool":
        yield f"  < {message.text}"
        return
    for call in message.tool_calls:
        yield f"  > {call['name']}({', '.join(map(str, call['args'].values()))})"
    if message.text:
        yield f": {message.text}"


# --- scripted answers, for want of a model --------------------------------------------------------


def script(asked: Asked) -> Reply:
    """Play whoever the system prompt says."""
    cities = [city for city in SKIES if city in asked.user]
    if "supervisor" in asked.system:
        return _supervisor(asked)
    found = [each for each in asked.results if not each.startswith("Successfully")]
    if found:
        return "; ".join(found) + "."
    tool = asked.tools[0]
    more = {"people": 2} if tool == "cost" else {}
    return [Call(tool, {"city": city, **more}) for city in cities] or "Which city is it?"


def _supervisor(asked: Asked) -> Reply:
    if not any(city in asked.user for city in SKIES):
        return f"Which city is it? We know {', '.join(SKIES)}."
    done = " ".join(asked.results)
    if "transferred to forecaster" not in done:
        return [Call("transfer_to_forecaster", {}), Call("transfer_to_railwayman", {})]
    if "transferred to treasurer" not in done:
        return [Call("transfer_to_treasurer", {})]
    heard = " ".join(m["content"] for m in asked.messages if m["role"] == "assistant")
    sunny = re.search(r"(\w+): sunny", heard)
    city = sunny[1] if sunny else next(city for city in SKIES if city in asked.user)
    price = re.search(rf"{city}: ([\d.]+ euro for \d)", heard)
    why = "the sun shines there" if sunny else "it is as good as any"
    return f"Go to {city}: {why}, and it costs {price[1] if price else 'nobody knows what'}."


# --- the command line ----------------------------------------------------------------------------


def main() -> None:
    """Ask the team, or draw it."""
    parser = argparse.ArgumentParser(description="A supervisor of three agents.")
    parser.add_argument("--ask", default=QUESTION, help="the question")
    picture_option(parser, "write the team as an SVG file instead")
    model_option(parser)
    given = parser.parse_args()
    with told(), chat_model(given.model, script) as model:
        app = team(model)
        if given.picture:
            given.picture.write_text(app.get_graph().draw_svg())
            return
        for line in said(app, given.ask):
            print(line)


if __name__ == "__main__":
    main()
