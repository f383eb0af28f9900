"""Random words, texts and values of JSON: few and short, so that they meet each other."""

from random import Random
from typing import Any

WORDS = ("a", "b", "name", "city", "x", "items")
TEXTS = ("", "hi", "a b c", "Hello, world", "two\nlines", "é ü", "{x}", "1. one", '"q"', " pad ")
SCALARS = (0, 1, -2, 2.5, True, False, None, "", "hi", "a b", "é")


def word(choose: Random) -> str:
    """A name of a key, variable or argument."""
    return choose.choice(WORDS)


def text(choose: Random) -> str:
    """A short text."""
    return choose.choice(TEXTS)


def json_value(choose: Random, depth: int = 2) -> Any:
    """A value that JSON can hold."""
    kind = choose.random()
    if depth == 0 or kind < 0.6:
        return choose.choice(SCALARS)
    if kind < 0.8:
        return [json_value(choose, depth - 1) for _ in range(choose.randint(0, 3))]
    return {word(choose): json_value(choose, depth - 1) for _ in range(choose.randint(0, 3))}
