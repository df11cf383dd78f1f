"""What stands in the place of a file of ours is named, never followed, never waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_tui import config
from hermes_tui.errors import StoreError, ValidationError
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.platform import locks
from hermes_tui.platform.log import write_failure
from hermes_tui.platform.own_files import check_own, open_own, read_own
from hermes_tui.platform.paths import log_file
from hermes_tui.sessions.checksummed_file import read_part, write_parts
from hermes_tui.tui.query_file import QueryFile, SearchesUnreadable

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
