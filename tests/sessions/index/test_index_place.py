"""Why an index does not grow: said by whoever is asked, also of an indexer that is gone."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from databases import run_python, shared_folder, unprivileged
from hermes_tui.cli.execute import execute
from hermes_tui.platform import locks
from hermes_tui.sessions.index import diagnostics, schema
from hermes_tui.sessions.index.diagnostics import leave_word, reason_of, trouble_at
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.index.service import IndexService
from hermes_tui.sessions.index.writing import worker
from hermes_tui.sessions.index.writing.worker import WorkerExit
from hermes_tui.sessions.manager import SessionManager
from indexing import build, contents, homes_sources, indexer_variables
from session_adapters.base import Environment
from support import REPOSITORY, STORES

HOME = (STORES / "claude" / "home").resolve()  # as `--home` does
ENVIRONMENT = Environment(home=HOME)


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """`small_disk(pages)` gives every index that is written from now on so much room, and SQLite's own answer where
    that is not enough."""

    def make(pages: int) -> None:
        def limited(path: Path) -> apsw.Connection:
            connection = schema.open_writer(path)
            connection.execute(f"PRAGMA max_page_count={pages}")
            return connection

        monkeypatch.setattr(worker, "open_writer", limited)
        for name, value in indexer_variables(ENVIRONMENT).items():
            monkeypatch.setenv(name, value)

    return make


def test_a_full_disk_costs_nothing_of_what_was_written(
    tmp_path: Path, small_disk: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself ends the transaction for which there is no room: that is not damage, and what is there stays."""
    monkeypatch.setattr("hermes_tui.sessions.index.writing.writer.FIRST_BATCH", 20_000)
    monkeypatch.setattr("hermes_tui.sessions.index.writing.writer.BATCH", 20_000)
    whole, path = tmp_path / "whole" / "i.db", tmp_path / "small" / "i.db"
    build(ENVIRONMENT, whole)
    pages = apsw.Connection(os.fspath(whole)).execute("PRAGMA page_count").get
    small_disk(pages // 2)
    assert worker.work(path) == WorkerExit.NO_PLACE
    file = path.stat().st_ino
    service = IndexService(path, ENVIRONMENT)
    kept = service.progress()
    assert (kept.state, kept.running) == ("partial", False)
    assert kept.prose
    assert "the disk is full" in kept.trouble
    assert worker.work(path) == WorkerExit.NO_PLACE
    assert path.stat().st_ino == file, "nothing was damaged: it is not to be made anew"
    assert service.progress().prose >= kept.prose
    small_disk(100 * pages)
    assert worker.work(path) == WorkerExit.DONE
    assert contents(path) == contents(whole)
    assert not service.trouble
    service.close()


def test_the_command_line_says_so(
    tmp_path: Path,
    small_disk: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    service = SessionManager(ENVIRONMENT).index
    small_disk(10)
    assert worker.work(service.path) == WorkerExit.NO_PLACE
    monkeypatch.setattr(IndexService, "poke", lambda self, **options: None)
    home = ["--home", str(HOME)]
    assert execute([*home, "sessions", "search", "the"]) == 0
    said = capfd.readouterr().err
    assert "all scanned" in said
    assert "the index could not be written" in said
    assert "the disk is full" in said
    assert execute([*home, "index", "status"]) == 0
    said = capfd.readouterr().out
    assert "trouble   the index could not be written" in said
    assert "is made" not in said
    assert execute([*home, "index", "status", "--json"]) == 0
    assert "the disk is full" in json.loads(capfd.readouterr().out)["trouble"]
    assert execute([*home, "index", "clear"]) == 0
    assert "the disk is full" not in capfd.readouterr().out, "it may be made again"


def test_nothing_is_said_of_a_complete_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    service = SessionManager(ENVIRONMENT).index
    build(ENVIRONMENT, service.path)
    assert execute(["--home", str(HOME), "sessions", "search", "the"]) == 0
    said = capfd.readouterr().err
    assert "indexed 100 %" in said
    assert "cannot" not in said


def test_a_word_stays_until_the_next_indexer(tmp_path: Path) -> None:
    path, lock = tmp_path / "i.db", tmp_path / "i.lock"
    held = locks.take(lock)
    assert held is not None
    leave_word(held, "a reason of its own")
    size = lock.stat().st_size
    leave_word(held, "another, and a much longer one" * 40)
    assert "another" in trouble_at(path, lock)
    leave_word(held, "the disk is full")
    assert "could not be written" in trouble_at(path, lock)
    assert "make room" in trouble_at(path, lock)
    leave_word(held, "")
    assert not trouble_at(path, lock)
    assert lock.stat().st_size == size, "its room is taken once, before a disk can be full"
    os.close(held)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "the disk is full"),
        (OSError(errno.EACCES, "Permission denied"), "Permission denied"),
        (apsw.FullError("database or disk is full"), "the disk is full"),
        (apsw.ReadOnlyError("attempt to write a readonly database"), "attempt to write a readonly database"),
    ],
)
def test_reasons(error: OSError | apsw.Error, words: str) -> None:
    assert reason_of(error) == words


