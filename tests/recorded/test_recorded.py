"""Programs of langchain-classic, langgraph-supervisor and langgraph-swarm give what they gave."""

import pytest
from tests.differential.harness import Case
from tests.recorded.harness import BETTER, cases, check


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_program_gives_what_the_peer_gave(case: Case) -> None:
    check(case)


def test_every_named_difference_is_of_a_case() -> None:
    assert set(BETTER) <= {case.title for case in cases()}
