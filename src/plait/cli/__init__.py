"""The command line: `plait <command>`. Each file of `plait.cli.commands` is one command."""

from __future__ import annotations

import sys


def main() -> None:
    """What the console script `plait` runs."""
    try:
        from plait.cli.group import cli  # click and rich are an extra
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.exit(f"The command line needs {error.name}. Install it: pip install 'plait[cli]'.")
    except KeyboardInterrupt:  # from here on click says it
        sys.exit("Aborted!")
    cli()


__all__ = ["main"]
