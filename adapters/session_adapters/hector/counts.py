"""What a list shows of one session of Hector's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import PurePath

from msgspec.structs import replace

from session_adapters.hector import ids
from session_adapters.hector.layout import HectorFacts
from session_adapters.hector.messages import role_of
from session_adapters.hector.reader import HectorReader, moment
from session_adapters.hector.records import HectorMark
from session_adapters.model import EPOCH, Message, SessionSummary
from session_adapters.session_counts import SessionFold
from session_adapters.text import one_line

__all__ = ["HectorFold", "is_prompt", "is_waiting", "shown"]

_WAITS = "Waits for input"


class HectorFold(SessionFold):
    """Counts over the rows of a session. Those that are counted in another session of the same id too are copies."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0
        self.errors = 0
        self.interrupted = 0
        self.warnings = 0
        self.waits = False
        """The last thing that Hector noted is that it waits for input."""

    def add(self, messages: Iterable[Message]) -> None:
        """Take in the messages of the next row."""
        some = list(messages)
        super().add(some)
        self.rows += 1
        for message in some:
            self.errors += message.kind == "error"
            self.interrupted += message.kind == "notice" and message.content == "Interrupted"
            self.waits = is_waiting(message)

    def glance(self, marks: Sequence[HectorMark], reader: HectorReader, *, shared: bool) -> HectorMark | None:
        """Count rows by who speaks; the row of the first prompt."""
        prompt: HectorMark | None = None
        for mark in marks:
            asks = is_prompt(mark)
            role = role_of(mark.role)
            self.rows += 1
            self.inherited += shared
            self.step(role, "message" if asks or role == "assistant" else "notice")
            if (when := moment(mark.time, reader.zone)) is not None:
                self.note_time(when)
            prompt = prompt or (mark if asks else None)
        return prompt

    def summary(self, facts: HectorFacts, path: str, session_id: str, *, partial: bool = False) -> SessionSummary:
        """The summary."""
        created = facts.created or self.oldest or facts.updated or EPOCH
        more = {
            "rows": self.rows,
            "checkpoints": self.compactions,
            "errors": self.errors,
            "interrupted": self.interrupted,
            "waitsForInput": self.waits,
            "sharedMessages": self.inherited,
        }
        notes: list[str] = []
        others = ", ".join(name or "no agent" for name in facts.raw.get("sharedWith", ()))
        if others:
            notes.append(f"shared with {others}" + (", found there" if facts.counted_elsewhere else ""))
        if facts.raw.get("orphaned"):
            notes.append("deleted, its messages remain")
        if tools := facts.raw.get("waitsForApproval"):
            names = ", ".join(filter(None, dict.fromkeys(tools.values())))
            notes.append(f"waits for approval of {names}" if names else "waits for approval")
        if self.waits:
            notes.append("waits for input")
        return SessionSummary(
            **self.fields(),
            agent="hector",
            session_id=session_id,
            title=one_line(self.first_prompt),
            preview=one_line(self.first_prompt, 200),
            created_at=created,
            updated_at=max(created, self.newest or facts.updated or created),
            cwd=_working_directory(path),
            source=facts.source or None,
            partial=partial,
            path=path,
            warnings=self.warnings + bool(facts.damaged),
            notes=tuple(notes),
            known_as=one_line(ids.readable(session_id), 200),
            repeated=facts.counted_elsewhere,
            raw={"layout": facts.layout, **facts.raw, **{name: value for name, value in more.items() if value}},
        )


def is_prompt(mark: HectorMark) -> bool:
    """Whether a human speaks in the row, as far as can be told without reading it."""
    return role_of(mark.role) == "user" and mark.author in ("user", "")


def shown(messages: Sequence[Message], facts: HectorFacts) -> Sequence[Message]:
    """The messages of a row as this session shows them: those that are counted elsewhere are marked."""
    return [replace(one, inherited=True) for one in messages] if facts.counted_elsewhere else messages


def is_waiting(message: Message) -> bool:
    """Whether it says that Hector waits for its user."""
    return message.kind == "notice" and message.content.startswith(_WAITS)


@cache
def _working_directory(path: str) -> str | None:
    """Where Hector ran: it makes its databases at fixed places below that directory (facts: 2.2.9)."""
    for parts in (("data", "sessions.db"), (".hector", "hector.db")):
        whole = PurePath(path)
        if whole.is_absolute() and whole.parts[-2:] == parts:
            return str(whole.parents[1])
    return None
