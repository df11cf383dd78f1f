"""Gemini's records turned into messages, one line at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import count
from typing import Any

from msgspec.structs import replace

from session_adapters.gemini.records import DECODER, GeminiRecord, Update, damage, record_place
from session_adapters.gemini.replay import Replay, ReplayedTurn
from session_adapters.gemini.settling import settles_from
from session_adapters.gemini.turns import Turn, is_context, turn_of
from session_adapters.model import Message, Role, ToolResult
from session_adapters.reading.bounds import CUT, TEXT_LIMIT
from session_adapters.reading.lines import Line
from session_adapters.times import parse_time
from session_adapters.transcript import Builder, first_difference

__all__ = ["KEPT", "GeminiBuilder", "GeminiFacts"]

_COMPACTED = "Conversation compressed"
KEPT = 64
"""Turns that are kept of a long log: a reply is written again when its calls have results."""
_STAMP = b'{"$set":{"lastUpdated":"'
"""How a line begins that follows every message and says nothing else."""


class GeminiFacts:
    """What the log says of the session beside what was said in it."""

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.project_hash: str | None = None
        self.kind: str | None = None
        self.started: datetime | None = None
        """Start of the first process that wrote."""
        self.newest: datetime | None = None
        """Time of the newest message; those that were restored do not count."""
        self.oldest: datetime | None = None
        self.summary: str | None = None
        self.directories: list[str] = []
        self.asked = False
        """There was a prompt."""
        self.context = ""
        """The description of the workspace; its beginning."""
        self.headers = 0
        self.records = 0
        self.document = False
        """Lines of spec 004 were among them."""
        self.safety: list[dict[str, Any]] = []

    def named(self, record: Update | GeminiRecord) -> None:
        """Take what a header or an update calls the session."""
        self.session_id = self.session_id or record.session_id
        self.summary = record.summary or self.summary
        self.directories = record.directories or self.directories


class GeminiBuilder(Builder):
    """Makes messages of lines. With `glance`, long texts, arguments and outputs are left out: enough to sum up a
    session of any length. What was undone or replaced has all messages made anew, but not before they are asked for:
    a log may do so at every step."""

    replaying = (b'"$rewindTo"', b'"messages"')

    def __init__(self, *, glance: bool = False) -> None:
        self._stale = glance
        super().__init__()
        self.facts = GeminiFacts()
        self._replay = Replay()
        self._glance = glance
        self._said = 0
        """Bytes of text, undone or not."""
        self._answered: set[str] = set()
        self._settling = sys.maxsize
        """The byte from which on messages settle; before it is known, none do."""

    @property
    def messages(self) -> list[Message]:
        """See `Builder.messages`."""
        if self._stale:
            self._stale = False
            before, changed = self._made, self._changed
            self.clear()
            self._answered.clear()
            for entry in self._replay.entries:
                self._append(entry)
            # Making them anew is no change: where they differ from those before tells from where on there is one.
            self._changed = changed
            first = first_difference(before, self.messages)
            if first is not None:
                self._touch(first)
        return self._made

    @messages.setter
    def messages(self, made: list[Message]) -> None:
        self._made = made

    @classmethod
    def starts_turn(cls, line: bytes) -> bool:
        """Whether the line is a prompt."""
        if b'"user"' not in line or b'"functionResponse"' in line or b'"$set"' in line:
            return False
        try:
            turn = turn_of(DECODER.one(line), "")
        except ValueError:  # damaged: that it is lost is said where it is read
            return False
        return turn.speaker == "user" and turn.kind == "message" and bool(turn.text)

    def feed(self, line: Line) -> None:
        """See `Builder.feed`."""
        if line.data.startswith(_STAMP) and len(line.data) < len(_STAMP) + 30 and line.data.endswith(b'Z"}}'):
            return
        records, lost = DECODER.all(line.data)
        if lost:
            self.damaged.add(line.offset, damage(line.data))
            self._replay.lost()
        for number, record in enumerate(records):
            self.take(record, record_place(line.offset, number))

    def note(self, line: Line) -> None:
        """Take of a line only what it says of the session itself: those before it were left out."""
        for record in DECODER.all(line.data)[0]:
            if record.id is None and record.role is None:
                self.facts.named(record.update or record)

    def skip(self, line: Line) -> None:
        """See `Builder.skip`."""
        super().skip(line)
        self._replay.lost()

    def take(self, record: GeminiRecord, place: str) -> None:
        """Take in one record, in the order in which the agent tells them apart."""
        if record.rewind_to is not None:
            self.replays = True
            self._replay.rewind(record.rewind_to)
            self._stale = True
        elif record.is_message:
            self._message(record, place)
        elif (update := record.update) is not None:
            self.facts.named(update)
            if update.messages is not None:
                self.facts.records += 1
                self.replays = True
                turns = [self._turn(one, f"{place}.{number}") for number, one in enumerate(update.messages)]
                if self._replay.replace(turns):
                    self._stale = True
        elif record.session_id is not None:
            # A header. A resume writes another one, with a time of its own: the first start counts.
            facts = self.facts
            facts.records += bool(record.session_id)
            facts.headers += 1
            facts.named(record)
            facts.project_hash = facts.project_hash or record.project_hash
            facts.kind = facts.kind or record.kind
            facts.started = facts.started or parse_time(record.start_time)
            self._replay.header()
            for number, message in enumerate(record.messages or ()):  # a document
                self.take(message, f"{place}.{number}")

    def _message(self, record: GeminiRecord, place: str) -> None:
        facts = self.facts
        facts.records += 1
        turn = self._turn(record, place)
        if turn.timestamp is not None and not is_context(turn):
            facts.newest = max(facts.newest or turn.timestamp, turn.timestamp)
            facts.oldest = min(facts.oldest or turn.timestamp, turn.timestamp)
        facts.asked = facts.asked or (turn.speaker == "user" and turn.kind == "message" and bool(turn.text))
        if record.type is None:
            facts.document = True
            found = {"safetyRatings": record.safety_ratings, "finishReason": record.finish_reason}
            known = {name: value for name, value in found.items() if value is not None}
            if known:
                facts.safety.append({"messageId": turn.id, **known})
        entry, new = self._replay.message(turn)
        if entry is None:
            self.replays = True
            self._stale = True
        elif new:
            self._append(entry)
        else:
            self._update(entry)

    def _turn(self, record: GeminiRecord, place: str) -> Turn:
        full = self._said > TEXT_LIMIT
        if full:
            self.damaged.add(place.removeprefix("@"), CUT)
        turn = turn_of(record, place, glance=self._glance or full)
        self._said += sys.getsizeof(turn.text)
        if not self.facts.context and is_context(turn):
            self.facts.context = turn.notices[0][1]
        return turn

    @property
    def goes_back(self) -> bool:
        """See `Builder.goes_back`."""
        return self._replay.goes_back

    def look_ahead(self, found: Iterable[Line]) -> None:
        """See `Builder.look_ahead`: messages settle behind the last record that takes something back or speaks of a
        turn that is not among the last ones."""
        self._settling = settles_from(found, KEPT)

    def settled(self) -> int:
        """See `Builder.settled`: all but those of the last turns, where the lines that follow are known."""
        if self.offset < self._settling:
            return 0
        # Asked for, the messages are made anew where they have to be.
        return self._replay.before(KEPT) if self.messages else 0

    def drop(self, indices: set[int], *, handed_over: bool = False) -> None:
        """See `Builder.drop`: of those that are settled."""
        done = [self.messages[index] for index in indices]
        self._answered.difference_update(one.tool_result.tool_call_id for one in done if one.tool_result is not None)
        if done:
            self._replay.let_go(KEPT)
        super().drop(indices, handed_over=handed_over)

    # Messages ----------------------------------------------------------------------------------------------

    def _append(self, entry: ReplayedTurn) -> None:
        if self._stale:
            return
        entry.first = len(self.messages)
        for message in self._messages(entry):
            self.add(message)
        entry.count = len(self.messages) - entry.first

    def _update(self, entry: ReplayedTurn) -> None:
        """A record was written again, mostly a reply with the results of its calls."""
        if self._stale:
            return
        self._answered.difference_update(result.tool_call_id for result in entry.turn.results)
        made = list(self._messages(entry))
        if len(made) != entry.count:
            self._stale = True
            return
        for index, message in enumerate(made, entry.first):
            old = self.messages[index]
            if message.tool_calls:
                outputs = {call.tool_call_id: call for call in old.tool_calls if call.output is not None}
                calls = tuple(
                    outputs.get(call.tool_call_id, call) if call.output is None else call
                    for call in message.tool_calls
                )
                message = replace(message, tool_calls=calls)
            if message != old:
                self.change(index, message)

    def _messages(self, entry: ReplayedTurn) -> Iterator[Message]:
        """What an entry shows as: what was put in front of it, results, and what was said."""
        turn, names = entry.turn, _names(entry.turn.id)
        facts: dict[str, Any] = {"timestamp": turn.timestamp, "visibility": entry.state}
        for kind, text in turn.notices:
            if kind == "summary":
                mark = f"{turn.id}#compaction"
                yield Message(role="system", kind="compaction", content=_COMPACTED, id=mark, **facts)
            yield Message(role="user", kind=kind, content=text, id=next(names), **facts)
        for result in turn.results:
            # Restoring writes each result twice: the one that was shown first stands for both.
            call_id = result.tool_call_id
            if not call_id or not (call_id in self._answered or self._replay.is_answered(call_id)):
                yield Message(role="tool", id=next(names), tool_result=self._linked(result), **facts)
        if turn.speaker == "model":
            yield Message(
                role="assistant",
                kind=turn.kind,
                content=turn.text,
                id=next(names),
                thinking=turn.thinking or None,
                tool_calls=turn.calls,
                token_usage=turn.usage,
                usage_key=turn.id if turn.usage else "",
                model=turn.model,
                attachments=turn.attachments,
                **facts,
            )
        elif turn.text.strip() or turn.attachments:
            role: Role = "user" if turn.speaker == "user" else "system"
            # What comes with the results of tools (images that were read) was not typed.
            kind = "notice" if role == "user" and turn.results else turn.kind
            facts |= {"role": role, "attachments": turn.attachments}
            yield Message(kind=kind, content=turn.shown or turn.text, id=next(names), **facts)
            if turn.shown:
                yield Message(kind="notice", content=turn.text, id=next(names), **facts | {"attachments": ()})

    def _linked(self, result: ToolResult) -> ToolResult:
        """A result, filled into its call. Either can say that it failed."""
        self._answered.add(result.tool_call_id)
        place = self._calls.get(result.tool_call_id)
        if place is not None:
            call = self.messages[place[0]].tool_calls[place[1]]
            result = replace(result, is_error=result.is_error or call.is_error)
        return self.link(result)


def _names(turn_id: str) -> Iterator[str]:
    """Ids of the messages that are made of one record."""
    yield turn_id
    for number in count(1):
        yield f"{turn_id}#{number}"
