"""Example selectors: which examples go into a few-shot prompt, for a given input."""

from plait.example_selectors.base import BaseExampleSelector
from plait.example_selectors.length_based import LengthBasedExampleSelector
from plait.example_selectors.semantic_similarity import (
    MaxMarginalRelevanceExampleSelector,
    SemanticSimilarityExampleSelector,
    sorted_values,
)

__all__ = [
    "BaseExampleSelector",
    "LengthBasedExampleSelector",
    "MaxMarginalRelevanceExampleSelector",
    "SemanticSimilarityExampleSelector",
    "sorted_values",
]
