"""`SessionManager.get`, `open` and `summary` (spec 004 §6.2; checklist G-*)."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from hermes_tui.errors import AgentNotFound, HermesTuiError, ParseError, SessionNotFound
from hermes_tui.sessions.manager import SessionManager
from session_adapters.model import Session, SessionSummary
from session_adapters.reading.files import METER
from tiny_home import TinyHome


def test_g_1_unknown_agent_and_absent_session(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("one")
    for read in (manager.get, manager.open, manager.summary):
        with pytest.raises(AgentNotFound):
            read("bogus", "one")
        for absent in ("two", "", "../one", "/etc/passwd", "on", "one\0", "o" * 5000):
            with pytest.raises(SessionNotFound) as caught:
                read("tiny", absent)
            assert (caught.value.code, caught.value.exit_code) == ("SESSION_NOT_FOUND", 8)


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"no json at all\n", b"\xff\xfe\xfd"])
def test_g_1_nothing_readable_is_a_parse_error(tiny_home: TinyHome, manager: SessionManager, content: bytes) -> None:
    (tiny_home.store / "bad.jsonl").write_bytes(content)
    with pytest.raises(ParseError, match=r"cannot read tiny session 'bad': ") as caught:
        manager.get("tiny", "bad")
    assert (caught.value.code, caught.value.exit_code) == ("PARSE_ERROR", 1)


def test_g_1_bad_lines_among_good_ones_are_counted(tiny_home: TinyHome, manager: SessionManager) -> None:
    path = tiny_home.add("mixed", turns=3)
    lines = path.read_text().splitlines()
    lines.insert(2, "{ half a record")
    path.write_text("\n".join(lines) + "\n")
    session = manager.get("tiny", "mixed")
    assert (session.warnings, len(session.messages)) == (1, 6)


def test_g_1_a_broken_adapter_is_a_parse_error_never_its_own_exception(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("one")
    for agent, crash in (("crashing", "session"), ("crashing", "construct"), ("absent", ""), ("impostor", "")):
        manager = tiny_home.manager(tmp_path / "cache", agent, CRASH_IN=crash)
        with pytest.raises(ParseError):
            manager.get(agent, "one")


def test_g_2_no_other_session_is_read(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("one", turns=2)
    for number in range(20):
        (tiny_home.store / f"poison{number}.jsonl").write_bytes(b"\x00poison" * 10_000)
    METER.reset()
    assert len(manager.get("tiny", "one").messages) == 4
    assert METER.bytes < 10_000


def test_g_3_g_4_g_6_messages_in_order_with_their_fields(tiny_home: TinyHome, manager: SessionManager) -> None:
    path = tiny_home.add("one", turns=3)
    raw = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    session = manager.get("tiny", "one")
    assert [(one.role, one.content, one.model) for one in session.messages] == [
        (one["role"], one["text"], one.get("model")) for one in raw
    ]
    assert [one.timestamp.isoformat() for one in session.messages if one.timestamp] == [one["at"] for one in raw]


def test_g_7_summary_fields_equal_those_of_list(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("parent", turns=4, usd=0.5)
    tiny_home.add("child", parent="parent", tags=["t"], cwd="/srv")
    (tiny_home.store / "child.pid").write_text("1")
    for row in manager.list("tiny"):
        session = manager.get("tiny", row.session_id)
        for field in msgspec.structs.fields(SessionSummary):
            assert getattr(session, field.name) == getattr(row, field.name), field.name


def test_g_8_raw_is_present(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("one")
    assert "raw" in json.loads(msgspec.json.encode(manager.get("tiny", "one")))


def test_g_10_deleted_between_list_and_get(tiny_home: TinyHome, manager: SessionManager) -> None:
    path = tiny_home.add("one")
    (row,) = manager.list("tiny")
    path.unlink()
    for read in (manager.get, manager.open):
        with pytest.raises(SessionNotFound):
            read("tiny", row.session_id)
    assert manager.list("tiny") == []


def test_g_10_deleted_while_it_is_read(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tiny_home.add("one")
    from tiny_adapter import TinyAdapter

    find = TinyAdapter.find

    def find_then_delete(self: TinyAdapter, session_id: str) -> object:
        source = find(self, session_id)
        path.unlink()
        return source

    monkeypatch.setattr(TinyAdapter, "find", find_then_delete)
    with pytest.raises(SessionNotFound):
        manager.get("tiny", "one")


def test_open_gives_a_transcript_that_follows(tiny_home: TinyHome, manager: SessionManager) -> None:
    path = tiny_home.add("one", turns=2)
    transcript = manager.open("tiny", "one")
    assert [one.content for one in transcript.messages] == ["question 0", "answer 0", "question 1", "answer 1"]
    with path.open("a") as file:
        file.write('{"role": "user", "text": "more"}\n')
    assert transcript.refresh().first == 4
    assert transcript.messages[-1].content == "more"


def test_what_is_listed_is_opened_where_it_was_and_looked_for_when_it_is_not_there(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tiny_adapter import TinyAdapter

    path = tiny_home.add("one")
    looked: list[str] = []
    find = TinyAdapter.find

    def counted(self: TinyAdapter, session_id: str) -> object:
        looked.append(session_id)
        return find(self, session_id)

    monkeypatch.setattr(TinyAdapter, "find", counted)
    manager.list("tiny")
    assert len(manager.open("tiny", "one").messages) == 2
    assert looked == [], "to go through fifty thousand sessions takes half a second"
    (tiny_home.store / "archived").mkdir()
    path.rename(tiny_home.store / "archived" / path.name)
    assert len(manager.open("tiny", "one").messages) == 2
    (tiny_home.store / "archived" / path.name).unlink()
    with pytest.raises(SessionNotFound):
        manager.open("tiny", "one")
    assert looked == ["one", "one"]


def test_summary_finds_what_is_newer_than_the_last_refresh(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("one")
    manager.list("tiny")
    tiny_home.add("two", title="Later")
    assert manager.summary("tiny", "two").title == "Later"


def test_matches_by_beginning_of_the_id(tiny_home: TinyHome, manager: SessionManager) -> None:
    for name in ("abc", "abcd", "abx"):
        tiny_home.add(name)
    assert {one.session_id for one in manager.matches("tiny", "ab")} == {"abc", "abcd", "abx"}
    assert [one.session_id for one in manager.matches("tiny", "abc")] == ["abc"]
    assert manager.matches("tiny", "z") == []


def test_every_error_is_a_hermes_tui_error() -> None:
    assert issubclass(AgentNotFound, HermesTuiError)
    codes = {one.code: one.exit_code for one in HermesTuiError.__subclasses__()}
    expected = {"AGENT_NOT_FOUND": 3, "SESSION_NOT_FOUND": 8, "PARSE_ERROR": 1, "VALIDATION_ERROR": 2, "REFUSED": 10}
    assert expected.items() <= codes.items()


def test_get_gives_a_session(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("one")
    assert type(manager.get("tiny", "one")) is Session
