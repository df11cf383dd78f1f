"""Many ids in little memory."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator

__all__ = ["Ids"]

_TRIES = 64
"""Places that are looked at for one id: it may be part of any number of others."""


class Ids:
    """Texts by their index, behind each other in one piece of memory: 7,000 ids of 36 characters are 250 kB, as
    objects 600, each in a place of its own."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._ends = array("Q")

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: int) -> str:
        end = self._ends[index]  # raises where there is none
        return self._text[self._ends[index - 1] if index else 0 : end].decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def find(self, one: str) -> int | None:
        """Where it stands last. Raises `OverflowError` where that would take long to tell."""
        wanted = one.encode("utf-8", "surrogatepass")
        end = len(self._text)
        for _ in range(_TRIES if wanted else 0):
            at = self._text.rfind(wanted, 0, end)
            if at < 0:
                return None
            index = bisect_right(self._ends, at)
            if self[index] == one:
                return index
            end = at + len(wanted) - 1  # part of another one, or of two
        raise OverflowError("it is part of too many others")

    def append(self, one: str) -> None:
        """Take in the next one."""
        self._text += one.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._text))
