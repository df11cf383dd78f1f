"""A complete small adapter, as a third party would write one: JSON lines under `~/.tiny` (or `$TINY_HOME`).

`<id>.jsonl`: a first line {"title", "cwd", "at", "parent"?, "tags"?}, then {"role", "text", "at", "model"?, "usd"?}.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from session_adapters.base import (
    Adapter,
    Capabilities,
    Environment,
    Liveness,
    Report,
    Root,
    SessionMissing,
    SessionUnreadable,
    Source,
)
from session_adapters.growing.jsonl_adapter import JsonlTranscript
from session_adapters.model import EPOCH, Cost, Message, Problem, Session, SessionSummary
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.ends import read_ends
from session_adapters.reading.files import file_stamp, open_file
from session_adapters.reading.lines import Line
from session_adapters.text import one_line
from session_adapters.times import from_iso
from session_adapters.transcript import Builder, Transcript

END = 8192
"""Bytes read at each end of a file."""


class Record(msgspec.Struct):
    """A line of either kind."""

    title: str | None = None
    cwd: str | None = None
    at: str | None = None
    parent: str | None = None
    tags: list[str] = []
    role: str | None = None
    text: str = ""
    model: str | None = None
    usd: float | None = None


DECODER = Decoder(Record)


class TinyBuilder(Builder):
    """Lines to messages."""

    def feed(self, line: Line) -> None:
        try:
            record = DECODER.one(line.data)
        except ValueError:
            self.damaged.add(line.offset, "not JSON")
            return
        if record.role in ("user", "assistant", "system"):
            self.add(
                Message(
                    role="user" if record.role == "user" else "assistant",
                    content=record.text,
                    timestamp=from_iso(record.at),
                    model=record.model,
                )
            )


class TinyAdapter(Adapter):
    """Reads the stores described above."""

    name: ClassVar[str] = "tiny"
    label: ClassVar[str] = "Tiny Agent"
    badge: ClassVar[str] = "ty"
    capabilities: ClassVar[Capabilities] = Capabilities(session_persistence="file")

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.directory = environment.path("TINY_HOME", ".tiny")

    def roots(self) -> Sequence[Root]:
        return [Root(path=self.directory, layout="JSON lines", exists=self.directory.is_dir())]

    def sources(self, report: Report) -> Iterator[Source]:
        if not self.directory.is_dir():
            return
        try:
            list(self.directory.iterdir())  # rglob is silent about what it may not enter
        except OSError as error:
            report(Problem(agent=self.name, path=str(self.directory), reason=f"cannot be listed: {error.strerror}"))
            return
        paths = sorted(self.directory.rglob("*.jsonl"))
        for path in paths:
            try:
                status = path.stat()
            except OSError as error:
                report(Problem(agent=self.name, path=str(path), reason=f"cannot be looked at: {error.strerror}"))
                continue
            yield Source(
                agent=self.name,
                path=str(path),
                stamp=file_stamp(status),
                session_id=path.stem,
                size=status.st_size,
                modified=status.st_mtime,
            )

    def summaries(self, source: Source, report: Report, *, exact: bool = False) -> Sequence[SessionSummary]:
        try:
            with open_file(source.path) as fd:
                size = os.fstat(fd).st_size
                ends = read_ends(fd, size, size if exact else END, END)
        except OSError as error:
            report(Problem(agent=self.name, path=source.path, reason=f"cannot be read: {error.strerror or error}"))
            return []
        records: list[Record] = []
        damaged = 0
        for line in (*ends.head, *ends.tail):
            try:
                records.append(DECODER.one(line.data))
            except ValueError:
                damaged += 1
                place = f"byte {line.offset}"
                report(Problem(agent=self.name, path=source.path, place=place, reason="not JSON"))
        if not records:
            return []
        return [self._summary(source, records, damaged, partial=not ends.whole)]

    def _summary(self, source: Source, records: list[Record], damaged: int, *, partial: bool) -> SessionSummary:
        head = records[0]
        messages = [record for record in records if record.role]
        times = [moment for record in records if (moment := from_iso(record.at))]
        models = [model for model, _ in Counter(one.model for one in messages if one.model).most_common()]
        usd = [one.usd for one in messages if one.usd is not None]
        return SessionSummary(
            agent=self.name,
            session_id=source.session_id,
            title=one_line(head.title or ""),
            created_at=times[0] if times else EPOCH,
            updated_at=max(times, default=EPOCH),
            turn_count=sum(one.role == "user" for one in messages),
            message_count=len(messages),
            model=models[0] if models else None,
            models=tuple(models),
            cost=Cost(total_usd=sum(usd)) if usd else None,
            cwd=head.cwd,
            parent_id=head.parent,
            lineage_id=head.parent or source.session_id,
            tags=tuple(head.tags),
            partial=partial,
            path=source.path,
            size=source.size,
            warnings=damaged,
        )

    def relate(self, summaries: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
        known = {one.session_id for one in summaries}
        return [
            replace(one, kind="fork", forked_from=one.parent_id) if one.parent_id in known else one
            for one in summaries
        ]

    def live(self) -> Mapping[str, Liveness]:
        return {
            path.stem: Liveness(pid=int(path.read_text()), status="busy") for path in self.directory.glob("*.pid")
        }

    def open(self, source: Source, session_id: str) -> Transcript:
        return JsonlTranscript(self.name, session_id, source.path, TinyBuilder)

    def session(self, source: Source, session_id: str) -> Session:
        found = self.summaries(source, lambda problem: None, exact=True)
        if not Path(source.path).exists():
            raise SessionMissing(f"{source.path} is not there any more")
        if not found:
            raise SessionUnreadable(f"nothing in {source.path} can be read")
        fields = {field: getattr(found[0], field) for field in found[0].__struct_fields__ if field != "unified_id"}
        transcript = self.open(source, session_id)
        while transcript.earlier():
            pass
        return Session(**fields, messages=tuple(transcript.messages))


class CopyAdapter(TinyAdapter):
    """Another agent that shares the directory of `tiny`."""

    name = "copy"


class NoStoreAdapter(TinyAdapter):
    """An agent that keeps nothing."""

    name = "nostore"
    capabilities = Capabilities(session_persistence="none")

    def sources(self, report: Report) -> Iterator[Source]:
        return iter(())


class CrashingAdapter(TinyAdapter):
    """Goes wrong wherever `CRASH_IN` says."""

    name = "crashing"

    def _maybe(self, where: str) -> None:
        if where in self.environment.variables.get("CRASH_IN", ""):
            raise RuntimeError(f"crash in {where}")

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._maybe("construct")

    def sources(self, report: Report) -> Iterator[Source]:
        yield from super().sources(report)
        self._maybe("sources")

    def summaries(self, source: Source, report: Report, *, exact: bool = False) -> Sequence[SessionSummary]:
        self._maybe(f"summaries:{source.session_id}")
        return super().summaries(source, report, exact=exact)

    def relate(self, summaries: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
        self._maybe("relate")
        return super().relate(summaries)

    def live(self) -> Mapping[str, Liveness]:
        self._maybe("live")
        return super().live()

    def session(self, source: Source, session_id: str) -> Session:
        self._maybe("session")
        return super().session(source, session_id)
