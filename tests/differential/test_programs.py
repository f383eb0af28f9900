"""A program written for LangGraph gives the same results on plait, its import roots replaced."""

import pytest

from .harness import KNOWN_DIFFERENCES, Case, cases, check


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_program_gives_the_same_result_on_both(case: Case) -> None:
    check(case)


def test_every_known_difference_names_a_case() -> None:
    assert set(KNOWN_DIFFERENCES) <= {case.title for case in cases()}
