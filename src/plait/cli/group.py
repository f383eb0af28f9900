"""The command `plait` itself: finds its commands by their files, and tells errors in one line."""

from __future__ import annotations

import sys
from errno import EPIPE
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import click

from plait.cli import commands
from plait.errors import GraphError, RunError, StorageError

FAILED = 2
"""The exit code of a command that could not do its work; 1 belongs to commands' own verdicts."""


class Commands(click.Group):
    """The files of `plait.cli.commands`: `check_deploy.py` has the `command` of `check-deploy`.

    A file is imported when its command is called, so that one command never loads what only
    another needs.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, by the names of their files."""
        return sorted(found.name.replace("_", "-") for found in iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, or None."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = import_module(f"{commands.__name__}.{cmd_name.replace('-', '_')}")
        return module.command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; errors that say what to do need no traceback.

        Where stdout has another encoding than UTF-8 (a pipe on Windows, an old locale), what it
        does not have is escaped, as it is on stderr.
        """
        if callable(reconfigure := getattr(sys.stdout, "reconfigure", None)):
            reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except (GraphError, RunError, StorageError) as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(FAILED)
        except OSError as error:  # what was told cannot be written, say
            if error.errno == EPIPE:  # nobody reads on: click's to end
                raise
            click.echo(f"Error: {error}", err=True)
            sys.exit(FAILED)


@click.group(cls=Commands)
@click.version_option(package_name="plait", prog_name="plait")
def cli() -> None:
    """Work with the threads that plait has stored."""
