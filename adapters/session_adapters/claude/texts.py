"""What can be searched in a Claude Code transcript, read faster than the whole conversation."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from session_adapters.base import Report, Source
from session_adapters.claude.builder import ClaudeBuilder
from session_adapters.claude.chains import Chains, chain_in, helper_id
from session_adapters.claude.paths import is_helper, printable
from session_adapters.claude.records import (
    BriefBlock,
    ClaudeRecord,
    Spoken,
    SpokenBody,
    block_text,
    reply_key,
    user_said,
)
from session_adapters.model import Problem
from session_adapters.reading.batches import BatchDecoder
from session_adapters.reading.damage import REPORTED, Damage
from session_adapters.reading.files import Decoder, open_file
from session_adapters.reading.follower import LinesReader
from session_adapters.reading.scanner import Seeker
from session_adapters.reading.searchable import Rewritten, Text
from session_adapters.times import parse_time

__all__ = ["text_reader", "texts"]

_SPOKEN = BatchDecoder(Spoken, Decoder(Spoken))
_SIDE = Seeker(Spoken, re.compile(rb'"isSidechain"\s*:\s*true'))
_SPEAKERS = ("user", "assistant")


class _Builder(ClaudeBuilder):
    """Knows which of its messages are settled: those before the last prompt, since a reply goes on until then."""

    def __init__(self, *, subagent: bool = False, chain: str = "") -> None:
        super().__init__(subagent=subagent, chain=chain)
        self._settled = 0
        self._plain = False

    def settled(self) -> int:
        """How many messages no later line can change. In spec 004's layout a result may change any call."""
        return 0 if self._plain else self._settled

    def renumber(self, places: Sequence[int | None]) -> None:
        """See `Builder.renumber`."""
        super().renumber(places)
        self._settled = max(0, self._settled - sum(place is None for place in places))

    def _take(self, record: ClaudeRecord, place: str) -> None:
        self._plain = self._plain or record.kind in ("tool_use", "tool_result")
        super()._take(record, place)
        if not self._replies:
            self._settled = len(self.messages)


def text_reader(source: Source) -> LinesReader | None:
    """A reader of one transcript that goes on where it stopped; None where there are helpers in it, whose texts are
    other sessions'. Raises `OSError`."""
    with open_file(source.path) as fd:
        side = _SIDE.read(fd, os.fstat(fd).st_size)
        if not is_helper(source) and any(record.is_sidechain for record, _, _ in side):
            return None
    return _reader(source, kind=_Growing)


def texts(
    source: Source, report: Report, session_id: str | None = None, *, prose_only: bool = False
) -> Iterator[Text]:
    """See `Adapter.texts`; `session_id` is in this source."""
    chain = chain_in(source.session_id, session_id) if session_id is not None else ""
    first = _reader(source, chain)
    chains = first.builder.chains
    damaged = Damage()
    try:
        if prose_only and not chain:
            yield from _prose(source, chains)
        else:
            yield from (text for _, text in first.read())
            damaged = first.builder.damaged
        for other in chains if session_id is None else ():
            yield from (text for _, text in _reader(source, other).read())
    except FileNotFoundError:
        return
    except OSError as error:
        report(_problem(source, f"cannot be read: {error.strerror or error}"))
    for problem in damaged.problems("claude", source.path, source.session_id, limit=REPORTED):
        report(problem)


class _Reader(LinesReader):
    """Reads the texts of a session, or of one helper in its file."""

    builder: _Builder


class _Growing(_Reader):
    """Reads a file without helpers."""

    def read(self) -> Iterator[tuple[int, Text]]:
        """See `TextReader.read`."""
        yield from super().read()
        if self.builder.chains:
            raise Rewritten(f"the file of {self.session_id} holds a helper now")


def _reader(source: Source, chain: str = "", *, kind: type[_Reader] = _Reader) -> _Reader:
    builder = _Builder(subagent=is_helper(source), chain=chain)
    session_id = helper_id(source.session_id, chain) if chain else source.session_id
    return kind(source.path, session_id, builder, builder.settled)


class _Part(NamedTuple):
    """What one line says, or the lines of one reply."""

    key: str
    role: str
    timestamp: str | int | float | None
    text: str


def _prose(source: Source, chains: dict[str, None]) -> Iterator[Text]:
    """What was said, by the rules of `ClaudeBuilder`; `chains` takes the helpers in the file. Raises `OSError`."""
    turn: dict[str, _Part] = {}
    for record, place in _spoken(source, chains):
        message = record.message
        body = message if isinstance(message, SpokenBody) else None
        content = message.content if isinstance(message, SpokenBody) else message or record.content
        if record.kind == "assistant":
            text = block_text(content)
            key = reply_key(record, body) or place
            known = turn.get(key)
            if known is None:
                turn[key] = _Part(key, "assistant", record.timestamp, text)
            elif text:
                turn[key] = known._replace(text=f"{known.text}\n\n{text}" if known.text else text)
        elif not _is_result(content) and (said := _user_part(record, content, place)) is not None:
            part, prompt = said
            if prompt:
                yield from _said(source, turn.values())
                turn.clear()
            turn[f"\0{len(turn)}"] = part
    yield from _said(source, turn.values())


def _said(source: Source, parts: Iterable[_Part]) -> Iterator[Text]:
    for key, role, timestamp, text in parts:
        if text:
            at = parse_time(timestamp)
            yield Text(source.session_id, key, role, at.timestamp() if at else None, text, "")


def _spoken(source: Source, chains: dict[str, None]) -> Iterator[tuple[Spoken, str]]:
    """The lines of user and assistant, each once, and what they are known by."""
    helper = is_helper(source)
    links = Chains()
    seen: set[str] = set()
    with open_file(source.path) as fd:
        for batch in _SPOKEN.read(fd, os.fstat(fd).st_size):
            for index, record in enumerate(batch.records):
                uuid = record.uuid
                if record.is_sidechain and not helper:
                    chains[links.chain(record)] = None
                    continue
                if uuid in seen:
                    continue
                if uuid:
                    seen.add(uuid)
                if record.kind in _SPEAKERS:
                    yield record, uuid or _place(*batch.place(index))


def _place(offset: int, number: int) -> str:
    return f"@{offset}.{number}" if number else f"@{offset}"


def _is_result(content: object) -> bool:
    """Whether it is one result of a tool and nothing else, as most are."""
    if not isinstance(content, list) or len(content) != 1:
        return False
    block = content[0]
    return isinstance(block, BriefBlock) and block.type == "tool_result"


def _user_part(record: Spoken, content: object, place: str) -> tuple[_Part, bool] | None:
    """What a line of role user says beside the results of tools, and whether it is a prompt."""
    blocks = content if isinstance(content, list) else ()
    kinds = [block.type for block in blocks if isinstance(block, BriefBlock)]
    results = kinds.count("tool_result")
    images = kinds.count("image") + kinds.count("document")
    said = user_said(record, block_text(content), results=results, images=images)
    if said is None:
        return None
    name = f"{place}#{results}" if results else place
    return _Part(name, "user", record.timestamp, said.text), said.kind == "message"


def _problem(source: Source, reason: str, place: str = "") -> Problem:
    path = printable(source.path)
    return Problem(agent="claude", path=path, reason=reason, place=place, session_id=source.session_id)
