"""Runs on savers derived from plait's that override methods of LangGraph's port.

Such a class wraps what graphs store and read: it counts, changes or refuses it. So a run calls its
methods, as LangGraph would, with the promises of a third party's saver (`foreign`). They are handed
the values themselves, and what they pass on to plait's saver is stored as by any run: who takes the
class away again goes on with the same threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from plait.checkpoint.base.foreign import (
    Batch,
    Call,
    ForeignRunner,
    ForeignSession,
    run_call,
)
from plait.checkpoint.base.port import Plan
from plait.checkpoint.base.serving import Serving, serving
from plait.checkpoint.serde import Codec, Registry


class DerivedSession(ForeignSession):
    """One run's use of one lane of such a saver."""

    def _hand_over(self, value: Any) -> Any:
        return self._copied(value)

    def _take_back(self, handed: Any) -> Any:
        return self._copied(handed)

    def _copied(self, value: Any) -> Any:
        """A copy, so that neither the class nor the program sees what the other changes."""
        return self.codec.loads(self.codec.dumps(value))

    def _effective(self, stored: Iterable[tuple[str, str, Any]]) -> list[tuple[str, str, Any]]:
        return [(task_id, channel, self._take_back(value)) for task_id, channel, value in stored]

    def _put_writes(self, batches: Sequence[Batch]) -> Plan[None]:
        for batch in batches:
            where = self._at(batch.checkpoint_id)
            writes = [(channel, self.codec.loads(raw)) for channel, raw in batch.raw]
            given = (where, writes, batch.task_id, batch.path)
            yield Call("put_writes", given, merge=batch.merge)


class DerivedRunner(ForeignRunner):
    """Opens sessions on such a saver and executes their plans."""

    def __init__(self, saver: Any, registry: Registry | None) -> None:
        super().__init__(saver, None if registry is None else Codec(registry))
        self._registry = registry

    def open_session(
        self, thread_id: str, ns: str, config: Mapping[str, Any] | None
    ) -> DerivedSession:
        """A run's use of one lane of the saver."""
        return DerivedSession(self.saver, thread_id, ns, config, self.codec)

    def _call(self, request: Call) -> Any:
        token = serving.set(Serving(self._registry, request.merge))
        try:
            return super()._call(request)
        finally:
            serving.reset(token)

    async def _acall(self, request: Call) -> Any:
        token = serving.set(Serving(self._registry, request.merge))
        try:
            overridden = self.saver.overridden
            if request.method in overridden and f"a{request.method}" not in overridden:
                return await asyncio.to_thread(partial(run_call, self.saver, request))
            return await super()._acall(request)
        finally:
            serving.reset(token)
