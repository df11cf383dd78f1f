"""Files that are replaced whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_tui.platform.atomic_write import replacing, sweep


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_old_one_stands_until_the_new_one_is_whole(folder: Path) -> None:
    path = folder / "file"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert _names(folder) == ["file"]


def test_after_an_error_nothing_has_changed(folder: Path) -> None:
    path = folder / "file"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert _names(folder) == ["file"]


def test_a_mode_is_kept_whatever_the_umask(folder: Path) -> None:
    before = os.umask(0o077)
    try:
        with replacing(folder / "file", mode=0o664) as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "file").stat().st_mode) == 0o664


def test_a_file_that_came_meanwhile_is_not_replaced_unless_asked(folder: Path) -> None:
    path = folder / "file"
    with pytest.raises(FileExistsError), replacing(path, over=False) as file:
        file.write(b"ours")
        path.write_bytes(b"theirs")
    assert path.read_bytes() == b"theirs"
    assert _names(folder) == ["file"]
    with replacing(folder / "other", over=False, lasting=True) as file:
        file.write(b"ours")
    assert (folder / "other").read_bytes() == b"ours"
    assert _names(folder) == ["file", "other"]


def test_without_hard_links_it_is_a_rename(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr("hermes_tui.platform.atomic_write.os.link", refused)
    with replacing(folder / "file", over=False) as file:
        file.write(b"ours")
    assert _names(folder) == ["file"]


def test_what_a_killed_process_left_is_swept_and_nothing_else(folder: Path) -> None:
    """One that still writes keeps its file; so does whatever only looks like one."""
    path = folder / "file"
    code = (
        "import os, sys; from pathlib import Path; from hermes_tui.platform.atomic_write import replacing\n"
        "with replacing(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); print(flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    others = [".file.abcdefgh.par", ".file.abcdefg.part", ".other.abcdefgh.part", "file.abcdefgh.part"]
    for name in others:
        (folder / name).write_bytes(b"theirs")
    os.mkfifo(folder / ".file.abcdefgh.part")
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as dies,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as lives,
    ):
        for one in (dies, lives):
            assert one.stdout is not None
            one.stdout.readline()
        assert len(_names(folder)) == len(others) + 3
        dies.send_signal(signal.SIGKILL)
        dies.wait()
        sweep(path)
        assert len(_names(folder)) == len(others) + 2
        lives.communicate()
        assert lives.returncode == 0
    assert path.read_bytes() == b"half"
    assert _names(folder) == sorted([*others, ".file.abcdefgh.part", "file"])
