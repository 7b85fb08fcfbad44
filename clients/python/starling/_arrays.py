# SPDX-License-Identifier: Apache-2.0
"""Turns arguments into contiguous arrays for the library, and memory of the library into arrays.

Each function raises ValueError or TypeError with a sentence that names the argument."""

from __future__ import annotations

import datetime
import time
from typing import Any, Iterator, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _dlpack

# A time: whole microseconds since an epoch, datetime64, or datetime (without a zone: UTC).
Time = Union[int, np.integer, np.datetime64, datetime.datetime]
# A duration: whole microseconds, timedelta64, or timedelta.
Duration = Union[int, np.integer, np.timedelta64, datetime.timedelta]
Reals = Union[npt.NDArray[np.float32], npt.NDArray[np.float64]]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)
_BLOCK_BYTES = 4 << 20


def now_us() -> int:
    """Returns the wall clock in microseconds since 1970."""
    return time.time_ns() // 1000


def address(array: Optional[npt.NDArray[Any]]) -> Optional[int]:
    """Returns the address of the first entry of a contiguous array; None for None."""
    return None if array is None else array.ctypes.data


def refuse_masked(values: Any, argument: str) -> None:
    """Raises ValueError if a value of a masked array is masked."""
    if isinstance(values, np.ma.MaskedArray):
        places = np.argwhere(np.broadcast_to(values.mask, values.shape))
        if len(places):
            where = ", ".join(str(place) for place in places[0])
            raise ValueError(
                f"{argument} has {len(places)} masked values, the first one at [{where}]. Fill or "
                "remove them.")


def to_reals(values: Any, argument: str, axes: int) -> Reals:
    """Returns numbers as contiguous float32 if float32 holds all numbers of their type, else as
    contiguous float64."""
    refuse_masked(values, argument)
    if hasattr(values, "toarray"):
        raise TypeError(f"{argument} is sparse; pass a dense array, such as {argument}.toarray().")
    try:
        array = as_array(values)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        raise TypeError(f"{argument} must be an array of real numbers: {error}.") from error
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{argument} must be real numbers, not {array.dtype}.")
    if array.ndim != axes:
        raise ValueError(f"{argument} must have {axes} axes, not the shape {array.shape}.")
    return to_contiguous(array, floats_for(array.dtype))


