"""Owns the memory figure: how much higher the peak of a process is for having run one fan-out.

Resident memory is what a container's limit sees: it counts thread stacks, extension modules and
fragmentation, which tracemalloc does not, and it does not slow the program down as tracing does.
Two traps are avoided. ``ru_maxrss`` is inherited over fork and exec, so a child of a fat parent
starts at its parent's peak; and importing leaves a peak of its own behind. So the child resets the
high-water mark of the kernel (Linux: /proc/self/clear_refs) after import, compile and a small
run, and reads VmHWM. Where the kernel cannot do that, tracemalloc's peak is taken.

Run as a program, the module is that child: ``python -m benchmarks.memory NAME TASKS MODE``.
"""

import gc
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

from benchmarks import floors, programs
from benchmarks.implementations import Implementation
from benchmarks.measure import Disagreement, Job

FLOOR = "floor"
_WARM_TASKS = 20
_RESET_PEAK = "5"


def peaks_of_fanout(names: list[str], tasks: int, *, run_as_async: bool) -> dict[str, int]:
    """Bytes that a fan-out adds to the peak of a fresh process, by contestant.

    Args:
        names: import roots, or ``FLOOR`` for the plain loop.
        tasks: tasks of the fan-out.
        run_as_async: measure ``ainvoke``.

    Raises:
        Disagreement: the contestants reduced their tasks to different results.
        subprocess.CalledProcessError: a child failed; its traceback is on stderr.
    """
    mode = "async" if run_as_async else "sync"
    reports = {name: _child(name, tasks, mode) for name in names}
    results = {name: report["result"] for name, report in reports.items()}
    if len(set(map(str, results.values()))) > 1:
        raise Disagreement(f"The fan-outs whose memory is measured ended differently: {results}")
    return {name: report["bytes"] for name, report in reports.items()}


def _child(name: str, tasks: int, mode: str) -> dict[str, Any]:
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", name, str(tasks), mode],
        cwd=Path(__file__).parents[1],
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(child.stdout)


def _job(name: str, tasks: int, run_as_async: bool) -> Job:
    if name == FLOOR:
        return floors.fanout(tasks, run_as_async=run_as_async)
    return programs.fanout(Implementation(name), tasks, run_as_async=run_as_async)


def _status_bytes(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(f"/proc/self/status has no {field}")


def _peak_of(job: Job) -> tuple[int, Any]:
    """Bytes added to the peak by one run, and what the run returned."""
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
        before = _status_bytes("VmRSS")
    except (OSError, LookupError):
        tracemalloc.start()
        result = job.run()
        return tracemalloc.get_traced_memory()[1], result
    result = job.run()
    return _status_bytes("VmHWM") - before, result


def _main(name: str, tasks: str, mode: str) -> None:
    run_as_async = mode == "async"
    _job(name, _WARM_TASKS, run_as_async).run()
    peak, state = _peak_of(_job(name, int(tasks), run_as_async))
    print(json.dumps({"bytes": peak, "result": [len(state["out"]), sum(state["out"])]}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
