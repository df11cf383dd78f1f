"""Files of sessions: whole, or nothing at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_tui.errors import HermesTuiError, SessionNotFound
from hermes_tui.platform.helper_call import HelperCall
from hermes_tui.sessions.export.files import (
    ExportChoice,
    file_for_reading,
    write_export,
    write_exports,
    write_for_reading,
)
from hermes_tui.sessions.manager import SessionManager
from session_adapters.model import SessionSummary
from session_adapters.reading import files
from tiny_home import TinyHome

Subject = tuple[SessionManager, SessionSummary]


@pytest.fixture
def subject(tiny_home: TinyHome, manager: SessionManager) -> Subject:
    tiny_home.add("one", turns=3)
    return manager, manager.summary("tiny", "one")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where files for other programs go."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_a_file_for_a_pager_is_private_and_goes(subject: Subject, folder: Path) -> None:
    manager, one = subject
    with file_for_reading() as path:
        write_for_reading(manager, one, path)
        assert path.parent == folder and path.stat().st_mode & 0o777 == 0o600
        assert path.read_text() == manager.export("tiny", "one", "markdown")
    assert list(folder.iterdir()) == []
    with file_for_reading() as path:
        path.unlink()
        with pytest.raises(HermesTuiError, match=r"cannot write .* to show it from: No such file"):
            write_for_reading(manager, one, path)


def test_no_place_for_it_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.rmdir()
    monkeypatch.setattr(files, "TEMPORARY", ())
    with pytest.raises(HermesTuiError, match=r"no file can be written.*name one with TMPDIR"), file_for_reading():
        pass


def test_a_session_that_is_gone_is_said(subject: Subject, folder: Path, tiny_home: TinyHome) -> None:
    manager, one = subject
    (tiny_home.store / "one.jsonl").unlink()
    with pytest.raises(HermesTuiError, match="no session 'one'"), file_for_reading() as path:
        write_for_reading(manager, one, path)
    assert list(folder.iterdir()) == []


def test_a_part_that_cannot_be_read_is_left_out_and_named(subject: Subject, tmp_path: Path) -> None:
    manager, one = subject
    lost = SessionSummary(agent="tiny", session_id="lost")
    wish = ExportChoice("markdown", tmp_path / "one.md", redact=False, lineage=True, replace=False)
    said = write_export(manager, one, [lost, one], wish)
    assert "left out: tiny has no session 'lost'" in said
    assert "question 2" in (tmp_path / "one.md").read_text()
    wish = wish._replace(path=tmp_path / "two.md")
    with pytest.raises(SessionNotFound):
        write_export(manager, one, [lost], wish)
    assert not (tmp_path / "two.md").exists()
    several = wish._replace(path=tmp_path / "folder", lineage=False)
    said = write_exports(manager, [one, lost], several)
    assert said.startswith("Wrote 1 of 2 sessions into") and "left out: tiny has no session 'lost'" in said
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["tiny-a-title-one.md"]


def test_another_process_writes_the_same(subject: Subject, tmp_path: Path) -> None:
    """Also what only the list knows, which it has not made, and what is marked."""
    manager, _ = subject
    [listed] = manager.list("tiny")
    for form in ("json", "markdown"):
        wish = ExportChoice(form, tmp_path / form, redact=False, lineage=False, replace=False)
        said = HelperCall(write_export, manager, listed, (listed,), wish).result(60)
        assert said.startswith(f"Wrote {tmp_path / form} (")
        assert (tmp_path / form).read_text() == manager.export("tiny", "one", form)
