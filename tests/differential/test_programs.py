"""A program written for LangGraph gives the same results on plait, its import roots replaced."""

import re

import pytest

from .differences import COMPATIBILITY, KNOWN_DIFFERENCES, NOT_YET
from .harness import Case, cases, check, oracle_only


def _marked(case: Case) -> object:
    issue = None if oracle_only() else NOT_YET.get(case.title)
    later = pytest.mark.xfail(strict=True, reason=f"issue {issue} builds what it needs")
    return pytest.param(case, id=case.id, marks=[] if issue is None else [later])


@pytest.mark.parametrize("case", [_marked(case) for case in cases()])
def test_program_gives_the_same_result_on_both(case: Case) -> None:
    check(case)


def test_every_entry_of_the_tables_names_a_case() -> None:
    titles = {case.title for case in cases()}
    assert set(KNOWN_DIFFERENCES) <= titles
    assert set(NOT_YET) <= titles
    assert not set(NOT_YET) & set(KNOWN_DIFFERENCES)


def test_every_row_of_the_compatibility_table_is_shown_by_a_case() -> None:
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|", COMPATIBILITY.read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(set(KNOWN_DIFFERENCES.values()))
