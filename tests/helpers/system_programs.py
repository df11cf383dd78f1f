"""The two programs that some tests drive and that no package index has: tmux and a browser.

A test that drives one says so: `@pytest.mark.needs("tmux")`. Where the program is missing such a test is left out,
and the last line of the run tells how many and what installs it; with CI=true it fails.
"""

from __future__ import annotations

import os
import shutil

import pytest

__all__ = ["find_program", "pytest_runtest_setup", "pytest_terminal_summary"]

_NAMES = {
    "tmux": ("tmux",),
    "browser": (
        *("chromium-headless-shell", "chrome-headless-shell", "chromium", "google-chrome", "chromium-browser"),
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
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
    """The path of `tmux` or of a `browser`."""
    return next((path for one in _NAMES[name] if (path := shutil.which(one, path=_PATH))), None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out a test whose program is missing."""
    missing = [name for mark in item.iter_markers("needs") for name in mark.args if find_program(name) is None]
    if missing and os.environ.get("CI"):
        pytest.fail(f"in CI nothing is left out, and there is no {' and no '.join(missing)}", pytrace=False)
    if missing:
        pytest.skip(f"{_LEFT_OUT}{', '.join(missing)}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line what was left out, and what to do about it."""
    reasons = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", ())]
    missing = [reason.partition(_LEFT_OUT)[2] for reason in reasons if _LEFT_OUT in reason]
    if not missing:
        return
    commands = [command for installer, command in _INSTALLERS.items() if shutil.which(installer)]
    left_out = " and ".join(f"{missing.count(name)} with {name}" for name in sorted(set(missing)))
    install = f"run {commands[0]}" if commands else "install tmux and Chromium"
    terminalreporter.write_line(f"Not run: {left_out}, which this machine lacks. For these tests, {install}")
