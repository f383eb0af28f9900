"""How an example ends that cannot go on: with a line that says why, instead of a traceback."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from json import JSONDecodeError

from plait.errors import GraphRecursionError, ModelError, RunError, StorageError

FORESEEN = (OSError, JSONDecodeError, ModelError, RunError, StorageError, GraphRecursionError)
"""What is no fault of the example: files, ports, keys, names, and models that turn in circles."""


@contextmanager
def told(stopped: str = "Stopped.") -> Generator[None]:
    """Tell what stops the block in one line, on the error stream; any other error is a fault.

    Args:
        stopped: what to say to Ctrl-C, and to an input that ends before there is an answer.

    Raises:
        SystemExit: something has stopped it.
    """
    try:
        yield
    except (KeyboardInterrupt, EOFError):
        sys.exit(f"\n{stopped}")
    except FORESEEN as error:
        sys.exit(f"{type(error).__name__}: {error}")
