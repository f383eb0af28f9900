"""Cross encoders: what scores how well pairs of texts fit, for rerankers."""

from abc import ABC, abstractmethod


class BaseCrossEncoder(ABC):
    """Derive from it to score pairs of texts."""

    @abstractmethod
    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        """How well the two texts of each pair fit; more is better."""


__all__ = ["BaseCrossEncoder"]
