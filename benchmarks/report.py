"""Owns what a figure is, its verdict, and how figures are shown: one table, one JSON file."""

import dataclasses
import importlib.metadata
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.implementations import PEER, PLAIT


@dataclass(frozen=True)
class Bounds:
    """What the issue asks of a figure: the least acceptable, and what is hoped for."""

    must: float | None = None
    aim: float | None = None


@dataclass(frozen=True)
class Costs:
    """Median cost of each contestant; None where it was not measured."""

    peer: float | None = None
    plait: float | None = None
    floor: float | None = None


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    Args:
        name: how the command line calls it.
        title: what was measured.
        unit: of the costs.
        costs: what each contestant paid.
        bounds: none for a figure that only informs.
        is_ratio: bounds are lower bounds of peer / plait; else upper bounds of plait's cost.
        samples: the single measurements, by contestant, for the JSON file.
        error: why there is no figure.
    """

    name: str
    title: str
    unit: str
    costs: Costs = Costs()
    bounds: Bounds = Bounds()
    is_ratio: bool = True
    samples: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    error: str | None = None

    @property
    def ratio(self) -> float | None:
        """How many times plait's cost the peer costs."""
        if self.costs.peer is None or not self.costs.plait:
            return None
        return self.costs.peer / self.costs.plait

    @property
    def verdict(self) -> str:
        """``aim``, ``must``, ``MISSED``, ``ERROR``, or nothing where there is no bound.

        >>> Figure("x", "x", "us", Costs(peer=50, plait=2), Bounds(must=20, aim=30)).verdict
        'must'
        """
        if self.error is not None:
            return "ERROR"
        reached = self.ratio if self.is_ratio else self.costs.plait
        must, aim = self.bounds.must, self.bounds.aim
        if reached is None or must is None or aim is None:
            return ""
        sign = 1 if self.is_ratio else -1
        if reached * sign >= aim * sign:
            return "aim"
        return "must" if reached * sign >= must * sign else "MISSED"


_HEADS = ("figure", "work", PEER, PLAIT, "floor", "unit", "ratio", "must", "aim", "verdict")
_LEFT_ALIGNED = {"figure", "work", "unit", "verdict"}


def table(figures: Sequence[Figure]) -> str:
    """All figures as aligned text, then a line per error and a line that counts the verdicts."""
    rows = [_HEADS, *(_cells(figure) for figure in figures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    lines += [f"{f.name}: {f.error}" for f in figures if f.error is not None]
    lines += ["", _summary(figures)]
    return "\n".join(lines)


def _cells(figure: Figure) -> tuple[str, ...]:
    bound = "{:g}x" if figure.is_ratio else "<= {:g}"
    return (
        figure.name,
        figure.title,
        _number(figure.costs.peer),
        _number(figure.costs.plait),
        _number(figure.costs.floor),
        figure.unit,
        "-" if figure.ratio is None or not figure.is_ratio else f"{_number(figure.ratio)}x",
        "-" if figure.bounds.must is None else bound.format(figure.bounds.must),
        "-" if figure.bounds.aim is None else bound.format(figure.bounds.aim),
        figure.verdict,
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        cell.ljust(width) if head in _LEFT_ALIGNED else cell.rjust(width)
        for head, cell, width in zip(_HEADS, row, widths, strict=True)
    )
    return "  ".join(cells).rstrip()


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _summary(figures: Sequence[Figure]) -> str:
    counts: dict[str, int] = dict.fromkeys(("aim", "must", "MISSED", "ERROR"), 0)
    for figure in figures:
        if figure.verdict:
            counts[figure.verdict] += 1
    return (
        f"{counts['aim']} reach their aim, {counts['must']} their must, "
        f"{counts['MISSED']} miss it, {counts['ERROR']} failed."
    )


def machine() -> str:
    """One line that says where the figures come from."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    load = os.getloadavg()[0]
    return (
        f"{python}, {platform.system()} {platform.machine()}, {_processor()}, "
        f"{os.cpu_count()} cores, load {load:.1f}; {PEER} {_version(PEER)}, "
        f"{PLAIT} {_version(PLAIT)}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown processor"


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def write_json(path: Path, figures: Sequence[Figure]) -> None:
    """Write the machine and all figures, with ratios, verdicts and single samples."""
    rows = [
        {**dataclasses.asdict(figure), "ratio": figure.ratio, "verdict": figure.verdict}
        for figure in figures
    ]
    path.write_text(json.dumps({"machine": machine(), "figures": rows}, indent=2) + "\n")
