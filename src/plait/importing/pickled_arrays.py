"""numpy arrays and scalars as pickles have them: calls of numpy's own functions, read as data."""

from __future__ import annotations

from typing import Any, NamedTuple

from plait.importing.calls import Array, damaged

_CORE = ("numpy._core", "numpy.core")


class Found(NamedTuple):
    """An array, or the only item of one."""

    array: Array
    alone: bool


def numpy_in(module: str, name: str, args: Any, state: Any) -> Found | None:
    """What a pickle makes by a call, if it is an array or scalar of numpy's.

    Args:
        module: Where what it calls is.
        name: What that is called.
        args: What it is given.
        state: What the object is told afterwards (None: nothing).

    Raises:
        CorruptCheckpointError: It is one of these, but of no plain form.
    """
    core, _, rest = module.rpartition(".")
    if core not in _CORE or (rest, name) not in _FORMS:
        return None
    try:
        return _FORMS[rest, name](args, state)
    except (AttributeError, TypeError, ValueError) as error:
        raise damaged(f"a numpy value of a form that is not known ({error})") from error


def _scalar(args: Any, state: Any) -> Found:
    dtype, data = args
    return Found(Array(_dtype(dtype), (), "C", data), alone=True)


def _array(args: Any, state: Any) -> Found:
    _class(args[0])
    _, shape, dtype, columns_first, data = state
    return Found(Array(_dtype(dtype), shape, "F" if columns_first else "C", data), alone=False)


def _buffer(args: Any, state: Any) -> Found:
    data, dtype, shape, order = args
    return Found(Array(_dtype(dtype), shape, order, data), alone=False)


_FORMS: dict[tuple[str, str], Any] = {
    ("multiarray", "scalar"): _scalar,
    ("multiarray", "_reconstruct"): _array,
    ("numeric", "_frombuffer"): _buffer,
}


def _class(named: Any) -> None:
    if tuple(named) != ("numpy", "ndarray"):  # a subclass says more than its data
        raise ValueError(f"class {'.'.join(named)}")


def _dtype(made: Any) -> str:
    """A dtype as numpy spells it: "<i8", "|b1", "<M8[15m]"."""
    if tuple(made.name) != ("numpy", "dtype"):
        raise ValueError(f"dtype {'.'.join(made.name)}")
    kind, (version, order, *_) = made.args[0], made.state
    if version != 4:
        return f"{order}{kind}"
    unit, count, *_ = made.state[-1][1]
    return f"{order}{kind}[{count if count != 1 else ''}{unit.decode()}]"


__all__ = ["Found", "numpy_in"]
