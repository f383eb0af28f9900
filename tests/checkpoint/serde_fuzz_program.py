"""Decode 3,000 mutations of a rich value under an audit hook (run by test_serde_fuzz)."""

import random
import re
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_address
from pathlib import Path
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from pydantic import BaseModel

from plait.checkpoint.serde import Codec, Registry
from plait.errors import CorruptCheckpointError, UnregisteredTypeError
from plait.messages import HumanMessage
from plait.types import Command, Send

FORBIDDEN = ("import", "exec", "open", "compile", "os.", "subprocess.", "socket.", "ctypes.")
seen: list[tuple[str, object]] = []
watching = False


def audit(event: str, args: object) -> None:
    if watching and event.startswith(FORBIDDEN):
        seen.append((event, args))


class Model(BaseModel):
    name: str
    inner: "Model | None" = None


@dataclass
class Point:
    x: int
    y: tuple[int, ...]


VALUE = {
    "messages": [HumanMessage("hello", id="1"), HumanMessage("more", id="2")],
    "model": Model(name="a", inner=Model(name="b")),
    "points": [Point(1, (2, 3)), Point(-1, ())],
    "odd keys": {1: 2, (3,): 4, None: 5, "\ud800": 6},
    "plain": [1.5, 2**70, b"\xc4", bytearray(b"x"), 1j, Decimal("1.5"), Fraction(1, 3)],
    "time": [datetime(2026, 1, 1, tzinfo=UTC), timedelta(1), ZoneInfo("Europe/Berlin")],
    "names": [UUID(int=7), Path("/etc/passwd"), re.compile("a+"), ip_address("::1"), int],
    "many": [{1, 2}, frozenset("ab"), deque([1], 2), Counter("aab"), OrderedDict(a=1), range(3)],
    "default": defaultdict(list, a=[1]),
    "arrays": [np.arange(3), np.float32(1.5)],
    "frame": pd.DataFrame(
        {
            "text": ["a", None],
            "number": pd.array([1, None], dtype="Int64"),
            "mixed": pd.Series([1, "x"], dtype=object),
            "kind": pd.Categorical(["a", "b"]),
            "month": pd.period_range("2026-01", periods=2, freq="M"),
            "between": pd.interval_range(0, 2),
        },
        index=pd.date_range("2026-01-01", periods=2, freq="D", tz="Europe/Berlin"),
    ),
    "control": [Send("n", 1), Command(goto="x"), ValueError("bad"), slice(1, 2)],
}


def mutate(data: bytes, rng: random.Random) -> bytes:
    raw = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(raw))
        kind = rng.randrange(4)
        if kind == 0:
            raw[at] = rng.randrange(256)
        elif kind == 1:
            raw[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del raw[at : at + rng.randrange(1, 9)]
        else:
            raw[at:at] = rng.randbytes(rng.randrange(1, 5))
        if not raw:
            raw = bytearray(b"\xc1")
    return bytes(raw)


def main() -> None:
    global watching
    registry = Registry(None)
    registry.register(Model)
    registry.register(Point)
    codec = Codec(registry)
    data = codec.dumps(VALUE)
    codec.loads(data)  # what is looked up once (plait's own modules, zone names) is looked up here
    sys.addaudithook(audit)
    rng = random.Random(7)
    cases = [mutate(data, rng) for _ in range(3000)]
    errors = 0
    for case in cases:
        watching = True
        try:
            codec.loads(case)
        except (CorruptCheckpointError, UnregisteredTypeError):
            errors += 1
        finally:
            watching = False
    assert not seen, seen[:5]
    assert errors > 1000, errors
    print(f"3000 mutations, {errors} refused")


if __name__ == "__main__":
    main()
