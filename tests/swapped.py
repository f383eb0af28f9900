"""A saver that gives one stored record as other bytes than were stored."""

from __future__ import annotations

from typing import Any

from plait.checkpoint.log.requests import Page
from plait.checkpoint.memory import InMemorySaver


class Swapped(InMemorySaver):
    """Gives `instead` wherever it read `record`, if there is one."""

    record: bytes = b""
    instead: bytes = b""

    def execute(self, request: Any) -> Any:
        answer = super().execute(request)
        return self._swap(answer) if self.record else answer

    async def aexecute(self, request: Any) -> Any:
        return self.execute(request)

    def _swap(self, each: Any) -> Any:
        if each == self.record:
            return self.instead
        if type(each) in (list, tuple):  # rows, or rows in company
            return type(each)(map(self._swap, each))
        if type(each) is Page:
            return Page(*map(self._swap, each))
        if type(each) is dict:
            return {key: self._swap(held) for key, held in each.items()}
        held = getattr(each, "record", None)
        return each._replace(record=self.instead) if held == self.record else each
