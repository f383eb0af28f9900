"""The story of two servers: one asks and is killed, the other, which knows nothing, is answered."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

HERE = Path(__file__).resolve().parent


class Server:
    """A server in a process of its own.

    Args:
        out: Where the ledger is.
        url: The database.
        model: A real model, or None.
    """

    def __init__(self, out: Path, url: str, model: str | None = None) -> None:
        command = [sys.executable, str(HERE / "support.py"), "--serve", "0"]
        command += ["--out", str(out), "--db", url, *(["--model", model] if model else [])]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise ConnectionError(f"No server came up: {' '.join(command)}")

    def call(self, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and what comes back."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.address + path, data, {"content-type": "application/json"})
        try:
            with urlopen(request) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            return error.code, json.load(error)

    def kill(self) -> None:
        """End it at once (SIGKILL); it can do nothing about it."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@contextmanager
def server(out: Path, url: str, model: str | None = None) -> Generator[Server]:
    """A server that does not outlive the block."""
    one = Server(out, url, model)
    try:
        yield one
    finally:
        one.kill()


def tell(out: Path, url: str, model: str | None) -> None:
    """Play the story and say what happens."""
    thread = f"/threads/{uuid4().hex[:8]}"
    paid_before = _payments(out)
    with server(out, url, model) as a:
        print(f"Server A, process {a.process.pid}.")
        text = "My lamp, order 7, came broken, and so did the mug, order 9. I want a refund."
        print(f"  customer: {text}")
        status, seen = a.call(f"{thread}/messages", {"text": text})
        if status != 200:
            sys.exit(f"Server A answers {status} {seen['error']}: {seen['message']}")
        questions = _shown(seen)
        a.kill()
        print("Server A is killed.\n")
    with server(out, url, model) as b:
        print(f"Server B, process {b.process.pid}. It has never seen this conversation.")
        _, seen = b.call(thread)
        assert _shown(seen) == questions
        for question, asked in reversed(list(seen["questions"].items())):
            action = asked["action_request"]
            given = {"type": "accept"}
            if action["args"].get("euro", 0) > 20:
                given = {"type": "edit", "args": {**action["args"], "euro": 20.0}}
            print(f"  a colleague on {action['action']} {action['args']}: {given}")
            _, seen = b.call(f"{thread}/answers", {question: given})
        print(f"  agent: {seen['says']}")
        for question in questions:
            status, refused = b.call(f"{thread}/answers", {question: {"type": "accept"}})
            print(f"  the same question again: {status} {refused['error']}")
    print(f"\nPaid, in {out / 'ledger.jsonl'}:")
    for line in _payments(out)[len(paid_before) :]:
        print(f"  {line}")


def _shown(seen: dict[str, Any]) -> list[str]:
    for question, asked in seen["questions"].items():
        print(f"  waits: {asked['description']} {asked['action_request']['args']} ({question[:8]})")
    return list(seen["questions"])


def _payments(out: Path) -> list[str]:
    path = out / "ledger.jsonl"
    return path.read_text().splitlines() if path.exists() else []