def slices_of(array: npt.NDArray[Any]) -> Iterator[slice]:
    """Yields slices of the first axis, a few megabytes each, so that Ctrl-C works between
    slices."""
    step = max(1, _BLOCK_BYTES // max(1, array[:1].nbytes))
    for first in range(0, len(array), step):
        yield slice(first, first + step)


def to_copy(array: npt.NDArray[Any], dtype: Any = None) -> npt.NDArray[Any]:
    """Returns a contiguous copy, made slice by slice."""
    copied = np.empty(array.shape, array.dtype if dtype is None else dtype)
    for block in slices_of(array):
        copied[block] = array[block]
    return copied


def to_contiguous(array: npt.NDArray[Any], dtype: Any) -> npt.NDArray[Any]:
    """Returns the array itself if it is contiguous and of this type, else a copy."""
    if array.dtype == dtype and array.flags.c_contiguous:
        return array
    return to_copy(array, dtype)


def floats_for(dtype: np.dtype[Any]) -> Union[type[np.float32], type[np.float64]]:
    """Returns float32 if it holds all numbers of the type, else float64."""
    return np.float32 if np.can_cast(dtype, np.float32) else np.float64


def on_the_host(values: Any) -> Any:
    """Returns an array of another library as a numpy array by DLPack, copied to the host if it is
    on a GPU. Returns any other value as it is."""
    if not isinstance(values, np.ndarray) and hasattr(values, "__dlpack_device__"):
        return _dlpack.to_numpy(values)
    return values


def as_array(values: Any) -> npt.NDArray[Any]:
    """Returns any value as a numpy array on the host."""
    return np.asarray(on_the_host(values))


def to_vectors(values: Any, argument: str, dimension: Optional[int] = None) -> Reals:
    """Returns contiguous rows of shape (count, dimension), as to_reals does."""
    array = to_reals(values, argument, 2)
    if dimension is not None and array.shape[1] != dimension:
        raise ValueError(f"{argument} has {array.shape[1]} columns instead of {dimension}.")
    return array


def to_float32(array: Reals) -> npt.NDArray[np.float32]:
    """Rounds to float32. Finite numbers beyond its range become infinite, and the library refuses
    those."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def to_integers(
    values: Any, dtype: type[np.integer[Any]], count: int, argument: str
) -> npt.NDArray[Any]:
    """Returns `count` integers of this type; one integer stands for all, and True for 1."""
    array = as_array(values)
    if array.dtype.kind not in "iub" and array.size:
        raise TypeError(f"{argument} must be integers, not {array.dtype}.")
    limits = np.iinfo(dtype)
    if array.size and (int(array.min()) < limits.min or int(array.max()) > limits.max):
        raise ValueError(f"{argument} must be from {limits.min} to {limits.max}.")
    return _spread(array, dtype, count, argument)


def to_floats(values: Any, count: int, argument: str) -> npt.NDArray[np.float64]:
    """Returns `count` numbers as float64; one number stands for all."""
    array = as_array(values)
    if array.dtype.kind not in "iuf" and array.size:
        raise TypeError(f"{argument} must be numbers, not {array.dtype}.")
    return _spread(array, np.float64, count, argument)


def _spread(array: npt.NDArray[Any], dtype: Any, count: int, argument: str) -> npt.NDArray[Any]:
    if array.ndim == 0:
        return np.full(count, array, dtype=dtype)
    if array.shape != (count,):
        raise ValueError(f"{argument} must have the shape ({count},), not {array.shape}.")
    return np.ascontiguousarray(array, dtype=dtype)


def to_time_us(value: Any, argument: str) -> int:
    """Returns one time in microseconds."""
    if isinstance(value, datetime.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
        return (aware - _EPOCH) // _MICROSECOND
    return int(_to_microseconds(value, "M", "a datetime64", argument))


def to_times_us(values: Any, count: int, argument: str) -> npt.NDArray[np.int64]:
    """Returns `count` times in microseconds; one time stands for all, and None for now."""
    if values is None:
        return np.full(count, now_us(), dtype=np.int64)
    if isinstance(values, datetime.datetime):
        values = to_time_us(values, argument)
    array = as_array(values)
    if array.dtype.kind == "O":
        array = np.array([to_time_us(value, argument) for value in array.tolist()], dtype=np.int64)
    return _spread(_to_microseconds(array, "M", "datetime64", argument), np.int64, count, argument)


def to_durations_us(values: Any, count: int, argument: str, none: int) -> npt.NDArray[np.int64]:
    """Returns `count` durations in microseconds; one stands for all, and None for `none`."""
    return _spread(np.asarray(to_duration_us(values, argument, none)), np.int64, count, argument)


def to_duration_us(value: Any, argument: str, none: int) -> Any:
    """Returns a duration, or an array of them, in microseconds; `none` for None."""
    if value is None:
        return none
    if isinstance(value, datetime.timedelta):
        return value // _MICROSECOND
    return _to_microseconds(value, "m", "a timedelta64", argument)


def _to_microseconds(value: Any, kind: str, other: str, argument: str) -> npt.NDArray[np.int64]:
    array = as_array(value)
    if array.dtype.kind == kind:
        if np.isnat(array).any():
            raise ValueError(f"{argument} has a NaT; each must be a time.")
        array = array.astype(f"{kind}8[us]").view(np.int64)
    elif array.dtype.kind not in "iu" and array.size:
        raise TypeError(
            f"{argument} must be whole microseconds or {other}, not {array.dtype}.")
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        raise ValueError(f"{argument} is beyond the range of times.")
    return array.astype(np.int64, copy=False)


class _Memory:
    """Memory of the library, for numpy. `owner` must keep it alive."""

    def __init__(self, where: int, shape: tuple[int, ...], dtype: np.dtype[Any], owner: object):
        self.owner = owner
        self.__array_interface__ = {
            "version": 3, "data": (where, True), "shape": shape, "typestr": dtype.str}


def view(
    where: Optional[int], shape: tuple[int, ...], dtype: Any, owner: object
) -> npt.NDArray[Any]:
    """Returns a read-only array of the library's memory. The array keeps `owner` alive."""
    kind = np.dtype(dtype)
    if not where or 0 in shape:
        empty = np.empty(shape, dtype=kind)
        empty.flags.writeable = False
        return empty
    return np.asarray(_Memory(where, shape, kind, owner))
