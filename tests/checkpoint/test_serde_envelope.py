"""A record opens where it was sealed, whole and unchanged, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.checkpoint.serde import COMPRESSED, ENCRYPTED, place, seal, unseal
from plait.checkpoint.serde.envelope import unseal_all, unseal_each
from plait.errors import CorruptCheckpointError

HERE = place("thread", "ns", "checkpoint", "channel")

kinds, payloads, parts = st.integers(0, 127), st.binary(max_size=300), st.lists(st.text())


@given(kinds, parts, payloads)
def test_a_record_opens_where_it_was_sealed(kind: int, where: list[str], payload: bytes) -> None:
    assert unseal(place(*where), seal(kind, place(*where), payload)) == (kind, payload)


@given(st.binary(max_size=40), st.integers(0, 255))
def test_every_single_byte_mutation_is_refused(payload: bytes, flip: int) -> None:
    record = seal(3, HERE, payload)
    for at in range(len(record)):
        mutated = bytearray(record)
        mutated[at] ^= flip or 1
        with pytest.raises(CorruptCheckpointError):
            unseal(HERE, bytes(mutated))


def opened_together(kind: int, where: str, record: bytes) -> list[bytes | None]:
    """What opening many at once gives of a record, between right ones, in both ways."""
    names = ["left", where, "rest"]
    places = [place("t", name, "c") for name in names]
    records = [seal(kind, places[0], b"l"), record, seal(kind, places[2], b"r")]
    raw = [place(name) for name in names]
    whole = unseal_all(kind, place("t"), raw, place("c"), records)
    each = unseal_each(kind, places, records)
    assert [whole[0], whole[2]] == [each[0], each[2]] == [b"l", b"r"]
    return [whole[1], each[1]]


@given(st.binary(max_size=40), st.integers(1, 255))
def test_of_many_that_are_opened_at_once_each_must_be_right(payload: bytes, flip: int) -> None:
    record = seal(3, place("t", "here", "c"), payload)
    assert opened_together(3, "here", record) == [payload] * 2
    assert opened_together(3, "else", record) == [None] * 2
    for wrong in (seal(4, place("t", "here", "c"), payload), record[:-1], record + b"x", b""):
        assert opened_together(3, "here", wrong) == [None] * 2
    for at in range(len(record)):
        mutated = bytearray(record)
        mutated[at] ^= flip
        assert opened_together(3, "here", bytes(mutated)) == [None] * 2


@given(payloads)
def test_every_truncation_and_extension_is_refused(payload: bytes) -> None:
    record = seal(3, HERE, payload)
    for size in range(len(record)):
        with pytest.raises(CorruptCheckpointError):
            unseal(HERE, record[:size])
    with pytest.raises(CorruptCheckpointError):
        unseal(HERE, record + b"\0")


@given(parts, parts)
def test_different_places_are_different_bytes_and_refuse_each_other(
    a: list[str], b: list[str]
) -> None:
    if a != b:
        assert place(*a) != place(*b)
        with pytest.raises(CorruptCheckpointError):
            unseal(place(*b), seal(1, place(*a), b"payload"))


@given(st.binary())
def test_foreign_bytes_are_refused(record: bytes) -> None:
    with pytest.raises(CorruptCheckpointError):
        unseal(HERE, record)


def test_the_refusal_says_why() -> None:
    record = seal(1, HERE, b"payload")
    for bad, why in [
        (b"", "truncated"),
        (record[:10], "truncated"),
        (b"SQLite format 3\0", "not written by plait"),
        (record[:3] + b"\x63" + record[4:], "format version 99"),
        (record[:-1] + b"!", "damaged"),
    ]:
        with pytest.raises(CorruptCheckpointError, match=why):
            unseal(HERE, bad)
    with pytest.raises(CorruptCheckpointError, match="moved here"):
        unseal(place("other"), record)


def test_the_flag_bits_are_apart_from_the_kinds() -> None:
    assert ENCRYPTED & COMPRESSED == 0
    kind, _ = unseal(HERE, seal(5 | COMPRESSED, HERE, b""))
    assert kind & ~COMPRESSED == 5
    with pytest.raises(CorruptCheckpointError, match="is encrypted"):
        unseal(HERE, seal(5 | ENCRYPTED, HERE, b""))
