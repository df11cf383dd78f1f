"""Running the command line: in this process for its answers, as a real process for its manners."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from hermes_tui.cli.execute import execute
from support import REPOSITORY
from tiny_home import TinyHome


class Ran(NamedTuple):
    """What came of a command."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(tiny_home: TinyHome, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """`cli("sessions", "list")` runs that command on `tiny_home`."""

    def run(*arguments: str) -> Ran:
        capfd.readouterr()
        code = execute(["--home", str(tiny_home.home), *arguments])
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return run


@pytest.fixture
def process_environment(third_party: Path) -> dict[str, str]:
    """Variables for a real `python -m hermes_tui` that finds `tiny`."""
    search = (str(third_party), str(REPOSITORY / "tests" / "helpers"), str(REPOSITORY), str(REPOSITORY / "adapters"))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(search)}


@pytest.fixture
def spawn(process_environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Runs the program as a process of its own, without a terminal."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        command: Sequence[str] = (sys.executable, "-m", "hermes_tui", *arguments)
        return subprocess.run(
            command,
            env={**process_environment, **variables},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=180,
            check=False,
        )

    return run
