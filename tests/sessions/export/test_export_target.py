"""Where an export goes: a file that is there whole or not at all; names; a whole conversation."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.errors import AgentNotFound, ParseError, SessionNotFound, ValidationError
from hermes_tui.sessions.export.target import suggested_name, write_file
from hermes_tui.sessions.lineage import lineage_of
from hermes_tui.sessions.manager import SessionManager
from made import session
from session_adapters.base import Source
from session_adapters.model import SessionSummary
from tiny_adapter import TinyAdapter
from tiny_home import TinyHome


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert write_file(tmp_path / "new.md", [b"one", b"two"]) == 6
    finally:
        os.umask(before)
    assert (tmp_path / "new.md").read_bytes() == b"onetwo"
    assert mode(tmp_path / "new.md") == 0o600
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_file_that_is_there_is_replaced_only_on_demand_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "there.md"
    path.write_text("old")
    path.chmod(0o644)
    with pytest.raises(ValidationError, match="--force"):
        write_file(path, [b"new"])
    assert path.read_text() == "old"
    write_file(path, [b"new"], replace=True)
    assert (path.read_text(), mode(path)) == ("new", 0o644)
    link = tmp_path / "link.md"
    link.symlink_to(path)
    write_file(link, [b"newer"], replace=True)
    assert link.is_symlink()
    assert path.read_text() == "newer"


def test_what_goes_wrong_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "half.md"
    path.write_text("old")

    def parts() -> Iterator[bytes]:
        yield b"first half"
        raise ParseError("the second half cannot be read")

    with pytest.raises(ParseError):
        write_file(path, parts(), replace=True)
    assert path.read_text() == "old"
    assert not list(tmp_path.glob(".half*"))


def test_a_file_that_came_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "raced.md"

    def parts() -> Iterator[bytes]:
        yield b"mine"
        path.write_text("theirs")

    with pytest.raises(ValidationError, match="there already"):
        write_file(path, parts())
    assert path.read_text() == "theirs"
    assert not list(tmp_path.glob(".raced*"))


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="No such file"):
        write_file(tmp_path / "no" / "such.md", [b"x"])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValidationError, match="is no file"):
        write_file(tmp_path / "pipe", [b"x"], replace=True)
    with pytest.raises(ValidationError, match="cannot write"):
        write_file(Path("/dev/full/x"), [b"x"])


def test_an_export_survives_a_power_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The content is on the disk before it has its name, and the name before it is said to be written."""
    order: list[str] = []
    sync, link = os.fsync, os.link

    def synced(number: int) -> None:
        order.append("directory" if stat.S_ISDIR(os.fstat(number).st_mode) else f"{os.fstat(number).st_size} bytes")
        sync(number)

    def linked(source: str, target: Path) -> None:
        order.append("name")
        link(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "link", linked)
    write_file(tmp_path / "one.md", [b"abc", b"de"])
    assert order == ["5 bytes", "name", "directory"]


def test_a_directory_is_no_place_and_a_tilde_is_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (tmp_path, Path(f"{tmp_path}/."), Path()):
        for replace in (False, True):
            with pytest.raises(ValidationError, match="is a directory; give the name of a file in it"):
                write_file(path, [b"x"], replace=replace)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert write_file(Path("~/one.md"), [b"x"]) == 1
    assert (tmp_path / "one.md").read_bytes() == b"x"


@given(st.text(max_size=80), st.text(max_size=40))
def test_a_suggested_name_is_one_plain_file_name(title: str, native: str) -> None:
    name = suggested_name(session(native, title=title), "html")
    assert re.fullmatch(r"claude[\w.-]*\.html", name)
    assert len(name) < 80
    assert ".." not in name or "/" not in name


def test_a_suggested_name_tells_what_it_is() -> None:
    one = session("72270340-b660-4989", title="Fix the flaky: login test!")
    assert suggested_name(one, "markdown") == "claude-fix-the-flaky-login-test-72270340.md"
    named = {
        suggested_name(session(f"assistant/s{number}", title="Hello", known_as=f"assistant/s{number}"), "html")
        for number in range(2)
    }
    assert named == {"claude-hello-assistant-s0.html", "claude-hello-assistant-s1.html"}
    long = session("x", title="Hello" * 20, known_as="日本語/" + "y" * 60)
    assert len(suggested_name(long, "html")) < 110


# Conversations of several sessions -----------------------------------------------------------------------------


