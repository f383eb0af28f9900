"""Whether somebody types what runs."""

import sys


def is_interactive_env() -> bool:
    """Whether this is an interactive Python: a shell or a notebook."""
    return hasattr(sys, "ps2")


__all__ = ["is_interactive_env"]
