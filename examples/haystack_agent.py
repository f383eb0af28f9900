"""A Haystack-style agent: it looks things up, does sums, and stops before a tool if it is told to.

    python examples/haystack_agent.py                          ask, and watch it work
    python examples/haystack_agent.py --stop snapshots         stop before its tools; writes a file
    python examples/haystack_agent.py --resume FILE            go on from there, in this process
    python examples/haystack_agent.py --resume FILE --set apples=12      with the stock edited

The program is written as for Haystack 2.19: components, tools that read and write the agent's
state, a streaming callback, a breakpoint and its snapshot. Only the imports name plait.

`--model PROVIDER:NAME` takes a real model. Without it, scripted answers (loopback.py).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Annotated, Any

from ending import told
from loopback import Asked, Call, Reply, chat_model, model_option
from showing import picture_option

from plait.haystack import (
    Agent,
    AgentBreakpoint,
    BreakpointException,
    ChatMessage,
    ToolBreakpoint,
    create_tool_from_function,
    load_pipeline_snapshot,
    print_streaming_chunk,
    tool,
)

PROMPT = "You keep a shop's stock. Look up what is there before you count, and count with the tool."
QUESTION = "How many fruits do we have?"
STOCK = {"apples": 7, "pears": 5}


def look_up(
    item: Annotated[str, "what to look for, in the plural"], stock: dict[str, int]
) -> dict[str, Any]:
    """Say how many there are of an item."""
    return {"found": {item: stock.get(item, 0)}, "line": f"{item}: {stock.get(item, 0)}"}


def noted(old: dict[str, int] | None, new: dict[str, int]) -> dict[str, int]:
    """What was found before, and now."""
    return {**(old or {}), **new}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def script(asked: Asked) -> Reply:
    """What a model would say."""
    counts = [int(result.rpartition(" ")[2]) for result in asked.results if ":" in result]
    if len(asked.results) == 3:
        return f"There are {asked.results[-1]} fruits."
    if counts:
        return [Call("add", {"a": counts[0], "b": counts[1]})]
    return [Call("look_up", {"item": item}) for item in STOCK]


def agent_of(model: Any) -> Agent:
    """The agent, with the state that its tools share."""
    looking = create_tool_from_function(
        look_up,
        inputs_from_state={"stock": "stock"},  # the model neither sees nor gives it
        outputs_to_state={"found": {"source": "found"}},
    )
    looking.outputs_to_string = {"source": "line"}
    return Agent(
        chat_generator=model,
        tools=[looking, add],
        system_prompt=PROMPT,
        state_schema={
            "stock": {"type": dict[str, int]},
            "found": {"type": dict[str, int], "handler": noted},
        },
    )


def main() -> None:
    """Ask, stop, or go on."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("question", nargs="?", help=f"else: {QUESTION}")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--stop", metavar="FOLDER", help="stop before the tools run")
    way.add_argument("--resume", metavar="FILE", help="go on from a snapshot")
    parser.add_argument(
        "--set", metavar="ITEM=NUMBER", type=changed, action="append", default=[],
        help="change the stock in the snapshot",
    )  # fmt: skip
    picture_option(parser, "write the agent as an SVG file instead")
    model_option(parser)
    options = parser.parse_args()
    if options.set and not options.resume:
        parser.error("--set changes a snapshot: give one with --resume")
    if options.question is not None and options.resume:
        parser.error("a snapshot has its question: leave out yours, or --resume")
    with told(), chat_model(options.model, script) as model:
        agent = agent_of(model)
        agent.warm_up()
        if options.picture:
            options.picture.write_text(agent.graph.get_graph().draw_svg())
        elif options.resume:
            report(agent, snapshot=edited(options.resume, options.set))
        else:
            ask(agent, options.question or QUESTION, options.stop)


def ask(agent: Agent, question: str, folder: str | None) -> None:
    """Ask the agent; with a folder, stop before its tools run."""
    point = None
    if folder is not None:
        stop = ToolBreakpoint("tool_invoker", tool_name="look_up", snapshot_file_path=folder)
        point = AgentBreakpoint("shop", stop)
    try:
        report(agent, [ChatMessage.from_user(question)], stock=STOCK, break_point=point)
    except BreakpointException as error:
        print(f"{error}. The snapshot: {error.pipeline_snapshot_file_path}")


def changed(text: str) -> tuple[str, int]:
    """What `--set` asks for."""
    item, _, number = text.partition("=")
    if not item or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"not ITEM=NUMBER: {text}")
    return item, int(number)


def edited(path: str, changes: list[tuple[str, int]]) -> Any:
    """The snapshot in a file, with the agent's stock changed."""
    snapshot = load_pipeline_snapshot(Path(path))
    if changes and snapshot.agent_snapshot is not None:
        snapshot.agent_snapshot.values.get("stock", {}).update(changes)
    return snapshot


def report(agent: Agent, messages: list[ChatMessage] | None = None, **kwargs: Any) -> None:
    """Run the agent, print what it says as it comes, and what it found."""
    done = agent.run(messages or [], streaming_callback=print_streaming_chunk, **kwargs)
    print(f"Found: {done.get('found', 'nothing')}")  # the model may look nothing up


if __name__ == "__main__":
    main()