def part(name: str, minutes: float, parent: str | None = None, kind: str = "continuation") -> SessionSummary:
    return session(name, minutes, parent_id=parent, kind=kind if parent else "session")


def test_a_lineage_is_what_continues_oldest_first() -> None:
    sessions = [
        part("c", 1, "b"),
        part("b", 5, "a"),
        part("a", 9),
        part("fork", 4, "a", "fork"),
        part("helper", 3, "b", "subagent"),
        part("other", 2),
        session("b", 1, agent="codex"),
    ]
    for start in sessions[:3]:
        assert [one.session_id for one in lineage_of(start, sessions)] == ["a", "b", "c"]
    assert [one.session_id for one in lineage_of(sessions[3], sessions)] == ["fork"]


def test_a_lineage_in_a_circle_ends() -> None:
    sessions = [part("a", 3, "c"), part("b", 2, "a"), part("c", 1, "b")]
    for start in sessions:
        assert {one.session_id for one in lineage_of(start, sessions)} == {"a", "b", "c"}


# Through the manager -------------------------------------------------------------------------------------------


def test_e_1_and_e_2_errors_of_the_manager(manager: SessionManager, tiny_home: TinyHome) -> None:
    tiny_home.add("one")
    with pytest.raises(ValidationError, match="markdown"):
        manager.export("tiny", "one", "yaml")
    with pytest.raises(AgentNotFound):
        manager.export("nobody", "one", "json")
    with pytest.raises(SessionNotFound):
        manager.export("tiny", "two", "json")
    (tiny_home.store / "bad.jsonl").write_text("nonsense\n")
    with pytest.raises(ParseError):
        manager.export("tiny", "bad", "json")


def test_e_2_a_session_that_goes_away_is_missing_and_not_damaged(
    manager: SessionManager, tiny_home: TinyHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G-10: deleted after it was found."""
    path = tiny_home.add("one")
    found = TinyAdapter.find

    def find(self: TinyAdapter, session_id: str) -> Source | None:
        source = found(self, session_id)
        path.unlink()
        return source

    monkeypatch.setattr(TinyAdapter, "find", find)
    with pytest.raises(SessionNotFound, match="no session 'one'"):
        manager.export("tiny", "one", "json")


def test_e_2_what_cannot_be_read_is_named_with_the_reason(manager: SessionManager, tiny_home: TinyHome) -> None:
    (tiny_home.store / "bad.jsonl").write_text("nonsense\n")
    with pytest.raises(ParseError, match=r"^cannot read tiny session 'bad': (?!the adapter failed)"):
        manager.export("tiny", "bad", "json")


def test_e_1_the_format_is_looked_at_before_the_session(manager: SessionManager, tiny_home: TinyHome) -> None:
    """A long session is not read for nothing."""
    (tiny_home.store / "bad.jsonl").write_text("nonsense\n")
    for agent, name in (("tiny", "bad"), ("nobody", "x")):
        with pytest.raises(ValidationError, match="markdown"):
            manager.export(agent, name, "yaml")


def test_the_manager_exports_every_form(manager: SessionManager, tiny_home: TinyHome) -> None:
    tiny_home.add("one", turns=2)
    assert manager.export("tiny", "one", "json").startswith('{\n  "agent": "tiny"')
    assert manager.export("tiny", "one", "jsonl").count("\n") == 5
    assert manager.export("tiny", "one", "markdown").startswith("# A title\n")
    assert manager.export("tiny", "one", "html").startswith("<!doctype html>")


def test_lineage_of_the_hermes_store(store: Callable[..., Path], tmp_path: Path) -> None:
    """Against the parents that the database names (`sessions.parent_session_id`, ended by compression)."""
    import apsw

    from session_adapters.base import Environment

    home = store("hermes", "home")
    (folder,) = [path.parent for path in home.rglob("state.db") if path.parent.parent == home]
    database = apsw.Connection(str(folder / "state.db"), flags=apsw.SQLITE_OPEN_READONLY)
    rows = database.execute(
        "SELECT child.id, parent.id FROM sessions child JOIN sessions parent ON child.parent_session_id = parent.id"
        " WHERE parent.end_reason = 'compression'"
    ).fetchall()
    database.close()
    assert rows
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", agents=["hermes"])
    for child, parent in ((str(child), str(parent)) for child, parent in rows):
        names = [one.session_id for one in manager.lineage("hermes", child)]
        assert parent in names
        assert names.index(parent) < names.index(child)
