"""A conversation in a file that its writer replaces as a whole."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

from session_adapters.model import Message
from session_adapters.reading.damaged_places import reading_session, reason_of
from session_adapters.reading.files import file_stamp
from session_adapters.transcript import Change, Transcript, first_difference

__all__ = ["WholeTranscript"]


class WholeTranscript(Transcript):
    """Subclass and implement `read`; it is asked again when the file has changed."""

    def __init__(self, agent: str, session_id: str, path: str) -> None:
        super().__init__(agent, session_id, path)
        self.complete = True
        self._stamp: tuple[int, ...] = ()
        with reading_session(agent, session_id, path):
            self._load()

    @abstractmethod
    def read(self) -> tuple[list[Message], Sequence[tuple[str, str]]]:
        """All messages, and (place, reason) of what could not be read. Raises `OSError`, or `ValueError` when there
        is nothing to be read."""

    def _load(self) -> None:
        stamp = file_stamp(Path(self.path).stat())
        messages, damaged = self.read()
        self._stamp, self.messages = stamp, messages
        self.problems = [self.problem(reason, place) for place, reason in damaged]

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
            self.problems = [self.problem(f"cannot be read now: {reason_of(error)}")]
            return Change()
        first = first_difference(before, self.messages)
        return Change(first=first, rewritten=first is not None and first < len(before))
