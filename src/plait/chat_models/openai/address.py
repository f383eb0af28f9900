"""Which server OpenAI's models and embeddings ask."""

from __future__ import annotations

import os


def address(given: str | None) -> str | None:
    """The server to ask; None: OpenAI.

    LangChain's variable wins over the one of OpenAI's SDK, as it does there.

    Args:
        given: The one that the program names.
    """
    return given or os.environ.get("OPENAI_API_BASE") or os.environ.get("OPENAI_BASE_URL") or None
