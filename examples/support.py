"""Customer support with approvals: an agent asks before it pays, and a person answers anywhere.

    python examples/support.py                      play a story of two servers, one of them killed
    python examples/support.py --serve 8001         run one server
    python examples/support.py --db postgresql://   keep the conversations in Postgres
    python examples/support.py --picture agent.svg  the agent as a picture, while it waits

The agent looks up orders and refunds them. Before it refunds, a person must say yes, say another
amount, or say no. The question waits in the database, not in a process: whichever server the
answer reaches goes on with the run, even one that has never seen it (support_server.py).

`--model PROVIDER:NAME` takes a real model. Without it, scripted answers (loopback.py).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from ending import told
from loopback import Asked, Call, Reply, chat_model, model_option
from showing import picture_option

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.prebuilt import create_react_agent
from plait.tool_calling import human_in_the_loop
from plait.tools import BaseTool, InjectedToolCallId, tool

ORDERS = {
    7: {"item": "a lamp", "euro": 40.0},
    9: {"item": "a mug", "euro": 12.0},
    11: {"item": "a desk", "euro": 310.0},
}

PROMPT = (
    "You work in the customer support of a shop. Look an order up before you refund it. Refund "
    "what the customer asks for; a colleague checks every refund. Tell the customer what was done."
)


class Ledger:
    """Where refunds are paid: an append-only file outside of the conversation's database.

    Args:
        path: One line of JSON for each payment.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def pay(self, order: int, euro: float, key: str) -> None:
        """Pay. A bank would refuse a key that it has seen; this one pays whatever it is told."""
        with self.path.open("a") as file:
            file.write(json.dumps({"order": order, "euro": euro, "key": key}) + "\n")


def tools_over(ledger: Ledger) -> list[BaseTool]:
    """What the agent can do. `refund` asks a person first."""

    @tool
    def find_order(order: int) -> str:
        """Look up what was ordered, and for how much."""
        found = ORDERS.get(order)
        if found is None:
            return f"There is no order {order}."
        return f"Order {order}: {found['item']}, paid {found['euro']:.2f} euro."

    @human_in_the_loop
    def refund(order: int, euro: float, call: Annotated[str, InjectedToolCallId]) -> str:
        """Pay money back for an order."""
        ledger.pay(order, euro, key=call)
        return f"Refunded {euro:.2f} euro for order {order}."

    return [find_order, refund]


def support_agent(model: Any, saver: Any, ledger: Ledger) -> Any:
    """The agent as a graph: model, tools, model, until there is nothing left to do."""
    return create_react_agent(
        model, tools_over(ledger), prompt=PROMPT, checkpointer=saver, name="support"
    )


@contextmanager
def database(url: str) -> Generator[Any]:
    """Where conversations are kept: a Postgres URL, or a file for SQLite."""
    if url.startswith(("postgres://", "postgresql://")):
        from plait.checkpoint.postgres import PostgresSaver  # needs psycopg, an extra

        with PostgresSaver.from_conn_string(url) as saver:
            saver.setup()
            yield saver
    else:
        with SqliteSaver.from_conn_string(url) as saver:
            saver.setup()  # a server whose database cannot be opened does not start
            yield saver


# --- scripted answers, for want of a model --------------------------------------------------------


def script(asked: Asked) -> Reply:
    """Look up every order that is named, then refund what was found, then say what came of it."""
    if not asked.results:
        named = [int(number) for number in re.findall(r"order (\d+)", asked.user)]
        return [Call("find_order", {"order": number}) for number in named] or "Which order is it?"
    found = [re.match(r"Order (\d+): .* paid ([\d.]+) euro", each) for each in asked.results]
    if all(found):
        return [Call("refund", {"order": int(m[1]), "euro": float(m[2])}) for m in found if m]
    return " ".join(each for each, looked in zip(asked.results, found, strict=True) if not looked)


def draw(file: Path) -> None:
    """Draw the agent at the moment when two refunds wait for a person."""
    thread: Any = {"configurable": {"thread_id": "picture"}}
    with chat_model(None, script) as model:
        agent = support_agent(model, InMemorySaver(), Ledger(file))
        agent.invoke({"messages": "Refund order 7 and order 9, please."}, thread)
        file.write_text(agent.get_thread_graph(thread).draw_svg())


# --- the command line ----------------------------------------------------------------------------


def main() -> None:
    """Run one server, or play the story."""
    from support_server import serve  # it imports this module
    from support_story import tell

    parser = argparse.ArgumentParser(description="Customer support with approvals.")
    parser.add_argument("--serve", type=port, metavar="PORT", help="run a server (0: a free port)")
    parser.add_argument("--out", type=Path, default=Path("demo-run"), help="where files go")
    parser.add_argument("--db", help="a Postgres URL or a SQLite file; else support.sqlite in out")
    picture_option(parser, "write the agent as an SVG file, while it waits")
    model_option(parser)
    given = parser.parse_args()
    if given.picture is not None:
        draw(given.picture)
        return
    given.out.mkdir(parents=True, exist_ok=True)
    url = given.db or str(given.out / "support.sqlite")
    if given.serve is None:
        tell(given.out, url, given.model)
        return
    with chat_model(given.model, script) as model, database(url) as saver:
        agent = support_agent(model, saver, Ledger(given.out / "ledger.jsonl"))
        serve(agent, given.serve)


def port(text: str) -> int:
    """What `--serve` asks for."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"not a port, 0 to 65535: {text}")
    return int(text)


if __name__ == "__main__":
    with told():
        main()
