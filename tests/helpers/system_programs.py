"""The programs that some tests drive and that no package index has: tmux, a browser, a Python for the real Hermes.

A test that drives one says so: `@pytest.mark.needs("tmux")`, or gets it from `required_program`. Where the program is
missing such a test is left out, and the last line of the run tells how many and what installs it; with CI=true it
fails.
"""

from __future__ import annotations

import os
import shutil
import sys

import pytest

__all__ = ["find_program", "pytest_runtest_setup", "pytest_terminal_summary", "required_program"]

_NAMES = {
    "tmux": ("tmux",),
    "browser": (
        *("chromium-headless-shell", "chrome-headless-shell", "chromium", "google-chrome", "chromium-browser"),
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    ),
    # What hermes-agent 0.19.0 runs on.
    "Python 3.13": (
        *((sys.executable,) if sys.version_info < (3, 14) else ()),
        "python3.13",
        "python3.12",
        "python3.11",
    ),
}
_INSTALLERS = {
    "apt-get": "apt-get install tmux chromium",
    "dnf": "dnf install tmux chromium",
    "pacman": "pacman -S tmux chromium",
    "apk": "apk add tmux chromium",
    "brew": "brew install tmux google-chrome",
}
"""Program that installs → its command."""
_PATH = os.environ.get("PATH")
"""Before a test changes it."""
_LEFT_OUT = "left out for want of "


def find_program(name: str) -> str | None:
    """The path of `tmux`, of a `browser` or of `Python 3.13` (or older)."""
    return next((path for one in _NAMES[name] if (path := shutil.which(one, path=_PATH))), None)


def required_program(name: str) -> str:
    """The same; leaves out the test that runs where there is none."""
    found = find_program(name)
    if found is None and os.environ.get("CI"):
        pytest.fail(f"in CI nothing is left out, and there is no {name}", pytrace=False)
    if found is None:
        pytest.skip(f"{_LEFT_OUT}{name}")
    return found


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out a test whose program is missing."""
    for mark in item.iter_markers("needs"):
        required_program(*mark.args)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line what was left out, and what to do about it."""
    reasons = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", ())]
    missing = [reason.partition(_LEFT_OUT)[2] for reason in reasons if _LEFT_OUT in reason]
    if not missing:
        return
    known = [command for installer, command in _INSTALLERS.items() if shutil.which(installer)]
    commands = [known[0] if known else "install tmux and Chromium"] if {"tmux", "browser"} & set(missing) else []
    commands += ["uv python install 3.13"] if "Python 3.13" in missing else []
    left_out = " and ".join(f"{missing.count(name)} with {name}" for name in sorted(set(missing)))
    terminalreporter.write_line(
        f"Not run: {left_out}, which this machine lacks. To run these tests, too: {' && '.join(commands)}"
    )
