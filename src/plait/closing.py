"""Closing what nobody reads any more."""


async def aclose(chunks: object) -> None:
    """Close an async generator that nobody reads any more; other iterators have nothing to do."""
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()


__all__ = ["aclose"]
