"""A conversation in a file that its writer replaces as a whole, and that is read as a whole."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

from session_adapters.base import SessionMissing, SessionUnreadable
from session_adapters.model import Message, Problem
from session_adapters.reading.files import file_stamp
from session_adapters.transcript import Change, Transcript, first_difference

__all__ = ["WholeTranscript"]


class WholeTranscript(Transcript):
    """Subclass and implement `read`; it is asked again when the file has changed."""

    def __init__(self, agent: str, session_id: str, path: str) -> None:
        super().__init__(agent, session_id, path)
        self.complete = True
        self._stamp: tuple[int, ...] = ()
        try:
            self._load()
        except FileNotFoundError as error:
            raise SessionMissing(f"{agent} session {session_id}: {path} is not there any more") from error
        except (OSError, ValueError) as error:
            raise SessionUnreadable(f"cannot read {path}: {_reason(error)}") from error

    @abstractmethod
    def read(self) -> tuple[list[Message], Sequence[tuple[str, str]]]:
        """All messages, and (place, reason) of what could not be read. Raises `OSError`, or `ValueError` when there
        is nothing to be read."""

    def _load(self) -> None:
        stamp = file_stamp(Path(self.path).stat())
        messages, damaged = self.read()
        self._stamp, self.messages = stamp, messages
        self.problems = [self._problem(reason, place) for place, reason in damaged]

    def _problem(self, reason: str, place: str = "") -> Problem:
        return Problem(agent=self.agent, path=self.path, reason=reason, place=place, session_id=self.session_id)

    def earlier(self) -> int:
        """See `Transcript.earlier`."""
        return 0

    def refresh(self) -> Change:
        """See `Transcript.refresh`."""
        before = self.messages
        try:
            if file_stamp(Path(self.path).stat()) == self._stamp:
                return Change()
            self._load()
        except FileNotFoundError:
            return Change(gone=True)
        except (OSError, ValueError) as error:
            self.problems = [self._problem(f"cannot be read now: {_reason(error)}")]
            return Change()
        first = first_difference(before, self.messages)
        return Change(first=first, rewritten=first is not None and first < len(before))


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
