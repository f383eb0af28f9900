"""Owns the import figures: CPU seconds and modules that importing a graph package costs.

Every measurement is a fresh process. Byte code is written to a private cache by a first run, so
that what is measured is a start as users have it, also where PYTHONDONTWRITEBYTECODE is set.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

_NOTHING = "pass"
_COUNT_MODULES = "; import sys; print(len(sys.modules))"


@dataclass(frozen=True)
class StartCost:
    """What an import adds to ``python -c pass``: CPU seconds per round, and modules loaded."""

    seconds: list[float]
    modules: int


def import_costs(statements: Mapping[str, str], *, rounds: int) -> dict[str, StartCost]:
    """Measure import statements in turn, each beside a bare start of Python.

    Args:
        statements: Python source of the import, by contestant.
        rounds: measured rounds; one more before them fills the byte code cache.

    Raises:
        subprocess.CalledProcessError: an import failed; its traceback is on stderr.
    """
    sources = {"": _NOTHING, **statements}
    seconds: dict[str, list[float]] = {name: [] for name in statements}
    with tempfile.TemporaryDirectory(prefix="plait-bench-") as cache:
        environment = _with_byte_code_in(cache)
        modules = {
            name: int(_run(source + _COUNT_MODULES, environment)[1])
            for name, source in sources.items()
        }
        for _ in range(rounds):
            spent = {name: _run(source, environment)[0] for name, source in sources.items()}
            for name in statements:
                seconds[name].append(max(spent[name] - spent[""], 1e-6))
    return {name: StartCost(seconds[name], modules[name] - modules[""]) for name in statements}


def _with_byte_code_in(folder: str) -> dict[str, str]:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def _run(source: str, environment: Mapping[str, str]) -> tuple[float, str]:
    """CPU seconds of one child process, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = subprocess.run(
        [sys.executable, "-c", source], env=environment, check=True, stdout=subprocess.PIPE
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return spent, child.stdout.decode().strip()
