"""The title lines of `pretty_repr`."""

from functools import lru_cache


@lru_cache(maxsize=64)
def title_line(title: str, *, bold: bool = False) -> str:
    """A title of 80 columns between `=` signs.

    >>> len(title_line("Human Message"))
    80
    """
    padded = f" {title} "
    sides = 80 - len(padded)
    left, right = "=" * (sides // 2), "=" * (sides - sides // 2)
    return f"{left}\033[1m{padded}\033[0m{right}" if bold else f"{left}{padded}{right}"
