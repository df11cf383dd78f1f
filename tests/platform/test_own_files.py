"""What stands in the place of a file of ours is named, never followed, never waited for."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_tui import config
from hermes_tui.errors import StoreError, ValidationError
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.record import AuditRecord
from hermes_tui.lifecycle.state_db.database import SessionDB
from hermes_tui.platform import locks
from hermes_tui.platform.log import write_failure
from hermes_tui.platform.own_files import check_own, open_own, read_own
from hermes_tui.platform.paths import log_file
from hermes_tui.sessions.checksummed_file import read_part, write_parts
from hermes_tui.tui.state.query_file import QueryFile, SearchesUnreadable
from hermes_tui.tui.state.recent_searches import Recent
from hermes_tui.tui.state.saved_searches import Saved
from session_adapters.base import Environment

MAGIC = b"magic\n"


def link(path: Path) -> None:
    other = path.with_name("elsewhere")
    write_parts(other, MAGIC, [b"part"])
    path.symlink_to(other)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def directory(path: Path) -> None:
    path.mkdir()


def open_to_others(path: Path) -> None:
    write_parts(path, MAGIC, [b"part"])
    path.chmod(0o622)


IMPOSTORS: dict[Callable[[Path], None], str] = {
    link: "it is a link, which is not followed",
    pipe: "it is no regular file",
    directory: "it is a directory",
    open_to_others: "others may write to it",
}
each = pytest.mark.parametrize("put", IMPOSTORS, ids=lambda put: put.__name__)


@each
def test_it_is_named(tmp_path: Path, put: Callable[[Path], None]) -> None:
    path = tmp_path / "ours"
    put(path)
    for attempt in (open_own, read_own, check_own):
        with pytest.raises(OSError, match=r"ours") as caught:
            attempt(path)
        assert IMPOSTORS[put] in str(caught.value.strerror)


def test_a_file_of_another_user_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ours"
    write_parts(path, MAGIC, [b"part"])
    assert read_part(path, MAGIC, 0) == b"part"
    if os.geteuid() == 0:
        os.chown(path, 4242, 4242)
    else:  # only root can give a file away
        monkeypatch.setattr(os, "geteuid", lambda: 4242)
    assert read_part(path, MAGIC, 0) is None
    with pytest.raises(OSError, match="another user"):
        check_own(path)


@each
def test_a_cache_counts_as_absent_and_is_replaced(tmp_path: Path, put: Callable[[Path], None]) -> None:
    path = tmp_path / "cache.msgpack"
    put(path)
    assert read_part(path, MAGIC, 0) is None
    if put is not directory:
        write_parts(path, MAGIC, [b"new"])
        assert read_part(path, MAGIC, 0) == b"new"
        assert not path.is_symlink()


@each
def test_locks_logs_and_searches_say_so(tmp_path: Path, put: Callable[[Path], None]) -> None:
    path = tmp_path / "lanes.jsonl"
    put(path)
    with pytest.raises(StoreError, match="cannot be read"):
        Audit(path).read()
    with pytest.raises(SearchesUnreadable, match="cannot be read from"):
        QueryFile("Recent searches", "searches", path).read()
    with pytest.raises(OSError):
        locks.take(path)
    assert not locks.is_held(path)


@each
def test_what_is_beside_a_file_says_so_too(tmp_path: Path, put: Callable[[Path], None]) -> None:
    """The locks of saved searches and of operations: nothing is changed without them."""
    put(tmp_path / "saved-searches.lock")
    with pytest.raises(OSError, match="lock"):
        Saved(tmp_path / "saved-searches").add("one")
    assert not (tmp_path / "saved-searches").exists()
    put(tmp_path / "lanes.lock")
    with pytest.raises(StoreError, match="lanes"), Audit(tmp_path / "lanes.jsonl").alone(lambda said: None):
        pytest.fail("it was entered")


@contextmanager
def no_room() -> Iterator[None]:
    """Every file is as long as it may become, as on a disk that is full."""
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_costs_nothing_that_was_there(tmp_path: Path) -> None:
    folder = tmp_path / "ours"
    saved, recent, audit = Saved(folder / "s"), Recent(folder / "r"), Audit(folder / "lanes.jsonl")
    record = AuditRecord(operation="one", event="applied", at=datetime.now(UTC))
    saved.add("first")
    recent.add("first")
    audit.append(record)
    write_parts(folder / "cache", MAGIC, [b"part"])
    before = {path: path.read_bytes() for path in folder.iterdir()}
    attempts: dict[Callable[[], object], type[Exception]] = {
        lambda: saved.add("second"): OSError,
        lambda: recent.add("second"): OSError,
        lambda: audit.append(record): StoreError,
        lambda: write_parts(folder / "cache", MAGIC, [b"other"]): OSError,
    }
    for attempt, error in attempts.items():
        with pytest.raises(error), no_room():
            attempt()
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@each
def test_a_log_that_is_none_is_not_written_to(put: Callable[[Path], None]) -> None:
    log_file().parent.mkdir(parents=True)
    put(log_file())
    assert write_failure(ValueError("x")) is None
    other = log_file().with_name("elsewhere")
    assert not other.exists() or b"ValueError" not in other.read_bytes()


@pytest.mark.parametrize("put", [pipe, directory])
def test_settings_are_not_waited_for(tmp_path: Path, put: Callable[[Path], None]) -> None:
    path = tmp_path / "config.toml"
    put(path)
    with pytest.raises(ValidationError, match=r"config\.toml"):
        config.load(path)


def test_settings_may_be_a_link(tmp_path: Path) -> None:
    """As those who keep their settings in a repository have them."""
    (tmp_path / "kept.toml").write_text('theme = "hermes-dark"\n')
    (tmp_path / "config.toml").symlink_to(tmp_path / "kept.toml")
    assert config.load(tmp_path / "config.toml").theme == "hermes-dark"


def test_what_is_not_ours_is_not_emptied(tmp_path: Path) -> None:
    """It was cut to nothing before anybody looked whose it is."""
    path = tmp_path / "f"
    path.write_bytes(b"theirs")
    path.chmod(0o666)
    with pytest.raises(OSError, match="others"):
        os.close(open_own(path, os.O_CREAT | os.O_TRUNC | os.O_RDWR))
    assert path.read_bytes() == b"theirs"
    path.chmod(0o600)
    os.close(open_own(path, os.O_CREAT | os.O_TRUNC | os.O_RDWR))
    assert path.read_bytes() == b""


@pytest.mark.parametrize("variables", [{"HOME": "~"}, {"HOME": "~", "HERMES_HOME": "~/x"}])
def test_without_a_home_the_library_says_so(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HERMES_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(StoreError, match=r"^~/\S+ cannot be found: HOME is no directory"):
        SessionDB()
    with pytest.raises(ValueError, match=r"^HOME is '~', which is no directory; set it to one$"):
        Environment.current()
