"""Ids as they are stored: no two become one, they come back as they were, and keep their order."""

import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plait.checkpoint.log.keys import pack, texts_of, unpack
from plait.errors import CorruptCheckpointError

CANONICAL = "1ef4f797-8335-6428-8001-8a1503f9b875"
BARE = CANONICAL.replace("-", "")
LIKE_A_UUID = [
    CANONICAL,
    CANONICAL.upper(),
    BARE,
    f"{{{BARE}--}}",
    f"{BARE[:7]}-{BARE[7:12]}-{BARE[12:16]}-{BARE[16:20]}-{BARE[20:]}",
    f"{BARE}----",
    CANONICAL[:-1] + "-",
    CANONICAL[:-1] + "g",
    CANONICAL[:-2] + " 7",
]
OF_ONE_LENGTH = ["a" * 15, "a" * 15 + "\0", "a" * 15 + "\0\0", "a" * 16, "a" * 16 + "\0", "a" * 14]

ids = st.one_of(
    st.uuids().map(str),
    st.text(),
    st.text(alphabet="a\0", min_size=13, max_size=18),
    st.text(alphabet="1f-", min_size=36, max_size=36),
)


@given(st.lists(ids))
@example(LIKE_A_UUID)
@example(OF_ONE_LENGTH)
@example([CANONICAL, str(uuid.UUID(int=0))])
def test_ids_come_back_as_they_were(some: list[str]) -> None:
    assert [unpack(pack(each)) for each in some] == some
    assert texts_of([pack(each) for each in some]) == some


@given(ids, ids)
@example("a" * 15, "a" * 15 + "\0")
@example(LIKE_A_UUID[0], LIKE_A_UUID[4])
def test_no_two_ids_are_one_key(one: str, other: str) -> None:
    assert (pack(one) == pack(other)) == (one == other)


@given(st.uuids(), st.uuids())
def test_keys_of_uuids_sort_as_their_texts(one: uuid.UUID, other: uuid.UUID) -> None:
    assert len(pack(str(one))) == 16
    assert (pack(str(one)) < pack(str(other))) == (str(one) < str(other))


@pytest.mark.parametrize("key", [b"", b"x", b"1" * 17, b"\xff\xfe", b"\xff" + b"\xfe" * 16])
def test_what_is_no_key_is_damage(key: bytes) -> None:
    with pytest.raises(CorruptCheckpointError, match="stored id is damaged"):
        unpack(key)