def test_a_disk_that_is_full_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not trouble_at(tmp_path / "i.db", tmp_path / "i.lock")
    monkeypatch.setattr(diagnostics, "LEAST_ROOM", 1 << 70)
    assert "the disk is full" in trouble_at(tmp_path / "a" / "b" / "i.db", tmp_path / "a" / "b" / "i.lock")


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("file", "loop"):
        said = trouble_at(tmp_path / name / "cache" / "i.db", tmp_path / name / "cache" / "i.lock")
        assert f"{tmp_path / name} is not a directory" in said


_ASK = """
import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from hermes_tui.sessions.index.service import IndexService
from session_adapters.base import Environment
if sys.argv[3]:
    os.setgroups([]); os.setgid(int(sys.argv[3])); os.setuid(int(sys.argv[3]))
service = IndexService(Path(sys.argv[2]) / "i.db", Environment(home=Path("/")))
print(service.progress().state, service.progress().trouble)
"""


@pytest.mark.parametrize("mode", [0o555, 0o000])
@pytest.mark.parametrize("below", ["", "cache"])
def test_a_directory_that_may_not_be_written(mode: int, below: str) -> None:
    with shared_folder() as folder:
        closed = folder / "closed"
        closed.mkdir()
        closed.chmod(mode)
        said = run_python(_ASK, REPOSITORY, closed / below, str(unprivileged() or "")).stdout
        closed.chmod(0o755)
    assert said.startswith("absent the index cannot be written")
    assert f"{closed} may not be written to" in said


def test_an_index_that_is_still_empty(tmp_path: Path) -> None:
    """As an indexer leaves it that was ended, or had no room, before its first word."""
    path = tmp_path / "i.db"
    path.write_bytes(b"")
    index = SearchIndex(path)
    assert not index.coverage(homes_sources(ENVIRONMENT)).levels
    assert index.problem == "there is nothing in it yet"
    index.close()


@pytest.mark.parametrize("begun", [False, True])
def test_an_index_that_is_made_while_it_is_opened(
    begun: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pages had another size, or one of its numbers was read before it was made and the other after: it was noted
    as damaged, for which the indexer that made it gave up."""
    path = tmp_path / "i.db"
    path.write_bytes(b"")
    if begun:
        with closing(schema.connect(path, apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.reserve_bytes(None, 8)
            for setting in ("page_size=8192", "journal_mode=WAL"):
                connection.execute(f"PRAGMA {setting}")
        assert path.stat().st_size == 8192
    makers: list[threading.Thread] = []

    def make_between(connection: apsw.Connection) -> None:
        def before(_: object, statement: str, __: object) -> bool:
            if ("user_version" if begun else "query_only") in statement and not makers:
                makers.append(threading.Thread(target=lambda: schema.open_writer(path).close()))
                makers[0].start()
                makers[0].join(1)  # it waits for whoever reads
            return True

        if connection.open_flags & apsw.SQLITE_OPEN_READONLY:
            connection.set_exec_trace(before)

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, make_between])
    with pytest.raises(schema.IndexUnusable) as raised:
        schema.open_reader(path)
    assert not isinstance(raised.value, schema.Damaged)
    assert len(makers) == begun, "an empty file is not opened"
    schema.open_writer(path).close()
    schema.open_reader(path).close()


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_what_is_no_file_of_ours_is_named(kind: str, tmp_path: Path) -> None:
    """Neither has a size: it was taken for an index that is still to be made."""
    path = tmp_path / "i.db"
    if kind == "pipe":
        os.mkfifo(path, 0o600)
    else:
        path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(schema.IndexUnusable, match="no regular file" if kind == "pipe" else "a link"):
        schema.open_reader(path)
