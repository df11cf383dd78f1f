"""Rows of a database in columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

__all__ = ["RowsInColumns"]

R = TypeVar("R")


class RowsInColumns(Sequence[R]):
    """The rows of a session without what is in them, each made when it is asked for. As objects 7,000 are three
    megabytes, made and let go of whenever somebody looks at all of them, and what is made meanwhile stands between
    them: the room is not given back.

    They are put in as a database gives them, the last one first, where `places` says nothing else."""

    @abstractmethod
    def __len__(self) -> int:
        """How many were put in."""

    @abstractmethod
    def row(self, at: int) -> R:
        """The one before which `at` others were put in."""

    @property
    def places(self) -> range:
        """For each in the order of the session, how many were put in before it."""
        return range(len(self) - 1, -1, -1)

    @overload
    def __getitem__(self, index: int) -> R: ...

    @overload
    def __getitem__(self, index: slice) -> list[R]: ...

    def __getitem__(self, index: int | slice) -> R | list[R]:
        found = self.places[index]
        return self.row(found) if isinstance(found, int) else [self.row(at) for at in found]

    def __iter__(self) -> Iterator[R]:
        return map(self.row, self.places)
