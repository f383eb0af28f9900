"""Which streamed piece of a tool call goes on with which: servers say it in several ways."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from plait.chat_models.wire import Block, made_id, part_of


def called(call: Block) -> Block:
    """Name and arguments of a call; of a custom tool's, the text that is meant for it."""
    custom = part_of(call, "custom")
    if custom:
        return {"name": custom.get("name"), "arguments": custom.get("input")}
    return part_of(call, "function")


@dataclass
class Begun:
    """A call of which pieces have come."""

    name: Any
    call_id: Any
    place: Any
    args: str = ""

    def is_whole(self) -> bool:
        """Whether its arguments are all there."""
        try:
            return isinstance(json.loads(self.args, strict=False), dict)
        except (json.JSONDecodeError, RecursionError):
            return False


class CallPieces:
    """Reads the pieces of the tool calls of one streamed answer.

    OpenAI numbers the calls. Some servers give all the same number, or none; some give no ids, or
    say id and name with each piece. Each call gets a number of its own here.
    """

    def __init__(self) -> None:
        self._begun: list[Begun] = []
        self._latest: dict[Any, Begun] = {}

    def read(self, call: Block, position: int) -> Block:
        """The chunk of a piece that stands at a position in its event."""
        said, call_id, index = called(call), call.get("id") or None, call.get("index")
        name, args = said.get("name") or None, said.get("arguments")
        args = json.dumps(args) if isinstance(args, (dict, list)) else args
        index = position if index is None else index
        known = self._known(index, name, call_id, args)
        if known is None:
            known = self._begin(index, name, call_id)
            call_id = call_id or (made_id() if name else None)
        else:
            call_id = call_id if call_id == known.call_id else None
            name = None if known.name else name
            known.name = known.name or name
        self._latest[index] = known
        known.args += args or ""
        return {"name": name, "args": args, "id": call_id, "index": known.place}

    def _known(self, index: Any, name: Any, call_id: Any, args: Any) -> Begun | None:
        """The call that a piece goes on with; None: it begins one."""
        if call_id is not None:
            same = (begun for begun in self._begun if begun.call_id == call_id)
            if (known := next(same, None)) is not None:
                return known
        known = self._latest.get(index)
        if known is None or name is None:
            is_other = known is not None and call_id is not None and known.call_id is not None
            return None if is_other else known
        if known.name is None:
            return known
        is_new = call_id is not None or name != known.name or (args and known.is_whole())
        return None if is_new else known

    def _begin(self, index: Any, name: Any, call_id: Any) -> Begun:
        taken = {begun.place for begun in self._begun}
        place = max(taken) + 1 if index in taken else index
        self._begun.append(Begun(name, call_id, place))
        return self._begun[-1]


__all__ = ["CallPieces", "called"]
