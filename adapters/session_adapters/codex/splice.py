"""A Codex conversation opened for reading, with the rollouts it is a fork of.

A fork by reference (0.149 and later) holds only its own turns; `history_base` names the thread whose lines below an
ordinal come before them, and that thread can be a fork itself (stores/codex FACTS.md).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from msgspec import Struct

from session_adapters.activity import Activity
from session_adapters.codex.messages import CodexBuilder
from session_adapters.growing.jsonl_adapter import JsonlTranscript
from session_adapters.growing.texts import turn_start
from session_adapters.model import Message, Problem
from session_adapters.reading.damaged_places import Damage, reason_of
from session_adapters.reading.ends import marked_lines
from session_adapters.reading.files import open_file
from session_adapters.reading.lines import line_start, lines
from session_adapters.transcript import PAGE, Change

__all__ = ["Base", "Bases", "CodexTranscript"]


_OF_TURNS = (b'"task_started"', b'"task_complete"', b'"turn_aborted"')
"""Lines that say of a turn that it began, or ended."""
_SEARCHED = 4 << 20
"""Bytes that are searched for them at a time."""


class Base(Struct, frozen=True, kw_only=True):
    """The part of another thread's rollout that a fork begins with."""

    thread_id: str
    path: str
    stop: int
    """Bytes of it that belong to the fork."""


class Bases(NamedTuple):
    """All that a fork begins with, nearest first."""

    found: tuple[Base, ...] = ()
    lost: str = ""
    """Why the conversation does not go back further, for people; empty when it is all there."""
    unreadable: str = ""
    """The file that it goes back to and that may be read another time."""

    def without(self, base_path: str, error: OSError) -> Bases:
        """Those before one that cannot be read."""
        paths = [base.path for base in self.found]
        known = self.found[: paths.index(base_path)] if base_path in paths else self.found
        reason = f"What was said before this is in {base_path}, which cannot be read: {reason_of(error)}"
        return Bases(known, reason, base_path)


class CodexTranscript(JsonlTranscript[CodexBuilder]):
    """Own rollout first, then its `bases`, nearest first."""

    def __init__(
        self,
        session_id: str,
        path: str,
        *,
        parent: str = "",
        own_from: int = 0,
        bases: Callable[[], Bases] = Bases,
        page: int = PAGE,
    ) -> None:
        """`own_from`: where a copy of the parent's lines ends in the file. `bases` is asked again where one could not
        be read."""
        self._find = bases
        self._bases = bases()
        self._led = 0
        """Bytes of them that were asked for, or are loaded when that is all: they begin where a turn does, and asking
        for as many as are loaded would end there again."""
        self._base_problems: list[Problem] = []
        super().__init__(
            "codex", session_id, path, lambda: CodexBuilder(session_id, parent=parent, own_from=own_from), page=page
        )

    @property
    def activity(self) -> Activity:
        """See `Transcript.activity`. A turn may have begun far above what is loaded: what is said in the middle of it
        is not the last."""
        if self.builder.turn is None and self.start and super().activity.step in ("done", "idle"):
            self.builder.turn = self._is_within_turn()
        return super().activity

    def _is_within_turn(self) -> bool:
        """Whether the last that is said of turns above what is loaded is that one began."""
        with suppress(OSError), open_file(self.path) as fd:
            high = self.start
            while high:
                low = line_start(fd, max(0, high - _SEARCHED))
                last = deque(marked_lines(fd, low, high, _OF_TURNS), 1)
                if last:
                    return _OF_TURNS[0] in last[0].data
                high = low
        return False

    @property
    def loaded(self) -> int:
        """See `JsonlTranscript.loaded`."""
        return super().loaded + self._led

    def lead(self, room: int) -> bool:
        """See `JsonlTranscript.lead`."""
        if self._bases.unreadable:
            self._bases = self._find()
        return self._lead(room)

    def _lead(self, room: int) -> bool:
        wanted, read = room, list[tuple[Base, int]]()
        complete = True
        try:
            for base in self._bases.found:
                complete = room > 0
                if not complete:
                    break
                start = 0
                if base.stop > room:
                    with open_file(base.path) as fd:
                        start = turn_start(self.builder, fd, base.stop, room)
                read.append((base, start))
                room -= base.stop - start
                complete = start == 0
                if not complete:
                    break
            self._base_problems = []
            self.builder.from_start = complete
            if complete and self._bases.lost:
                lost = self._bases.lost
                notice = Message(role="system", kind="notice", id="lost", content=lost, inherited=True)
                self.builder.add(notice)
                self._base_problems.append(self.problem(lost))
            for base, start in reversed(read):  # the nearest was looked at first, and is told last
                builder = self.builder
                builder.base = base.thread_id
                with open_file(base.path) as fd:
                    for line in lines(fd, start, base.stop):
                        builder.give(line)
                builder.base = ""
                self._base_problems += builder.damaged.problems(self.agent, base.path, base.thread_id)
                builder.damaged = Damage()  # those of the next file stand at offsets of its own
        except OSError as error:
            self._bases = self._bases.without(base.path, error)
            self.builder = self._new_builder()  # without what it was given of a base that broke off
            return self._lead(wanted)
        self._led = sum(base.stop - start for base, start in read) if complete else max(wanted, 0)
        return complete

    def refresh(self) -> Change:
        """See `Transcript.refresh`. What could not be read of the beginning is read when that can be."""
        change = super().refresh()
        if not self._bases.unreadable or change.gone:
            return change
        try:
            with open_file(self._bases.unreadable), open_file(self.path) as fd:
                self._load(fd, os.fstat(fd))
        except OSError:  # still unreadable, which the session says already
            return change
        return Change(first=0, rewritten=True)

    def _note_damage(self) -> None:
        super()._note_damage()
        self.problems += self._base_problems
