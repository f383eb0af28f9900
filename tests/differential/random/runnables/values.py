"""Random words, texts and values of JSON: few and short, so that they meet each other."""

from typing import Any

from tests.differential.random.dice import Dice

WORDS = ("a", "b", "name", "city", "x", "items")
TEXTS = ("", "hi", "a b c", "Hello, world", "two\nlines", "é ü", "{x}", "1. one", '"q"', " pad ")
SCALARS = (0, 1, -2, 2.5, True, False, None, "", "hi", "a b", "é")


def word(dice: Dice) -> str:
    """A name of a key, variable or argument."""
    return dice.one(WORDS)


def text(dice: Dice) -> str:
    """A short text."""
    return dice.one(TEXTS)


def json_value(dice: Dice, depth: int = 2) -> Any:
    """A value that JSON can hold."""
    kind = dice.share()
    if depth == 0 or kind < 0.6:
        return dice.one(SCALARS)
    if kind < 0.8:
        return [json_value(dice, depth - 1) for _ in range(dice.number(0, 3))]
    return {word(dice): json_value(dice, depth - 1) for _ in range(dice.number(0, 3))}
