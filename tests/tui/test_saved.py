"""Searches that were saved by key: a file for the owner alone, which several programs may change at once."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_tui.platform import paths
from hermes_tui.platform.locks import take
from hermes_tui.tui.state.query_file import SearchesUnreadable, tidy
from hermes_tui.tui.state.saved_searches import Saved

_SAVING = """
import sys
from pathlib import Path
from hermes_tui.tui.state import saved_searches
from hermes_tui.tui.state.saved_searches import Saved
saved_searches.PATIENCE = 180.0  # whoever has the file may have no processor for long
saved = Saved(Path(sys.argv[1]))
for number in range(25):
    saved.add(f"{sys.argv[2]} {number}")
    if number % 5 == 0:
        saved.remove(f"{sys.argv[2]} {number}")
"""


def test_what_is_saved_stands_in_the_file_the_oldest_first(tmp_path: Path) -> None:
    saved = Saved(tmp_path / "state" / "saved-searches")
    assert saved.queries == []
    for query in ("weir", " wet\n  feet ", "漢字 OR 😀", "weir", "", " "):
        saved.add(query)
    assert saved.path.read_text() == "weir\nwet feet\n漢字 OR 😀\n"
    assert stat.S_IMODE(saved.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(saved.path.parent.stat().st_mode) == 0o700
    saved.remove("wet feet")
    saved.remove("never saved")
    assert saved.path.read_text() == "weir\n漢字 OR 😀\n"
    assert Saved(saved.path).queries == saved.queries == ["weir", "漢字 OR 😀"]
    assert {one.name for one in saved.path.parent.iterdir()} == {"saved-searches", "saved-searches.lock"}
    assert Saved().path == paths.state_dir() / "saved-searches"


def test_programs_that_save_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "saved-searches"
    running = [subprocess.Popen([sys.executable, "-c", _SAVING, path, name]) for name in ("one", "two", "three")]
    assert [one.wait() for one in running] == [0, 0, 0]
    expected = {f"{name} {number}" for name in ("one", "two", "three") for number in range(25) if number % 5}
    lines = path.read_text().splitlines()
    assert len(lines) == len(expected) and set(lines) == expected


def test_a_file_that_another_program_keeps_locked_is_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_tui.tui.state.saved_searches.PATIENCE", 0.0)
    saved = Saved(tmp_path / "saved-searches")
    saved.add("weir")
    assert take(tmp_path / "saved-searches.lock") is not None
    with pytest.raises(TimeoutError, match=r"saved-searches is being changed by another program; try again$"):
        saved.add("jetty")
    assert saved.path.read_text() == "weir\n"


def test_what_cannot_be_read_is_left_as_it_is(tmp_path: Path) -> None:
    saved = Saved(tmp_path / "saved-searches")
    saved.path.mkdir()  # for root, too, nothing that can be read
    for change in (saved.add, saved.remove):
        with pytest.raises(SearchesUnreadable, match=r"^Saved searches cannot be read from .*move it away\.$"):
            change("weir")
    assert saved.path.is_dir()


def test_bytes_of_any_kind_are_kept(tmp_path: Path) -> None:
    saved = Saved(tmp_path / "saved-searches")
    saved.path.write_bytes(b"caf\xe9\nplain\n")
    saved.add("half \ud800")
    assert saved.path.read_bytes() == b"caf\xe9\nplain\nhalf ?\n"
    saved.remove(saved.queries[0])
    assert saved.path.read_bytes() == b"plain\nhalf ?\n"


def test_only_what_fits_a_line_is_tidy() -> None:
    assert tidy("a\n b\u2028c\x1d") == "a b c"
    assert tidy("x" * 1_000) == "x" * 1_000
    assert tidy("x" * 1_001) == ""
