# SPDX-License-Identifier: Apache-2.0
"""Exports Lists to Arrow libraries by the PyCapsule interface and the C data interface.

https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html. A list column is a
large_list over the library's own offsets and entries, so entries are not copied."""

from __future__ import annotations

import ctypes
import itertools
from ctypes import CFUNCTYPE, c_char_p, c_int, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from .lists import Lists

_NULLABLE = 2
_EIO = 5

_Release = CFUNCTYPE(None, c_void_p)


class ArrowSchema(ctypes.Structure):
    _fields_ = [
        ("format", c_char_p), ("name", c_char_p), ("metadata", c_char_p), ("flags", c_int64),
        ("n_children", c_int64), ("children", c_void_p), ("dictionary", c_void_p),
        ("release", c_void_p), ("private_data", c_void_p),
    ]


class ArrowArray(ctypes.Structure):
    _fields_ = [
        ("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64),
        ("n_children", c_int64), ("buffers", c_void_p), ("children", c_void_p),
        ("dictionary", c_void_p), ("release", c_void_p), ("private_data", c_void_p),
    ]


_GetSchema = CFUNCTYPE(c_int, c_void_p, c_void_p)
_LastError = CFUNCTYPE(c_void_p, c_void_p)


class ArrowArrayStream(ctypes.Structure):
    _fields_ = [
        ("get_schema", _GetSchema), ("get_next", _GetSchema), ("get_last_error", _LastError),
        ("release", c_void_p), ("private_data", c_void_p),
    ]


class _Column(NamedTuple):
    """A column: its Arrow format string, its buffers and its child columns."""

    name: str
    format: str
    length: int
    buffers: list[Optional[npt.NDArray[Any]]]
    children: list[_Column] = []
    null_count: int = 0
    flags: int = 0


def _numbers(name: str, format: str, values: npt.NDArray[Any]) -> _Column:
    return _Column(name, format, len(values), [None, values])


def _nullable(name: str, format: str, values: npt.NDArray[Any], valid: npt.NDArray[Any]) -> _Column:
    return _Column(name, format, len(values), [_bits(valid), values],
                   null_count=int(len(valid) - np.count_nonzero(valid)), flags=_NULLABLE)


def _bits(flags: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.packbits(flags, bitorder="little")


def _nested(name: str, lists: Lists, item: _Column) -> _Column:
    return _Column(name, "+L", len(lists), [None, lists.offsets], [item])


def _columns_of(lists: Lists) -> _Column:
    columns = [
        _numbers("query_id", "L", lists.query_ids),
        _nullable("subject_id", "L", lists.subject_ids, lists.has_subject),
        _Column("is_removed", "b", len(lists), [None, _bits(lists.is_removed)]),
        _Column("is_unknown", "b", len(lists), [None, _bits(lists.is_unknown)]),
        _nested("object_id", lists, _numbers("item", "L", lists.object_ids)),
    ]
    if lists.distances is not None:
        columns.append(_nested("distance", lists, _numbers("item", "g", lists.distances)))
    if lists.positions is not None:
        numbers = _numbers("item", "g", lists.positions.reshape(-1))
        place = _Column("item", "+w:3", len(lists.positions), [None], [numbers])
        columns.append(_nested("position", lists, place))
    if lists.tags is not None:
        columns.append(_nested("tags", lists, _numbers("item", "I", lists.tags)))
    if lists.votes is not None:
        none = np.iinfo(np.int64).min
        columns.append(_nullable("vote", "l", lists.votes, lists.votes != none))
    if lists.means is not None:
        columns.append(_numbers("mean", "g", lists.means))
    return _Column("", "+s", len(lists), [None], columns)


# Keeps alive what each exported struct points to, until its consumer releases the struct. A
# consumer may move a child out of its parent, so each struct has its own entry.
_kept: dict[int, Any] = {}
_keys = itertools.count(1)


def _keep(*things: Any) -> int:
    key = next(_keys)
    _kept[key] = things
    return key


def _pointers(structs: list[Any]) -> Any:
    return (c_void_p * len(structs))(*[ctypes.addressof(struct) for struct in structs])


def _release(kind: Any, where: int) -> None:
    """Releases a struct and its children that were not moved."""
    node = kind.from_address(where)
    for i in range(node.n_children):
        child = c_void_p.from_address(node.children + i * ctypes.sizeof(c_void_p)).value
        assert child is not None
        below = kind.from_address(child)
        if below.release:
            _Release(below.release)(child)
    key = node.private_data
    node.release = None
    _kept.pop(key, None)


def _release_schema(where: int) -> None:
    _release(ArrowSchema, where)


def _release_array(where: int) -> None:
    _release(ArrowArray, where)


def _fill_schema(schema: ArrowSchema, column: _Column) -> None:
    children = [ArrowSchema() for _ in column.children]
    for child, below in zip(children, column.children):
        _fill_schema(child, below)
    format, name, pointers = column.format.encode(), column.name.encode(), _pointers(children)
    schema.format, schema.name, schema.metadata = format, name, None
    schema.flags = column.flags
    schema.n_children, schema.children = len(children), ctypes.addressof(pointers)
    schema.dictionary = None
    schema.private_data = _keep(children, pointers, format, name)
    schema.release = _schema_releaser


def _fill_array(array: ArrowArray, column: _Column) -> None:
    children = [ArrowArray() for _ in column.children]
    for child, below in zip(children, column.children):
        _fill_array(child, below)
    pointers = _pointers(children)
    buffers = (c_void_p * len(column.buffers))(
        *[None if buffer is None else buffer.ctypes.data for buffer in column.buffers])
    array.length, array.null_count, array.offset = column.length, column.null_count, 0
    array.n_buffers, array.buffers = len(buffers), ctypes.addressof(buffers)
    array.n_children, array.children = len(children), ctypes.addressof(pointers)
    array.dictionary = None
    array.private_data = _keep(children, pointers, buffers, column.buffers)
    array.release = _array_releaser


_python = ctypes.PyDLL(None)
_new_capsule = _python.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
_pointer_of = _python.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = c_void_p, [c_void_p, c_char_p]
_name_of = _python.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = c_char_p, [c_void_p]

_KINDS: dict[bytes, Any] = {
    b"arrow_schema": ArrowSchema, b"arrow_array": ArrowArray,
    b"arrow_array_stream": ArrowArrayStream,
}
_names = {kind: name for name, kind in _KINDS.items()}  # capsules point to these texts
_in_capsules: dict[int, Any] = {}


def _destroy_capsule(capsule: int) -> None:
    name = _name_of(capsule)
    where = _pointer_of(capsule, name)
    if _KINDS[name].from_address(where).release:
        _Release(_KINDS[name].from_address(where).release)(where)
    del _in_capsules[where]


def _capsule(struct: Any) -> Any:
    where = ctypes.addressof(struct)
    _in_capsules[where] = struct
    return _new_capsule(where, _names[type(struct)], _capsule_destroyer)


def export_array(lists: Lists) -> tuple[Any, Any]:
    """Returns capsules of the schema and the array."""
    column = _columns_of(lists)
    schema, array = ArrowSchema(), ArrowArray()
    _fill_schema(schema, column)
    _fill_array(array, column)
    return _capsule(schema), _capsule(array)


def export_stream(lists: Lists) -> Any:
    """Returns a capsule of a stream with one batch."""
    stream = ArrowArrayStream()
    stream.get_schema, stream.get_next = _get_schema_pointer, _get_next_pointer
    stream.get_last_error = _get_last_error_pointer
    column = _columns_of(lists)
    stream.private_data = _keep([column], column)
    stream.release = _stream_releaser
    return _capsule(stream)


def _get_schema(where: int, out: int) -> int:
    try:
        _, column = _kept[ArrowArrayStream.from_address(where).private_data]
        _fill_schema(ArrowSchema.from_address(out), column)
    except Exception:  # the caller is C code and takes no exceptions
        return _EIO
    return 0


def _get_next(where: int, out: int) -> int:
    try:
        left, _ = _kept[ArrowArrayStream.from_address(where).private_data]
        array = ArrowArray.from_address(out)
        if left:
            _fill_array(array, left.pop())
        else:
            array.release = None
    except Exception:
        return _EIO
    return 0


def _get_last_error(where: int) -> Optional[int]:
    return None


def _release_stream(where: int) -> None:
    stream = ArrowArrayStream.from_address(where)
    key = stream.private_data
    stream.release = None
    _kept.pop(key, None)


# The functions above as C function pointers, and their addresses. A consumer may call them while
# Python shuts down, after this module is gone, so one more reference keeps each of them for ever.
_get_schema_pointer = _GetSchema(_get_schema)
_get_next_pointer = _GetSchema(_get_next)
_get_last_error_pointer = _LastError(_get_last_error)


def _immortal(function: Any) -> int:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(function))
    where = ctypes.cast(function, c_void_p).value
    assert where is not None
    return where


for _pointer in (_get_schema_pointer, _get_next_pointer, _get_last_error_pointer):
    _immortal(_pointer)
_schema_releaser = _immortal(_Release(_release_schema))
_array_releaser = _immortal(_Release(_release_array))
_stream_releaser = _immortal(_Release(_release_stream))
_capsule_destroyer = _immortal(_Release(_destroy_capsule))
