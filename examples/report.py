"""The findings as a report: Markdown that is readable in a terminal too."""

from __future__ import annotations

from inspection import Finding, Routine


def compose_report(findings: list[Finding]) -> str:
    """Reduce all findings to one text."""
    routines = [routine for finding in findings for routine in finding.routines]
    undocumented = [name for finding in findings for name in finding.undocumented]
    broken = [link for finding in findings for link in finding.broken]
    longest = sorted(routines, key=lambda r: (-r.lines, r.place))[:5]
    knotty = sorted(routines, key=lambda r: (-r.branches, r.place))[:5]
    parts = [
        "# Survey",
        "\n".join(_totals(findings, kind) for kind in ("Python", "Markdown")),
        _section("Longest functions", [f"{r.lines:4} lines  {_shown(r)}" for r in longest]),
        _section("Most branches", [f"{r.branches:4} branches  {_shown(r)}" for r in knotty]),
        _section("Public names without a docstring", undocumented),
        _section("Links that lead nowhere", broken),
    ]
    return "\n\n".join(parts) + "\n"


def _totals(findings: list[Finding], kind: str) -> str:
    chosen = [finding for finding in findings if finding.kind == kind]
    lines, words = sum(f.lines for f in chosen), sum(f.words for f in chosen)
    return f"- {kind}: {len(chosen)} documents, {lines:,} lines, {words:,} words"


def _shown(routine: Routine) -> str:
    return f"{routine.name}  ({routine.place})"


def _section(title: str, items: list[str], most: int = 5) -> str:
    shown = [f"- {item}" for item in items[:most]] or ["- none"]
    if len(items) > most:
        shown.append(f"- and {len(items) - most} more")
    return "\n".join([f"## {title}", "", *shown])
