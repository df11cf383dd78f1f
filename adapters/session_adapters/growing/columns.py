"""Many things of one kind in columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

__all__ = ["InColumns", "RowsInColumns"]

R = TypeVar("R")


class InColumns(Sequence[R]):
    """What there is of a session, each made when it is asked for. As objects 7,000 are three megabytes, made and let
    go of whenever somebody looks at all of them, and what is made meanwhile stands between them: the room is not
    given back."""

    @abstractmethod
    def __len__(self) -> int:
        """How many were put in."""

    @abstractmethod
    def row(self, at: int) -> R:
        """The one before which `at` others were put in."""

    @property
    def places(self) -> range:
        """For each in the order of the session, how many were put in before it."""
        return range(len(self))

    @overload
    def __getitem__(self, index: int) -> R: ...

    @overload
    def __getitem__(self, index: slice) -> list[R]: ...

    def __getitem__(self, index: int | slice) -> R | list[R]:
        found = self.places[index]
        return self.row(found) if isinstance(found, int) else [self.row(at) for at in found]

    def __iter__(self) -> Iterator[R]:
        return map(self.row, self.places)


class RowsInColumns(InColumns[R]):
    """Rows of a database without their texts. They are put in as it gives them, the last one first."""

    @property
    def places(self) -> range:
        """See `InColumns.places`."""
        return range(len(self) - 1, -1, -1)
