"""A database of sessions: short transactions, whatever engine runs them."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, TypeVar

__all__ = ["Dialect", "Rows", "SqlDatabase", "Statements"]

T = TypeVar("T")
Dialect = Literal["sqlite", "postgres"]
Rows = list[tuple[Any, ...]]


class Statements(ABC):
    """A transaction. `?` stands for a parameter."""

    rows_read: int = 0
    """Rows that its statements gave so far."""

    @abstractmethod
    def run(self, query: str, *parameters: object) -> Rows:
        """The rows of one statement. Raises the engine's errors."""

    @abstractmethod
    def run_many(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """The same statement for each row of parameters."""

    @abstractmethod
    def columns(self, table: str) -> frozenset[str]:
        """The names of a table's columns; empty when there is none."""

    @abstractmethod
    def keys(self, table: str) -> frozenset[str]:
        """The columns of its primary key."""


class SqlDatabase(ABC):
    """Where sessions are. Safe to use from many threads."""

    dialect: ClassVar[Dialect]
    label: str
    """What people are shown: a path or an address, never with a password."""
    is_read_only: bool

    def __init__(self) -> None:
        self.rows_read = 0
        """Rows that all statements together gave: what a load costs can be counted."""
        self._counting = threading.Lock()

    @abstractmethod
    def read(self, work: Callable[[Statements], T]) -> T:
        """What `work` returns; it sees one state of the database and may be called several times. Raises
        `StoreError`."""

    @abstractmethod
    def write(self, work: Callable[[Statements], T]) -> T:
        """What `work` returns, in a transaction that no other writer runs beside: where it raises, nothing is
        written. Raises `StoreBusy` and `StoreError`."""

    @abstractmethod
    def close(self) -> None:
        """Give the connections back. Nothing can be asked afterwards."""

    def count(self, statements: Statements) -> None:
        """Add what a transaction read."""
        with self._counting:
            self.rows_read += statements.rows_read
