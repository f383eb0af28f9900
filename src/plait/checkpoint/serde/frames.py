"""pandas frames, series, indexes, arrays and scalars as columns. pandas is never imported here.

A column is stored by its dtype: numbers and times as numpy's bytes, texts and objects as lists of
values, dtypes of pandas' own by what they are made of. What comes back has equal dtypes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ormsgpack import Ext

from plait.checkpoint.serde.plain import PANDAS, Encoder, Pack, Unpack, known_zone
from plait.errors import UnregisteredTypeError


def pandas_encoder(cls: type) -> Encoder | None:
    """The encoder of a type of pandas, or None if it is not one."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or cls.__module__.partition(".")[0] != "pandas":
        return None
    tell = _told(pandas).get(cls)
    if issubclass(cls, pandas.Index):
        tell = _tell_index
    elif issubclass(cls, pandas.api.extensions.ExtensionArray):
        tell = _tell_array
    if tell is None:
        return None

    def encode(value: Any, pack: Pack) -> Ext:
        return Ext(PANDAS, pack(tell(value)))

    return encode


def decode_pandas(data: bytes, unpack: Unpack) -> Any:
    """What `pandas_encoder` wrote of a value, as the value."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        raise UnregisteredTypeError(
            "A stored value is one of pandas, and pandas is not loaded. Import pandas in the "
            "program that reads this thread."
        )
    kind, *state = unpack(data)
    return _MADE[kind](pandas, *state)


# --- Frames and series ---------------------------------------------------------------------------


def _tell_frame(frame: Any) -> list[Any]:
    columns = [_column(frame.iloc[:, at]) for at in range(frame.shape[1])]
    doubles = frame.flags.allows_duplicate_labels
    names, rows = _tell_index(frame.columns), _tell_index(frame.index)
    return ["frame", names, rows, columns, frame.attrs, doubles]


def _make_frame(
    pandas: Any, columns: Any, index: Any, data: list[Any], attrs: Any, doubles: bool
) -> Any:
    rows = _index(pandas, index)
    held = [pandas.Series(_array(pandas, *column), index=rows) for column in data]
    frame = pandas.DataFrame(dict(enumerate(held)), index=rows)
    frame.columns = _index(pandas, columns)
    return _marked(frame, attrs, doubles)


def _tell_series(series: Any) -> list[Any]:
    doubles = series.flags.allows_duplicate_labels
    rows = _tell_index(series.index)
    return ["series", _column(series), rows, series.name, series.attrs, doubles]


def _make_series(pandas: Any, column: Any, index: Any, name: Any, attrs: Any, doubles: bool) -> Any:
    array = _array(pandas, *column)
    return _marked(pandas.Series(array, index=_index(pandas, index), name=name), attrs, doubles)


def _marked(made: Any, attrs: dict[Any, Any], doubles: bool) -> Any:
    made.attrs = attrs
    return made if doubles else made.set_flags(allows_duplicate_labels=False)


# --- Indexes -------------------------------------------------------------------------------------


def _tell_index(index: Any) -> list[Any]:
    if hasattr(index, "levels"):
        levels = [_tell_index(level) for level in index.levels]
        return ["levels", levels, [*index.codes], [*index.names]]
    if hasattr(index, "start") and hasattr(index, "stop"):
        return ["range", index.start, index.stop, index.step, index.name]
    return ["index", _column(index), index.name, getattr(index, "freqstr", None)]


def _index(pandas: Any, told: list[Any]) -> Any:
    kind, *state = told
    return _INDEXES[kind](pandas, *state)


def _make_levels(pandas: Any, levels: Any, codes: Any, names: Any) -> Any:
    return pandas.MultiIndex([_index(pandas, level) for level in levels], codes, names=names)


def _make_range(pandas: Any, start: int, stop: int, step: int, name: Any) -> Any:
    return pandas.RangeIndex(start, stop, step, name=name)


def _make_index(pandas: Any, column: Any, name: Any, freq: str | None) -> Any:
    array = _array(pandas, *column)
    if freq is not None and column[0] != "periods":
        of = pandas.TimedeltaIndex if array.dtype.kind == "m" else pandas.DatetimeIndex
        return of(array, name=name, freq=freq)
    return pandas.Index(array, name=name, dtype=array.dtype)


_INDEXES: dict[str, Callable[..., Any]] = {
    "index": _make_index,
    "levels": _make_levels,
    "range": _make_range,
}


# --- Columns -------------------------------------------------------------------------------------


def _column(values: Any) -> list[Any]:
    """The values of a series or an index, by their dtype."""
    dtype, array = values.dtype, values.array
    tell = _COLUMNS.get(type(dtype).__name__)
    if tell is not None:
        return tell(array)
    if hasattr(dtype, "numpy_dtype") and hasattr(array, "isna"):
        numbers = array.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return ["masked", numbers, array.isna()]
    if not type(dtype).__module__.startswith("numpy"):
        raise UnregisteredTypeError(
            f"A column of pandas' dtype {dtype!s} cannot be stored. Convert it first, such as by "
            ".astype(object) or .astype('float64')."
        )
    return ["objects", [*array]] if dtype.kind == "O" else ["numpy", values.to_numpy()]


def _tell_array(array: Any) -> list[Any]:
    pandas: Any = sys.modules["pandas"]
    return ["array", _column(pandas.Series(array))]


def _make_array(pandas: Any, column: Any) -> Any:
    return pandas.Series(_array(pandas, *column)).array


def _array(pandas: Any, kind: str, *state: Any) -> Any:
    return _ARRAYS[kind](pandas, *state)


def _tell_texts(array: Any) -> list[Any]:
    texts = [None if missing else text for text, missing in zip(array, array.isna(), strict=True)]
    return ["texts", texts, array.dtype.storage, array.dtype.na_value]


def _make_texts(pandas: Any, texts: list[str | None], storage: str, missing: Any) -> Any:
    if storage == "pyarrow" and "pyarrow" not in sys.modules:
        storage = "python"  # the same texts, held otherwise
    of = (
        pandas.StringDtype(storage)
        if missing is pandas.NA
        else pandas.StringDtype(storage, missing)
    )
    return pandas.array(texts, dtype=of)


def _tell_categories(array: Any) -> list[Any]:
    return ["categories", _tell_index(array.categories), array.codes, array.ordered]


def _make_categories(pandas: Any, categories: Any, codes: Any, ordered: bool) -> Any:
    return pandas.Categorical.from_codes(codes, _index(pandas, categories), ordered=ordered)


def _tell_zoned(array: Any) -> list[Any]:
    return ["zoned", array.tz_convert(None).to_numpy(), _zone(array.tz)]


def _make_zoned(pandas: Any, times: Any, zone: Any) -> Any:
    return pandas.DatetimeIndex(times).tz_localize("UTC").tz_convert(_known(zone)).array


def _zone(zone: Any) -> Any:
    """A time zone; of pytz's, which pandas 2 makes of names, the name."""
    name = getattr(zone, "zone", None)
    return name if type(name) is str else zone


