"""What travels with a checkpoint: packed, read back, and refused where it is damaged."""

from __future__ import annotations

from random import Random

import pytest

from plait.checkpoint.log.requests import Transact, WriteRow
from plait.checkpoint.postgres.company import company_of, value_in, values_in, writes_in
from plait.errors import CorruptCheckpointError

PARENT, KEY, TASK = b"1" * 16, b"2" * 16, b"t" * 16


def commit(*, version: bytes = b"v", written: bytes = b"w", of: bytes = PARENT) -> Transact:
    return Transact(
        "thread",
        "",
        checkpoints=[(KEY, PARENT, b"record")],
        values=[("a\0b", KEY, b"small"), ("big", KEY, version)],
        writes=[(of, TASK, "path\0", written)],
    )


def test_small_rows_travel_with_the_checkpoint_and_read_back() -> None:
    company = company_of(commit())
    assert (company.values, company.writes) == ([], ())
    assert company.kept is not None
    assert company.acks is not None
    assert dict(values_in(company.kept)) == {"a\0b": b"small", "big": b"v"}
    assert value_in(company.kept, "small") is None
    assert [*writes_in(company.acks, PARENT)] == [WriteRow(PARENT, TASK, "path\0", b"w")]


def test_a_large_version_stays_behind_alone() -> None:
    company = company_of(commit(version=bytes(2000)))
    assert company.values == [("big", KEY, bytes(2000))]
    assert company.kept is not None
    assert dict(values_in(company.kept)) == {"a\0b": b"small"}


@pytest.mark.parametrize(
    "request_", [commit(written=bytes(2000)), commit(of=KEY)], ids=["large", "of another"]
)
def test_writes_that_cannot_travel_have_rows_of_their_own(request_: Transact) -> None:
    company = company_of(request_)
    assert company.acks is None
    assert company.writes == request_.writes


def test_several_checkpoints_travel_alone() -> None:
    request = commit()
    request.checkpoints = [*request.checkpoints, (b"3" * 16, KEY, b"record")]
    company = company_of(request)
    assert (company.kept, company.acks) == (None, None)
    assert (company.values, company.writes) == (request.values, request.writes)


def test_a_cut_or_changed_row_is_a_typed_error_or_other_data() -> None:
    kept = company_of(commit()).kept
    assert kept is not None
    random = Random(1)
    refused = 0
    for end in range(1, len(kept)):
        damaged = bytearray(kept[:end] if end % 2 else kept)
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
        try:
            told = dict(values_in(bytes(damaged)))
        except CorruptCheckpointError:
            refused += 1
        else:
            assert all(type(name) is str for name in told)
    assert refused > len(kept) // 3
