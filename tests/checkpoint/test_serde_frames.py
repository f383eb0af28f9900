"""pandas frames, series, indexes and scalars come back as they were, from a closed set of parts."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal, assert_index_equal, assert_series_equal

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde import Codec, frames
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import CorruptCheckpointError, UnregisteredTypeError
from plait.func import entrypoint
from plait.graph import START, StateGraph

CODEC = Codec()
COLUMNS: dict[str, Any] = {
    "whole": [1, 2, 3],
    "float": [1.5, None, 3.0],
    "text": ["a", None, "c"],
    "mixed": pd.Series([1, ("x", b"y"), None], dtype=object),
    "missing": pd.Series([pd.NA, pd.NaT, np.nan], dtype=object),
    "truth": [True, False, True],
    "small": np.array([1, 2, 3], "u1"),
    "complex": np.array([1, 2, 3], "c8"),
    "time": pd.date_range("2026-01-01", periods=3),
    "seconds": pd.date_range("2026-01-01", periods=3).as_unit("s"),
    "zoned": pd.date_range("2026-03-28", periods=3, tz="Europe/Rome"),
    "utc": pd.date_range("2026-03-28", periods=3, tz="UTC"),
    "offset": pd.date_range("2026-03-28", periods=3, tz="+02:00"),
    "delta": pd.to_timedelta([1, 2, None], unit="s"),
    "category": pd.Categorical(["a", "b", None], categories=["b", "a"], ordered=True),
    "Int32": pd.array([1, None, 3], dtype="Int32"),
    "boolean": pd.array([True, None, False], dtype="boolean"),
    "Float64": pd.array([1.5, None, 3.0], dtype="Float64"),
    "string": pd.array(["x", None, "z"], dtype="string"),
    "period": pd.period_range("2026-01", periods=3, freq="M"),
    "interval": pd.interval_range(0, 3, closed="left"),
}
TABLE = pd.DataFrame(COLUMNS)
FRAMES: list[pd.DataFrame] = [
    TABLE,
    *(TABLE.set_index(name) for name in COLUMNS if name not in ("mixed", "missing")),
    TABLE.set_index(["whole", "text", "zoned"]),
    TABLE[[]], TABLE.iloc[:0], pd.DataFrame(),
    pd.DataFrame(np.ones((2, 4)), columns=pd.MultiIndex.from_product([["a", "b"], [1, 2]])),
    pd.DataFrame([[1, 2]], columns=["a", "a"]),
    pd.DataFrame({1: [1], ("a", 2): [2]}),
    TABLE[::2],
]  # fmt: skip
INDEXES: list[pd.Index] = [
    pd.RangeIndex(3, 9, 2, name="r"), pd.Index([1, 2], name=("a", 1)), pd.Index([1, "a"]),
    pd.date_range("2026-01-01", periods=3, freq="2h", tz="UTC"),
    pd.date_range("2026-01-01", periods=2, freq="MS"), pd.timedelta_range("1h", periods=3),
    pd.Index([1.5], dtype="float32"),
]  # fmt: skip
SCALARS: list[Any] = [
    pd.Timestamp("2026-01-01 00:00:00.123456789"), pd.Timestamp("2026-01-01").as_unit("s"),
    pd.Timestamp("2026-10-25 00:30", tz="UTC").tz_convert("Europe/Rome"), pd.Timedelta("1ns"),
    pd.Period("2026-01", "M"), pd.Interval(0, 1, "left"),
]  # fmt: skip


def back(value: Any) -> Any:
    return CODEC.loads(CODEC.dumps(value))


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: "-".join(map(str, frame.index.names)))
def test_frames_come_back_with_their_dtypes_and_indexes(frame: pd.DataFrame) -> None:
    found = back(frame)
    assert_frame_equal(found, frame)
    assert [*map(str, found.dtypes)] == [*map(str, frame.dtypes)]
    assert type(found.index) is type(frame.index)
    assert type(found.columns) is type(frame.columns)
    assert CODEC.dumps(found) == CODEC.dumps(frame)


@pytest.mark.parametrize("name", COLUMNS)
def test_series_come_back_within_other_values(name: str) -> None:
    series = TABLE[name]
    found = back([{"held": (series,)}])[0]["held"][0]
    assert_series_equal(found, series)
    assert found.name == name


@pytest.mark.parametrize("name", COLUMNS)
def test_arrays_come_back_without_a_series_around_them(name: str) -> None:
    array: Any = TABLE[name].array
    found = back({"array": array})["array"]
    assert type(found) is type(array)
    assert_series_equal(pd.Series(found), pd.Series(array))


@pytest.mark.parametrize("index", INDEXES)
def test_indexes_come_back_with_names_and_frequencies(index: pd.Index) -> None:
    found = back(index)
    assert_index_equal(found, index)
    assert type(found) is type(index)
    assert getattr(found, "freq", None) == getattr(index, "freq", None)


@pytest.mark.parametrize("value", SCALARS, ids=repr)
def test_scalars_come_back_exactly(value: Any) -> None:
    found = back(value)
    assert (found, type(found)) == (value, type(value))
    for detail in ("unit", "tz", "freqstr", "closed"):
        assert getattr(found, detail, None) == getattr(value, detail, None)


def test_what_is_missing_comes_back_as_what_it_was() -> None:
    found = back([pd.NaT, pd.NA])
    assert found[0] is pd.NaT
    assert found[1] is pd.NA


def test_what_a_frame_says_of_itself_comes_back() -> None:
    frame = pd.DataFrame({"a": [1]})
    frame.attrs = {"source": ("mail", 1)}
    assert back(frame).attrs == {"source": ("mail", 1)}
    assert not back(frame.set_flags(allows_duplicate_labels=False)).flags.allows_duplicate_labels


def test_what_came_back_can_be_changed() -> None:
    frame = back(TABLE)
    frame.loc[0, "whole"] = 9
    frame["more"] = frame["float"].fillna(0)
    assert frame["whole"].tolist() == [9, 2, 3]


class Named(pd.DataFrame):
    """A class of the program's."""


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (pd.Series(pd.arrays.SparseArray([0, 1])), r"dtype Sparse.* Convert it first"),
        (pd.Series([object()], dtype=object), "object"),
        (Named({"a": [1]}), "Named"),
    ],
    ids=["sparse", "objects", "subclass"],
)
def test_what_cannot_be_stored_is_refused_with_what_to_do(value: Any, said: str) -> None:
    with pytest.raises(UnregisteredTypeError, match=said):
        CODEC.dumps([value])


