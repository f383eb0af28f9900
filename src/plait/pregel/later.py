"""Arguments of the peer that this version cannot honour: refused, so that none is ignored."""

from __future__ import annotations

from plait.errors import NotSupportedError

INSTEAD = {
    "transformers": "give them to a graph: compile(transformers=), stream_events(transformers=)",
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
