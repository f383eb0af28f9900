"""A database of LangGraph's with attacks in it, imported under an audit hook.

Prints what became of them as one line of JSON: `python -m tests.importing.attack FOLDER [EVERY]`,
where EVERY=5 takes each fifth of those that differ by a number.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import ormsgpack
from tests.payloads import MODULE, payloads
from tests.prove_bytes import Watch

from plait.checkpoint.memory import InMemorySaver
from plait.importing import import_langgraph
from plait.importing.sqlite import SqliteSource

TAGS = ("msgpack", "json", "pickle", "bytes", "null", "aes+msgpack", "os.system")
SCHEMA = """
CREATE TABLE checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type,
    checkpoint, metadata);
CREATE TABLE writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel,
    type, value);
"""
ID = "1f1e5ec1-e43a-6f4e-bfff-4558b7255de3"


def _checkpoint(value: Any) -> bytes:
    """A checkpoint in which `value` (packed) is what a key holds."""
    outer = {
        "v": 4,
        "ts": "2026-11-21T20:42:50.799066+00:00",
        "id": ID,
        "channel_values": {"key": "@"},
        "channel_versions": {"key": "1"},
        "versions_seen": {},
    }
    return ormsgpack.packb(outer).replace(ormsgpack.packb("@"), value)


def fill(path: Path, every: int) -> int:
    """Write threads, each with one attack; returns how many."""
    conn = sqlite3.connect(path)
    conn.executescript(SCHEMA)
    task = "95f20fdf-4b07-996c-c5b4-e1f78dfb94f4"
    threads = 0
    fine = _checkpoint(b"\x01")
    conn.execute("INSERT INTO checkpoints VALUES ('warm', '', ?, NULL, 'msgpack', ?, '{}')",
                 (ID, fine))  # fmt: skip
    attacks = payloads()
    many = [name for name in attacks if name.startswith("msgpack ext")]
    for name in [*(each for each in attacks if each not in many), *many[::every]]:
        data = attacks[name]
        rows: list[tuple[str, bytes, bytes, str, bytes]] = [
            ("msgpack", _checkpoint(data), b"{}", "null", b""),  # as the value of a key
            ("json", data, b"{}", "null", b""),  # as a whole checkpoint
            ("msgpack", data, b"{}", "null", b""),
            ("pickle", data, b"{}", "null", b""),
            ("msgpack", fine, data, "null", b""),  # as metadata
            *(("msgpack", fine, b"{}", tag, data) for tag in TAGS),  # as a pending write
        ]
        for number, (kind, checkpoint, metadata, tag, written) in enumerate(rows):
            threads += 1
            thread = f"{name} {number}"
            conn.execute("INSERT INTO checkpoints VALUES (?, '', ?, NULL, ?, ?, ?)",
                         (thread, ID, kind, checkpoint, metadata))  # fmt: skip
            channel = ("key", "__interrupt__")[number % 2]
            conn.execute("INSERT INTO writes VALUES (?, '', ?, ?, '~__pregel_pull, x', 0, ?, ?, ?)",
                         (thread, ID, task, channel, tag, written))  # fmt: skip
    conn.commit()
    conn.close()
    return threads


def main() -> None:
    path = Path(sys.argv[1]) / "attack.db"
    threads = fill(path, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    (warm,) = import_langgraph(path, dry_run=True, threads=["warm"]).threads  # loads what it needs
    assert warm.outcome == "imported"
    watch, saver, source = Watch(), InMemorySaver(), SqliteSource(path)
    watch.on = True
    report = import_langgraph(source, saver, threads=[t for t in source.threads() if t != "warm"])
    watch.on = False
    outcomes = Counter(each.outcome for each in report.threads)
    print(json.dumps({"threads": threads, "outcomes": outcomes, "heard": watch.heard,
                      "imported": MODULE in sys.modules}))  # fmt: skip


if __name__ == "__main__":
    main()
