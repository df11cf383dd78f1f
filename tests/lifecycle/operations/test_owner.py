"""Whose the files of a store are stays as it was, whoever carries out an operation."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_tui.errors import OperationRefused
from hermes_tui.lifecycle.lane_index.index_file import write_index
from hermes_tui.platform.atomic_write import replacing
from hermes_tui.sessions.export.target import write_file
from lifecycle.sample_home import Home

# Only root can give files away. Anybody else runs the same tests on files of his own, where they show that modes are
# kept and that nothing is refused; what root does is then seen where the tests run as root, as those of the CI do.
OWNER = (12345, 12346) if os.geteuid() == 0 else (os.geteuid(), os.getegid())


def given_away(path: Path) -> None:
    for one in (path, *path.rglob("*")):
        os.chown(one, *OWNER, follow_symlinks=False)


def owners(path: Path) -> dict[str, tuple[int, int]]:
    return {str(one): (one.lstat().st_uid, one.lstat().st_gid) for one in (path, *path.rglob("*"))}


@pytest.mark.parametrize("parts", [("home",), ("old_versions", "0.17.0")], ids=["table", "file"])
def test_an_operation_keeps_owner_and_mode(
    store: Callable[..., Path], tmp_path: Path, parts: tuple[str, ...]
) -> None:
    """The database is ours, and the index somebody else's."""
    home = Home(store("hermes", *parts), tmp_path)
    home.index.chmod(0o640)
    given_away(home.index.parent)
    before = owners(home.path)
    outcome = home.apply("reset", next(key for key in home.members() if not key.startswith("_")))
    assert outcome.state == "done"
    home.operations.apply(home.operations.undo(outcome.operation))
    assert before == {name: owner for name, owner in owners(home.path).items() if name in before}
    assert stat.S_IMODE(home.index.stat().st_mode) == 0o640


def test_the_database_of_another_user_is_not_written(store: Callable[..., Path], tmp_path: Path) -> None:
    """Not even by root: what SQLite leaves beside it would be root's."""
    home = Home(store("hermes", "home"), tmp_path)
    given_away(home.path)
    before = owners(home.path)
    plan = home.plan("suspend")
    if OWNER[0] == os.geteuid():
        home.operations.apply(plan)
    else:
        with pytest.raises(OperationRefused, match="belongs to another user"):
            home.operations.apply(plan)
    assert before == {name: owner for name, owner in owners(home.path).items() if name in before}


def test_a_new_index_is_its_directorys(tmp_path: Path) -> None:
    given_away(tmp_path)
    write_index(tmp_path / "sessions.json", {})
    status = (tmp_path / "sessions.json").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (*OWNER, 0o600)


def test_an_index_that_would_change_hands_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As somebody who may write to the directory, and owns nothing in it."""
    path = tmp_path / "sessions.json"
    path.write_text("{}")
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(PermissionError, match="it belongs to another user"):
        write_index(path, {"a": {}})
    assert path.read_text() == "{}"
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == [path.name]


def test_an_export_over_a_file_keeps_owner_and_mode(tmp_path: Path) -> None:
    path = tmp_path / "export.html"
    path.write_text("old")
    path.chmod(0o644)
    given_away(tmp_path)
    write_file(path, [b"new"], replace=True)
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (*OWNER, 0o644)


def test_an_owner_that_cannot_be_kept_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refused)
    with pytest.raises(PermissionError), replacing(path, owner=(54321, 54321)) as file:
        file.write(b"new")
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["file"]