# --- In graphs ------------------------------------------------------------------------------------


class State(TypedDict, total=False):
    table: pd.DataFrame
    rows: Annotated[pd.DataFrame, lambda old, new: pd.concat([old, new], ignore_index=True)]
    parts: Annotated[list[pd.Series], lambda old, new: old + new]


def clean(state: State) -> Any:
    state["table"].loc[0, "x"] = 9  # in place
    return {"table": state["table"], "rows": pd.DataFrame({"x": [2]}), "parts": [pd.Series([1])]}


def widen(state: State) -> Any:
    return {"table": state["table"].assign(y=1), "parts": [pd.Series([2])]}


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
    else:
        with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as made:
            yield made


def test_frames_in_a_state_are_stored_as_they_were_at_each_step(saver: Any) -> None:
    builder = StateGraph(State).add_sequence([clean, widen]).add_edge(START, "clean")
    config: Any = {"configurable": {"thread_id": "1"}}
    given: Any = {"table": pd.DataFrame({"x": [1, 2]}), "rows": pd.DataFrame({"x": [1]})}
    builder.compile(checkpointer=saver).invoke(given, config)

    graph = builder.compile(checkpointer=saver)
    graph.update_state(config, {"rows": pd.DataFrame({"x": [3]})})
    steps = [snapshot.values for snapshot in graph.get_state_history(config)][::-1]
    assert [_cells(step.get("table")) for step in steps[1:]] == [
        {"x": [1, 2]}, {"x": [9, 2]}, {"x": [9, 2], "y": [1, 1]}, {"x": [9, 2], "y": [1, 1]},
    ]  # fmt: skip
    assert [_cells(step.get("rows")) for step in steps[1:]] == [
        {"x": [1]}, {"x": [1, 2]}, {"x": [1, 2]}, {"x": [1, 2, 3]},
    ]  # fmt: skip
    assert [part.tolist() for part in steps[-1]["parts"]] == [[1], [2]]


def _cells(frame: Any) -> Any:
    return frame.to_dict("list")


def test_a_frame_may_be_all_that_an_entrypoint_takes_gives_and_remembers(saver: Any) -> None:
    @entrypoint(checkpointer=saver)
    def grow(frame: pd.DataFrame, *, previous: pd.DataFrame | None = None) -> pd.DataFrame:
        return frame if previous is None else pd.concat([previous, frame], ignore_index=True)

    config: Any = {"configurable": {"thread_id": uuid.uuid4().hex}}
    grow.invoke(pd.DataFrame({"x": [1, 2]}), config)
    assert _cells(grow.invoke(pd.DataFrame({"x": [3]}), config)) == {"x": [1, 2, 3]}


# --- Bytes ----------------------------------------------------------------------------------------


def test_a_zone_that_bytes_name_is_never_looked_for_in_files() -> None:
    for zone in ("dateutil//etc/passwd", "../../etc/passwd", "no/where"):
        with pytest.raises(CorruptCheckpointError, match="time zone"):
            frames._make_zoned(pd, np.array([0], "M8[ns]"), zone)


READ = """
import sys
sys.modules["pandas"] = None  # an import of it would fail
from plait.checkpoint.serde import Codec
from plait.errors import UnregisteredTypeError
try:
    Codec().loads(bytes.fromhex(sys.stdin.read()))
except UnregisteredTypeError as error:
    assert "Import pandas" in str(error)
else:
    raise AssertionError("it was read")
"""


def test_a_program_without_pandas_is_told_to_import_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ], input=CODEC.dumps(TABLE).hex(), capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
