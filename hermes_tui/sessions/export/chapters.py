"""The parts of a conversation for an export, loaded one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hermes_tui.errors import HermesTuiError, ParseError, SessionNotFound
from session_adapters.model import Session

__all__ = ["Chapters"]


class Chapters:
    """Iterate over it once."""

    def __init__(self, parts: Iterable[Callable[[], Session]]) -> None:
        """`parts`: what reads each of them."""
        self._parts = parts
        self.lost: list[HermesTuiError] = []
        """Why some were left out."""

    def __iter__(self) -> Iterator[Session]:
        """Raises what kept the first from being read where none can be."""
        read = 0
        for part in self._parts:
            try:
                session = part()
            except (ParseError, SessionNotFound) as error:
                self.lost.append(error)
                continue
            read += 1
            yield session
        if self.lost and not read:
            raise self.lost[0]
