# SPDX-License-Identifier: Apache-2.0
"""Reads arrays of other libraries by DLPack, and copies arrays in a GPU's memory to the host.

`_arrays` calls it. The structs are those of DLPack's dlpack.h, before its version 1."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _library
from .errors import check

# DLPack's device types. numpy reads the host's memory, and page-locked memory of CUDA and ROCm.
_HOST = (1, 3, 11)
_CUDA, _CUDA_MANAGED = 2, 13
# numpy's kind of number for each type code of DLPack.
_KINDS = {0: "i", 1: "u", 2: "f"}
# The legacy default stream of CUDA, in which libstarling copies.
_LEGACY_STREAM = 1


class _Device(ctypes.Structure):
    _fields_ = [("kind", c_int32), ("number", c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p), ("device", _Device), ("axes", c_int32), ("type", _Type),
        ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Managed._fields_ = [
    ("tensor", _Tensor), ("context", c_void_p),
    ("deleter", ctypes.CFUNCTYPE(None, POINTER(_Managed))),
]

_api = ctypes.pythonapi
_pointer_of = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api))
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", _api))
_USED = b"used_dltensor"  # a global, because the capsule only points to its name


def to_numpy(values: Any) -> npt.NDArray[Any]:
    """Returns an array of the host: without a copy if `values` is in the host's memory, else a copy.

    Raises TypeError if its device, type or layout cannot be read, StarlingError if the library has
    no CUDA engine."""
    device, number = values.__dlpack_device__()
    if device in _HOST:
        return np.from_dlpack(values)
    if device not in (_CUDA, _CUDA_MANAGED):
        raise TypeError(
            f"it is on a device of DLPack's kind {int(device)}, which Starling cannot read; copy it "
            "to the host first")
    capsule = values.__dlpack__(stream=_LEGACY_STREAM)
    if not _is_valid(capsule, b"dltensor"):
        raise TypeError("its __dlpack__ returned no DLPack capsule, or one that was used before")
    managed = ctypes.cast(_pointer_of(capsule, b"dltensor"), POINTER(_Managed))
    # A renamed capsule does not call the deleter, so this function calls it.
    _set_name(capsule, _USED)
    try:
        return _copied(managed.contents.tensor, int(number))
    finally:
        if managed.contents.deleter:
            managed.contents.deleter(managed)


def _copied(tensor: _Tensor, number: int) -> npt.NDArray[Any]:
    shape = tuple(tensor.shape[axis] for axis in range(tensor.axes))
    kind = _KINDS.get(tensor.type.code)
    if kind is None or tensor.type.lanes != 1 or tensor.type.bits not in (8, 16, 32, 64) or (
            kind == "f" and tensor.type.bits == 8):
        raise TypeError(
            f"its numbers are of DLPack's type {tensor.type.code} with {tensor.type.bits} bits; pass "
            "integers, float16, float32 or float64")
    if tensor.strides and not _is_contiguous(tensor, shape):
        raise TypeError("it is not contiguous row after row; pass a contiguous copy")
    array = np.empty(shape, dtype=np.dtype(f"{kind}{tensor.type.bits // 8}"))
    if array.nbytes:
        check(_library.library().copy_from_device(
            array.ctypes.data, (tensor.data or 0) + tensor.byte_offset, array.nbytes, number))
    return array


def _is_contiguous(tensor: _Tensor, shape: tuple[int, ...]) -> bool:
    """Returns whether the strides, in elements, are those of dense rows. An axis of length 1 may
    have any stride."""
    if 0 in shape:
        return True
    dense = 1
    for axis in reversed(range(len(shape))):
        if shape[axis] != 1 and tensor.strides[axis] != dense:
            return False
        dense *= shape[axis]
    return True
