# SPDX-License-Identifier: Apache-2.0
"""A producer of DLPack for tests: any memory, device, type and strides, with a deleter that counts its calls."""

import ctypes
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p

CPU, CUDA, PINNED, MANAGED = 1, 2, 3, 13
FLOAT = {"f": 2, "i": 0, "u": 1}


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device", c_int32), ("number", c_int32), ("axes", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", ctypes.POINTER(c_int64)), ("strides", ctypes.POINTER(c_int64)),
                ("byte_offset", c_uint64)]


Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", c_void_p), ("deleter", Deleter)]


_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", ctypes.pythonapi))
NAME = ctypes.c_char_p(b"dltensor")


class Producer:
    """An array at `data` with the shape and the number type of numpy's `like`."""

    def __init__(self, like, data, device, number=0, code=None, lanes=1, strides="none", byte_offset=0):
        self.device, self.number, self.deletions, self.streams = device, number, 0, []
        self.ndim = like.ndim
        self._shape = (c_int64 * max(1, like.ndim))(*like.shape)
        if strides == "none":
            self._strides = None
        else:
            self._strides = (c_int64 * max(1, like.ndim))(*strides)
        tensor = Tensor(data - byte_offset, device, number, like.ndim,
                        FLOAT[like.dtype.kind] if code is None else code, 8 * like.dtype.itemsize, lanes,
                        ctypes.cast(self._shape, ctypes.POINTER(c_int64)), None, byte_offset)
        if self._strides is not None:
            tensor.strides = ctypes.cast(self._strides, ctypes.POINTER(c_int64))
        self._deleter = Deleter(self._delete)
        self._managed = Managed(tensor, None, self._deleter)
        self.capsule = None

    def _delete(self, managed):
        assert managed == ctypes.addressof(self._managed)
        self.deletions += 1

    def __dlpack_device__(self):
        return self.device, self.number

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        if self.capsule is None:  # a second call returns the capsule again, used or not
            self.capsule = _new(ctypes.addressof(self._managed), NAME, None)
        return self.capsule
