"""Writing beside the screen: whole, or nothing at all, also when somebody leaves meanwhile."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from threading import Event

import pytest

from hermes_tui.errors import HermesTuiError, SessionNotFound
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.screens.dialogs.export import ExportChoice
from hermes_tui.tui.screens.main.actions.session_work import beside, write_export, write_for_reading
from session_adapters.model import SessionSummary
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
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


async def test_whoever_leaves_is_noticed_by_the_work() -> None:
    begun, noticed = Event(), Event()

    def work(over: Event) -> None:
        begun.set()
        over.wait(60)
        noticed.set()

    task = asyncio.create_task(beside(work))
    await asyncio.to_thread(begun.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(noticed.wait, 60)


@pytest.mark.parametrize("lineage", [False, True])
def test_an_export_that_was_given_up_leaves_nothing(subject: Subject, folder: Path, lineage: bool) -> None:
    manager, one = subject
    over = Event()
    wish = ExportChoice("markdown", folder / "one.md", redact=False, lineage=lineage, replace=False)
    over.set()
    with pytest.raises(HermesTuiError, match="given up"):
        write_export(manager, one, [one], wish, over)
    assert list(folder.iterdir()) == []
    assert "Wrote" in write_export(manager, one, [one], wish, Event())
    assert (folder / "one.md").read_text().startswith("# A title")


def test_a_file_for_a_pager_is_private_and_whole_or_not_there(subject: Subject, folder: Path) -> None:
    manager, one = subject
    path = Path(write_for_reading(manager, one, Event()))
    assert path.parent == folder and path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == manager.export("tiny", "one", "markdown")
    path.unlink()
    over = Event()
    over.set()
    with pytest.raises(HermesTuiError, match="given up"):
        write_for_reading(manager, one, over)
    assert list(folder.iterdir()) == []


def test_no_place_for_it_is_said(subject: Subject, folder: Path) -> None:
    manager, one = subject
    folder.rmdir()
    with pytest.raises(HermesTuiError, match=r"no file can be written.*No such file"):
        write_for_reading(manager, one, Event())


def test_a_session_that_is_gone_is_said(subject: Subject, folder: Path, tiny_home: TinyHome) -> None:
    manager, one = subject
    (tiny_home.store / "one.jsonl").unlink()
    with pytest.raises(HermesTuiError, match="no session 'one'"):
        write_for_reading(manager, one, Event())
    assert list(folder.iterdir()) == []


def test_a_part_that_cannot_be_read_is_left_out_and_named(
    subject: Subject, tiny_home: TinyHome, tmp_path: Path
) -> None:
    manager, one = subject
    lost = SessionSummary(agent="tiny", session_id="lost")
    wish = ExportChoice("markdown", tmp_path / "one.md", redact=False, lineage=True, replace=False)
    said = write_export(manager, one, [lost, one], wish, Event())
    assert "left out: tiny has no session 'lost'" in said
    assert "question 2" in (tmp_path / "one.md").read_text()
    wish = wish._replace(path=tmp_path / "two.md")
    with pytest.raises(SessionNotFound):
        write_export(manager, one, [lost], wish, Event())
    assert not (tmp_path / "two.md").exists()
