"""Savers whose claims are short."""

from __future__ import annotations

from typing import Any

from plait.checkpoint.sqlite import SqliteSaver


class ShortLease(SqliteSaver):
    """Claims that last a moment unless renewed."""

    lease = 0.4

    def open_session(self, thread_id: str, ns: str = "", **options: Any) -> Any:
        """A session whose lease is short."""
        return super().open_session(thread_id, ns, **{**options, "lease": self.lease})
