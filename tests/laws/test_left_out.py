"""A test whose program is missing is left out and named at the end, and never left out in CI."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import REPOSITORY

_TESTS = """
import pytest

@pytest.mark.needs("tmux")
def test_in_tmux() -> None:
    pass

@pytest.mark.needs("browser")
def test_in_a_browser() -> None:
    pass

def test_in_neither() -> None:
    pass
"""


def outcome(folder: Path, path: Path, processes: int = 0, **variables: str) -> str:
    """What pytest says about `_TESTS` where `path` is all that PATH has."""
    (folder / "test_three.py").write_text(_TESTS)
    plugins = "-p xdist -p system_programs -W ignore::pytest.PytestUnknownMarkWarning"
    search = {"PYTHONPATH": str(REPOSITORY / "tests" / "helpers"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, *f"-m pytest -q -n {processes} {plugins} test_three.py".split()],
        env={"PATH": str(path), "HOME": str(folder), **search, **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def test_missing_programs(tmp_path: Path) -> None:
    bare, programs = tmp_path / "bare", tmp_path / "programs"
    bare.mkdir()
    programs.mkdir()
    for name in ("tmux", "chromium", "apt-get"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    *_, line, last = outcome(tmp_path, bare, processes=2).splitlines()
    assert line.startswith("Not run: 1 with browser and 1 with tmux,")
    assert "1 passed, 2 skipped" in last
    (programs / "apt-get").replace(bare / "apt-get")
    assert ": apt-get install tmux chromium\n" in outcome(tmp_path, bare)
    said = outcome(tmp_path, bare, CI="true")
    assert "Not run" not in said and "1 passed, 2 errors" in said
    assert "there is no tmux" in said and "there is no browser" in said
    said = outcome(tmp_path, programs)
    assert "Not run" not in said and "3 passed" in said
