"""A sample of the proof of durability; `make prove` does the full counts (see `tests/prove.py`)."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.prove import ROWS, prove, tampering


@pytest.mark.parametrize("row", [row for row in ROWS if row != 6])
def test_row_of_the_proof(row: int, capsys: pytest.CaptureFixture[str]) -> None:
    _, full, sample = ROWS[row]
    figures = prove(row, Random(row).sample(range(full), sample))
    with capsys.disabled():
        print(f"\n[proof] row {row}: {figures}")


def test_tampered_records_and_attacks_are_errors_or_inert(tmp_path: Path) -> None:
    figures = tampering(7, tmp_path, mutations=2000)
    assert figures["imports_or_executions"] == 0
    assert figures["outcomes"]["mutated: typed error"] == 2000
