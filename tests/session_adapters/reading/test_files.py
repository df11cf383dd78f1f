"""Files are opened and read without touching them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from session_adapters.reading.files import file_stamp, open_file, read_at, read_small
from session_adapters.reading.lines import lines


def test_nothing_but_regular_files_is_opened_and_nothing_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("pipe", ".", "loop", "absent"):
        with pytest.raises(OSError), open_file(tmp_path / name):
            pass


def test_descriptors_are_given_back_also_after_errors(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"{}\n" * 10)
    table = Path("/proc/self/fd") if Path("/proc/self/fd").is_dir() else Path("/dev/fd")
    before = len(list(table.iterdir()))
    for _ in range(50):
        with open_file(tmp_path / "f") as fd:
            assert len(list(lines(fd))) == 10
        with pytest.raises(OSError), open_file(tmp_path):
            pass
        with pytest.raises(ZeroDivisionError), open_file(tmp_path / "f"):
            raise ZeroDivisionError
    assert len(list(table.iterdir())) == before


def test_reading_leaves_the_access_time_alone(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * 100)
    os.utime(path, (1_000_000, 2_000_000))
    assert read_small(path) == b"x" * 100
    status = path.stat()
    assert status.st_mtime == 2_000_000
    if hasattr(os, "O_NOATIME"):
        assert status.st_atime == 1_000_000


def test_small_files_must_be_small(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 11)
    with pytest.raises(OSError, match="larger than expected"):
        read_small(tmp_path / "f", 10)


def test_the_stamp_changes_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"one")
    first = file_stamp(path.stat())
    assert file_stamp(path.stat()) == first
    path.write_bytes(b"three")
    second = file_stamp(path.stat())
    other = tmp_path / "g"
    other.write_bytes(b"three")
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)
    assert len({first, second, file_stamp(path.stat())}) == 3


def test_reading_past_the_end_gives_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    with open_file(tmp_path / "f") as fd:
        assert read_at(fd, 1, 100) == b"bc"
        assert read_at(fd, 50, 100) == b""
