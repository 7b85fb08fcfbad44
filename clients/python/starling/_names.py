# SPDX-License-Identifier: Apache-2.0
"""Ids of objects, queries and streams' subjects: numbers, or texts that become numbers.

The id of a text is its number if it is decimal, else its XXH64 hash. Each Engine and Client has a
Names, which remembers the texts for display."""

from __future__ import annotations

from typing import Any, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _arrays, _library

Id = Union[int, str]
Ids = npt.NDArray[np.uint64]

_TEXT_BYTES_MAX = 255


def text_id(text: str) -> int:
    """Returns the id of a text: its number if it is decimal, else its XXH64 hash.

    Raises ValueError if the text is empty, has a NUL, or has more than 255 bytes of UTF-8."""
    if not isinstance(text, str):
        raise TypeError(f"text must be a text, not {type(text).__name__}.")
    raw = text.encode()
    if not 1 <= len(raw) <= _TEXT_BYTES_MAX or b"\0" in raw:
        raise ValueError(f"{text!r} is no id: a text has 1 to 255 bytes, and no NUL.")
    return int(_library.library().text_id(raw))


class Names:
    """Remembers the texts that were given as ids."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._texts: dict[int, str] = {}
        self._unsent: list[int] = []

    def __len__(self) -> int:
        return len(self._texts)

    def id_of(self, name: Id) -> int:
        """Returns the id of a number or a text. Raises ValueError if another text has the same
        hash, TypeError if `name` is neither a number nor a text."""
        if isinstance(name, str):
            known = self._ids.get(name)
            return self._add(str(name)) if known is None else known
        if isinstance(name, bool) or not isinstance(name, (int, np.integer)):
            raise TypeError(f"{name!r} is no id: an id is a number of 64 bits or a text.")
        number = int(name)
        if not 0 <= number < 2**64:
            raise ValueError(f"{number} is no id: a number is from 0 to 2^64 - 1.")
        return number

    def text_of(self, number: int) -> str:
        """Returns the text of an id, or the number as a text."""
        return self._texts.get(number, str(number))

    def texts_of(self, numbers: Ids) -> npt.NDArray[np.object_]:
        """Returns the texts of ids, in an array of the same shape."""
        texts = np.empty(numbers.size, dtype=object)
        texts[:] = [self.text_of(number) for number in numbers.ravel().tolist()]
        return texts.reshape(numbers.shape)

    def take_unsent(self) -> list[tuple[int, str]]:
        """Returns ids with texts that this method has not returned before."""
        numbers, self._unsent = self._unsent, []
        return [(number, self._texts[number]) for number in numbers]

    def ids_of(self, names: Any, argument: str = "ids") -> Ids:
        """Returns the ids as a contiguous array of one axis. `names` is one id or an array of
        integers or texts. Raises ValueError or TypeError that names `argument`."""
        if isinstance(names, (list, tuple)) and names and isinstance(names[0], str):
            return self._from_objects(names)
        array = np.atleast_1d(_arrays.as_array(names))
        if array.ndim != 1:
            raise ValueError(f"{argument} must have one axis, not the shape {array.shape}.")
        if array.dtype.kind in "iu":
            return _from_integers(array, argument)
        if array.dtype.kind in "UO":
            return self._from_objects(array.tolist())
        if array.size == 0:  # [] becomes an array of floats
            return np.empty(0, dtype=np.uint64)
        raise TypeError(f"{argument} must be integers or texts, not {array.dtype}.")

    def _from_objects(self, names: Sequence[Any]) -> Ids:
        known = self._ids
        try:
            numbers = [known[name] for name in names]
        except (KeyError, TypeError):  # a new text, a number, or no id
            numbers = [self.id_of(name) for name in names]
        return np.array(numbers, dtype=np.uint64)

    def _add(self, text: str) -> int:
        number = text_id(text)
        if not (text.isascii() and text.isdecimal()):
            other = self._texts.setdefault(number, text)
            if other != text:
                raise ValueError(f"{text!r} and {other!r} have the same hash. Rename one of them.")
            self._unsent.append(number)
        self._ids[text] = number
        return number


def _from_integers(array: npt.NDArray[Any], argument: str) -> Ids:
    if array.dtype.kind == "i":
        if array.size and array.min() < 0:
            row = int(np.argmax(array < 0))
            raise ValueError(f"{argument}[{row}] is {array[row]}; ids are not negative.")
        if array.dtype == np.int64:  # not negative, so the bits are the same
            return np.ascontiguousarray(array).view(np.uint64)
    return np.ascontiguousarray(array, dtype=np.uint64)
