"""A Codex conversation opened for reading: pages of one rollout, and before them the rollouts that it is a fork of.

A fork by reference (0.149 and later) holds only its own turns; `history_base` names the thread whose lines below an
ordinal come before them, and that thread can be a fork itself (stores/codex FACTS.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from session_adapters.codex.messages import CodexBuilder
from session_adapters.model import Message, Problem
from session_adapters.reading.damage import Damage
from session_adapters.reading.files import lines, open_file
from session_adapters.transcript import PAGE, Builder, JsonlTranscript

__all__ = ["Base", "CodexTranscript"]


class Base(Struct, frozen=True, kw_only=True):
    """The part of another thread's rollout that a fork begins with."""

    thread_id: str
    path: str
    stop: int
    """Bytes of it that belong to the fork."""


class CodexTranscript(JsonlTranscript):
    """Own rollout first, then its `bases`, nearest first."""

    def __init__(
        self,
        session_id: str,
        path: str,
        *,
        parent: str = "",
        own_from: int = 0,
        bases: Sequence[Base] = (),
        lost: str = "",
        page: int = PAGE,
    ) -> None:
        """`own_from`: where a copy of the parent's lines ends in the file. `lost`: why the conversation does not
        go back further than `bases`, for people; empty when it is all there."""
        self._bases = tuple(bases)
        self._lost = lost
        self._unread: list[Base] = []
        self._base: Base | None = None
        self._left = 0
        self._base_problems: list[Problem] = []

        def builder() -> Builder:
            return CodexBuilder(session_id, parent=parent, own_from=own_from)

        super().__init__("codex", session_id, path, builder, page=page)

    @property
    def builder(self) -> CodexBuilder:
        """What the loaded messages were made by."""
        assert isinstance(self._builder, CodexBuilder)  # noqa: S101 - `__init__` gives no other
        return self._builder

    def _load(self) -> None:
        super()._load()
        self._unread, self._base, self._left = list(self._bases), None, 0
        self._base_problems = []
        self._finish()

    def _finish(self) -> None:
        """Once nothing is left before the loaded messages, what waited for it is decided, and a lost beginning
        is said."""
        self.complete = self._start == 0 and not self._left and not self._unread
        if not self.complete:
            return
        front = CodexBuilder(self.session_id, inherited=True)
        front.from_start = True
        if self._lost:
            front.add(Message(role="system", kind="notice", id="lost", content=self._lost, inherited=True))
            problem = Problem(agent=self.agent, path=self.path, reason=self._lost, session_id=self.session_id)
            self._base_problems.append(problem)
            self._note_damage()
        self._prepend(front)

    def _prepend(self, front: CodexBuilder) -> None:
        self.builder.prepend(front)
        self.builder.take_change()
        self.messages = self.builder.messages

    def _note_damage(self) -> None:
        super()._note_damage()
        self.problems += self._base_problems

    def earlier(self) -> int:
        """See `Transcript.earlier`."""
        before = len(self.messages)
        if self._start:
            super().earlier()
            if self._start:
                return max(0, len(self.messages) - before)
            self._finish()
        while not self.complete and len(self.messages) <= before:
            self._earlier_base()
        return max(0, len(self.messages) - before)

    def _earlier_base(self) -> None:
        """One page of a rollout that this one builds on."""
        if self._base is None or not self._left:
            self._base = self._unread.pop(0)
            self._left = self._base.stop
        front = CodexBuilder(self._base.thread_id, inherited=True)
        try:
            with open_file(self._base.path) as fd:
                start = self._cut(fd, self._left)
                for line in lines(fd, start, self._left):
                    front.give(line)
        except OSError as error:
            reason = error.strerror or str(error)
            self._lost = f"What was said before this is in {self._base.path}, which cannot be read: {reason}"
            self._unread, self._left = [], 0
        else:
            self._left = start
            self._note_base_damage(front, self._base)
            self._prepend(front)
        self._finish()

    def _note_base_damage(self, front: CodexBuilder, base: Base) -> None:
        self._base_problems += front.damaged.problems(self.agent, base.path, base.thread_id)
        front.damaged = Damage()
        self._note_damage()
