"""Row 6: mutated and swapped records, and payloads of attacks: typed errors or inert data.

`python -m tests.prove_bytes --mutations 20000` runs alone, under an audit hook; it prints figures
as one line of JSON. `--seed` replays.
"""

from __future__ import annotations

import argparse
import json
import operator
import sys
from collections import Counter
from itertools import permutations
from random import Random
from typing import Annotated, Any, TypedDict

from plait.checkpoint.log.requests import (
    CheckpointRow,
    ListLanes,
    ListValues,
    ReadCheckpoints,
    ReadValues,
    ReadWrites,
    WriteRow,
)
from plait.checkpoint.serde import Codec
from plait.checkpoint.serde.jsonplus import JsonPlusSerializer
from plait.checkpoint.serde.plain import DECODERS
from plait.errors import StorageError
from plait.graph import START, StateGraph
from plait.graph.message import add_messages
from plait.messages import HumanMessage
from plait.types import interrupt

from .payloads import INERT, MODULE, payloads
from .swapped import Swapped

FORBIDDEN = ("import", "exec", "compile", "os.system", "os.exec", "os.posix_spawn", "subprocess.",
             "socket.", "ctypes.", "pickle.", "open")  # fmt: skip


class Watch:
    """Counts what the audit hook hears while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.heard: list[tuple[str, str]] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: Any) -> None:
        if self.on and event.startswith(FORBIDDEN):
            self.on = False
            self.heard.append((event, repr(args)[:200]))
            self.on = True


class State(TypedDict, total=False):
    items: Annotated[list[Any], operator.add]
    messages: Annotated[list[Any], add_messages]
    facts: dict[str, Any]


def build(saver: Any) -> Any:
    """A graph whose thread has records of every kind."""
    builder: Any = StateGraph(State)
    builder.add_node("a", lambda s: {"items": [{"deep": (1, "x")}], "facts": {"n": len(s)}})
    builder.add_node("b", lambda s: {"messages": [HumanMessage("hello", id="1")], "items": [2.5]})
    builder.add_node("ask", lambda s: {"items": [interrupt("well?")]})
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("a", "ask")
    return builder.compile(checkpointer=saver)


def records_of(saver: Any, thread: str) -> list[bytes]:
    """All sealed records of a thread."""
    found: list[bytes] = []
    for lane in saver.execute(ListLanes(thread)):
        rows: list[CheckpointRow] = saver.execute(ReadCheckpoints(lane.lane))
        for row in rows:
            writes: list[WriteRow] = saver.execute(ReadWrites(lane.lane, row.id))
            found += [row.record, *(each.record for each in writes)]
        keys = saver.execute(ListValues(lane.lane))
        found += saver.execute(ReadValues(lane.lane, keys))
    return found


def mutated(record: bytes, chance: Random) -> bytes:
    """A few changes of bytes, or a cut."""
    raw = bytearray(record)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at, kind = chance.randrange(len(raw)), chance.randrange(4)
        if kind < 2:
            raw[at] ^= 1 << chance.randrange(8)
        elif kind == 2 and len(raw) > 9:
            del raw[at : at + chance.randrange(1, 9)]
        else:
            raw[at:at] = chance.randbytes(chance.randrange(1, 5))
    return bytes(raw)


class Proof:
    """Reads what was tampered with, and counts how it went."""

    def __init__(self) -> None:
        self.saver = Swapped()
        self.graph = build(self.saver)
        self.threads: list[Any] = [{"configurable": {"thread_id": name}} for name in ("t", "u")]
        for config in self.threads:
            self.graph.invoke({"items": [config["configurable"]["thread_id"]]}, config)
        self.read()
        self.right = self.read()
        self.outcomes: Counter[str] = Counter()
        self.watch = Watch()

    def read(self) -> list[Any]:
        """Everything that a reader of the threads can see."""
        return [list(self.graph.get_state_history(config)) for config in self.threads]

    def tamper(self, what: str, record: bytes, instead: bytes) -> None:
        """Read with one record changed."""
        if record == instead:
            return
        self.saver.record, self.saver.instead = record, instead
        self._try(what, self.read, self.right)
        self.saver.record = b""

    def load(self, what: str, load: Any) -> None:
        """Load bytes of an attack."""
        self._try(what, load, None)

    def _try(self, what: str, act: Any, right: Any) -> None:
        self.watch.on = True
        try:
            result = act()
        except StorageError:
            self.outcomes[f"{what}: typed error"] += 1
            return
        except Exception as error:
            self.outcomes[f"{what}: UNTYPED {type(error).__name__}: {error}"[:200]] += 1
            return
        finally:
            self.watch.on = False
        wrong = right is not None and result != right
        self.outcomes[f"{what}: {'ANOTHER VALUE' if wrong else 'inert data'}"] += 1


def main() -> None:
    """Print the figures; exit with 1 if any is not as promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    proof, chance = Proof(), Random(given.seed)
    both = [records_of(proof.saver, name) for name in ("t", "u")]
    records = both[0] + both[1]
    for _ in range(given.mutations):
        record = chance.choice(records)
        proof.tamper("mutated", record, mutated(record, chance))
    for one, other in permutations(records, 2):
        proof.tamper("swapped", one, other)
    codec, serde = Codec(), JsonPlusSerializer()
    for data in payloads().values():
        proof.load("payload", lambda data=data: codec.loads(data))
        for tag in ("plait", "msgpack", "json", "pickle", "bytes"):
            proof.load("payload", lambda data=data, tag=tag: serde.loads_typed((tag, data)))
        proof.tamper("payload as record", records[0], data)
    for value in INERT.values():
        back = codec.loads(codec.dumps({"user": value}))["user"]
        same = back == value and type(back) is dict
        proof.outcomes[f"user data: {'inert data' if same else 'ANOTHER VALUE'}"] += 1
    imported = [name for name in sys.modules if name == MODULE]
    bad = [each for each in proof.outcomes if "UNTYPED" in each or "ANOTHER" in each]
    figures = {
        "outcomes": dict(sorted(proof.outcomes.items())),
        "imports_or_executions": len(proof.watch.heard) + len(imported),
        "heard": proof.watch.heard[:3],
        "extensions": len(DECODERS),
    }
    print(json.dumps(figures))
    raise SystemExit(bool(bad or proof.watch.heard or imported))


if __name__ == "__main__":
    main()
