"""Maximal marginal relevance: what is near a query, and not near what was picked before."""

from collections.abc import Sequence

from plait.store.base.vectors import cosines, pack


def maximal_marginal_relevance(
    query_embedding: Sequence[float],
    embedding_list: Sequence[Sequence[float]],
    lambda_mult: float = 0.5,
    k: int = 4,
) -> list[int]:
    """The places of the vectors that are picked, the first pick first.

    Args:
        query_embedding: What is searched for.
        embedding_list: The vectors to pick from.
        lambda_mult: From 1 (only what is near the query counts) to 0 (only variety does).
        k: How many are picked.

    Raises:
        InvalidStoreOpError: A vector has another length than the query's.

    >>> maximal_marginal_relevance([1, 0.2], [[1, 0], [1, 0.1], [0, 1]], k=2)
    [1, 2]
    """
    packed = [pack(vector) for vector in embedding_list]
    return most_relevant(pack(query_embedding), packed, lambda_mult, k)


def most_relevant(query: bytes, vectors: Sequence[bytes], lambda_mult: float, k: int) -> list[int]:
    """`maximal_marginal_relevance` of packed vectors."""
    near_query = cosines(query, vectors)
    near_picked = [0.0] * len(vectors)
    left = dict.fromkeys(range(len(vectors)))
    picked: list[int] = []
    while left and len(picked) < k:
        if picked:
            of_last = cosines(vectors[picked[-1]], vectors)
            near_picked = of_last if len(picked) == 1 else list(map(max, near_picked, of_last))
            scores = {
                place: lambda_mult * near_query[place] - (1 - lambda_mult) * near_picked[place]
                for place in left
            }
            best = max(left, key=scores.__getitem__)
        else:
            best = max(left, key=near_query.__getitem__)
        del left[best]
        picked.append(best)
    return picked


__all__ = ["maximal_marginal_relevance", "most_relevant"]