def _known(zone: Any) -> Any:
    """The same, once its name is known to be one: pandas would look for a file of any name."""
    if type(zone) is str:
        known_zone(zone)
    return zone


def _tell_periods(array: Any) -> list[Any]:
    return ["periods", array.astype("int64"), array.freqstr]


def _make_periods(pandas: Any, ordinals: Any, freq: str) -> Any:
    return pandas.PeriodIndex.from_ordinals(ordinals, freq=freq).array


def _tell_intervals(array: Any) -> list[Any]:
    return ["intervals", _column(array.left), _column(array.right), array.closed]


def _make_intervals(pandas: Any, left: Any, right: Any, closed: str) -> Any:
    ends = _array(pandas, *left), _array(pandas, *right)
    return pandas.arrays.IntervalArray.from_arrays(*ends, closed=closed)


def _make_masked(pandas: Any, numbers: Any, missing: Any) -> Any:
    arrays = pandas.arrays
    of = {"b": arrays.BooleanArray, "f": arrays.FloatingArray}
    return of.get(numbers.dtype.kind, arrays.IntegerArray)(numbers, missing)


def _make_objects(pandas: Any, values: list[Any]) -> Any:
    return pandas.Series(values, dtype=object).array


def _make_numpy(pandas: Any, values: Any) -> Any:
    return values


_COLUMNS: dict[str, Callable[[Any], list[Any]]] = {
    "CategoricalDtype": _tell_categories,
    "DatetimeTZDtype": _tell_zoned,
    "IntervalDtype": _tell_intervals,
    "PeriodDtype": _tell_periods,
    "StringDtype": _tell_texts,
}
_ARRAYS: dict[str, Callable[..., Any]] = {
    "categories": _make_categories,
    "intervals": _make_intervals,
    "masked": _make_masked,
    "numpy": _make_numpy,
    "objects": _make_objects,
    "periods": _make_periods,
    "texts": _make_texts,
    "zoned": _make_zoned,
}

# --- Scalars -------------------------------------------------------------------------------------


def _tell_timestamp(at: Any) -> list[Any]:
    plain = at if at.tz is None else at.tz_convert(None)
    return ["timestamp", plain.asm8, _zone(at.tz)]


def _make_timestamp(pandas: Any, when: Any, zone: Any) -> Any:
    at = pandas.Timestamp(when)
    return at if zone is None else at.tz_localize("UTC").tz_convert(_known(zone))


def _tell_timedelta(delta: Any) -> list[Any]:
    return ["timedelta", delta.asm8]


def _make_timedelta(pandas: Any, delta: Any) -> Any:
    return pandas.Timedelta(delta)


def _tell_period(period: Any) -> list[Any]:
    return ["period", period.ordinal, period.freqstr]


def _make_period(pandas: Any, ordinal: int, freq: str) -> Any:
    return pandas.Period(ordinal=ordinal, freq=freq)


def _tell_interval(between: Any) -> list[Any]:
    return ["interval", between.left, between.right, between.closed]


def _make_interval(pandas: Any, left: Any, right: Any, closed: str) -> Any:
    return pandas.Interval(left, right, closed)


def _tell_nat(_: Any) -> list[Any]:
    return ["nat"]


def _make_nat(pandas: Any) -> Any:
    return pandas.NaT


def _tell_na(_: Any) -> list[Any]:
    return ["na"]


def _make_na(pandas: Any) -> Any:
    return pandas.NA


# --- All -----------------------------------------------------------------------------------------


def _told(pandas: Any) -> dict[Any, Callable[[Any], list[Any]]]:
    """By type, what is stored of a value."""
    return {
        pandas.DataFrame: _tell_frame,
        pandas.Series: _tell_series,
        pandas.Timestamp: _tell_timestamp,
        pandas.Timedelta: _tell_timedelta,
        pandas.Period: _tell_period,
        pandas.Interval: _tell_interval,
        type(pandas.NaT): _tell_nat,
        type(pandas.NA): _tell_na,
    }


_MADE: dict[str, Callable[..., Any]] = {
    **_INDEXES,
    "array": _make_array,
    "frame": _make_frame,
    "series": _make_series,
    "timestamp": _make_timestamp,
    "timedelta": _make_timedelta,
    "period": _make_period,
    "interval": _make_interval,
    "nat": _make_nat,
    "na": _make_na,
}
