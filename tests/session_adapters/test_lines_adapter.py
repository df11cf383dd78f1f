"""`LinesAdapter`: an agent whose adapter says only where its files are and how messages are made of lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from session_adapters.base import Capabilities, Environment, Root, SessionMissing, SessionUnreadable, Source
from session_adapters.lines_adapter import LinesAdapter
from session_adapters.model import Message, Problem, TokenUsage
from session_adapters.reading.lines import Line
from session_adapters.transcript import Builder


class LineBuilder(Builder):
    """One message per line."""

    def feed(self, line: Line) -> None:
        try:
            record = json.loads(line.data)
        except ValueError:
            self.damaged.add(line.offset, "no JSON")
            return
        used = TokenUsage(output_tokens=record["out"]) if "out" in record else None
        key = f"@{line.offset}"
        self.add(Message(role=record["role"], content=record["text"], id=key, token_usage=used, usage_key=key))

    def settled(self) -> int:
        return len(self.messages)


class LineAdapter(LinesAdapter):
    """Files directly below the home."""

    name, label, badge = "line", "Line", "ln"
    capabilities = Capabilities(session_persistence="file")
    head = tail = 1000

    def roots(self) -> Sequence[Root]:
        return [Root(path=self.environment.home, exists=True)]

    def builder(self, source: Source) -> Builder:
        return LineBuilder()


def line(role: str, text: str, **more: int) -> str:
    return json.dumps({"role": role, "text": text, **more}) + "\n"


def test_everything_is_read_of_the_messages(tmp_path: Path, problems: list[Problem]) -> None:
    turns = [line("user", f"ask {number}") + line("assistant", "told", out=number) for number in range(1, 501)]
    path = tmp_path / "one.jsonl"
    path.write_text("".join(turns))
    adapter = LineAdapter(Environment(home=tmp_path, variables={}))
    (source,) = adapter.sources(problems.append)
    (quick,) = adapter.summaries(source, problems.append)
    (exact,) = adapter.summaries(source, problems.append, exact=True)
    assert quick.partial and quick.turn_count < 500 and quick.title == "ask 1"
    assert (exact.partial, exact.turn_count, exact.message_count, exact.title) == (False, 500, 1000, "ask 1")
    assert exact.tokens == TokenUsage(output_tokens=sum(range(1, 501)))
    session = adapter.session(source, "one")
    assert [getattr(session, name) for name in exact.__struct_fields__] == [
        getattr(exact, name) for name in exact.__struct_fields__
    ]
    assert sum(one.output_tokens for one in adapter.usage(source, problems.append)) == sum(range(1, 501))
    assert [one.prose for one in adapter.texts(source, problems.append)] == [one.content for one in session.messages]
    transcript = adapter.open(source, "one")
    with path.open("a") as file:
        file.write(line("user", "more"))
    assert transcript.refresh().first == 1000 and transcript.messages[-1].content == "more"
    assert problems == []


def test_what_cannot_be_read_is_said(tmp_path: Path, problems: list[Problem]) -> None:
    (tmp_path / "bad.jsonl").write_text("no record\n" + line("user", "hello") + '{"torn')
    (tmp_path / "worse.jsonl").write_text("no record\n")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "lost.jsonl").symlink_to("nowhere")
    adapter = LineAdapter(Environment(home=tmp_path, variables={}))
    sources = {source.session_id: source for source in adapter.sources(problems.append)}
    assert set(sources) == {"bad", "empty", "folder", "worse"}
    found = [one for source in sources.values() for one in adapter.summaries(source, problems.append)]
    assert [(one.session_id, one.warnings, one.message_count) for one in found] == [("bad", 1, 1)]
    said = sorted((Path(one.path).stem, one.place, one.reason) for one in problems)
    assert [one[:2] for one in said] == [("bad", "byte 0"), ("empty", ""), ("folder", ""), ("worse", "byte 0")]
    with pytest.raises(SessionMissing):
        adapter.session(sources["bad"], "other")
    with pytest.raises(SessionUnreadable):
        adapter.session(sources["worse"], "worse")
    (tmp_path / "bad.jsonl").unlink()
    with pytest.raises(SessionMissing):
        adapter.session(sources["bad"], "bad")
