"""The command `plait` in a forked process: what it imports is there already, which takes a new
process most of its time. `test_threads` holds it against the console script."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from types import ModuleType
from typing import Any

from plait.cli import main
from plait.testing import fork


def forked(arguments: Sequence[str], cwd: Path, answer: str = "") -> CompletedProcess[str]:
    """What the command says and returns.

    Args:
        arguments: those of the command line.
        cwd: where it is called.
        answer: what it is told at its questions.
    """
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(answer.encode())
        given.seek(0)

        def work(tell: Callable[[str], Any]) -> None:
            for number, file in enumerate((given, out, err)):
                os.dup2(file.fileno(), number)
            os.chdir(cwd)
            tell(str(_called(list(arguments))))

        child = fork(work)
        code = child.hear()
        child.wait()
        said = [_text(file) for file in (out, err)]
        return CompletedProcess(["plait", *arguments], int(code), *said)


def _called(arguments: list[str]) -> int:
    """Call it as the console script does, in a process that is not pytest's any more."""
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    sys.argv, sys.modules["__main__"] = ["plait", *arguments], ModuleType("__main__")
    logging.getLogger().handlers.clear()
    warnings.resetwarnings()
    with warnings.catch_warnings():  # they go to stderr again
        try:
            main()
        except SystemExit as end:
            return _exit_code(end.code)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
    return 0


def _exit_code(code: Any) -> int:
    if isinstance(code, str):
        print(code, file=sys.stderr, flush=True)
        return 1
    return code or 0


def _text(file: Any) -> str:
    file.seek(0)
    return file.read().decode()
