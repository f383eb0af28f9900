"""Arguments of the peer that this version cannot honour: refused, so that none is ignored."""

from __future__ import annotations

from plait.errors import NotSupportedError

INSTEAD = {
    "cache": "leave it out",
    "cache_policy": "leave it out; a @task keeps its work from repeating on one thread",
    "control": "stop the run between its steps by closing its stream",
    "error_handler": "catch the error in the node and return a Command",
    "step_timeout": "bound the work inside the nodes, or run under asyncio.timeout",
    "timeout": "bound the work inside, with asyncio.timeout or the client's own limit",
    "trace_policy": "leave it out; nothing is traced unless callbacks are given",
    "transformers": "transform the parts where they are consumed",
}
"""Each such argument, and what to do meanwhile."""


def refuse(who: str, **given: object) -> None:
    """Refuse arguments that were given and cannot be honoured.

    Raises:
        NotSupportedError: one is not None.
    """
    for name, value in given.items():
        if value is not None:
            raise NotSupportedError(
                f"{who} asks for {name}=, which this version of plait does not support yet: "
                f"{INSTEAD[name]}."
            )
