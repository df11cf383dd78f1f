"""Running commands in this process, so that a law can be tried on every store: only one home needs real programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from hermes_tui.cli.execute import execute


@pytest.fixture
def ask(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., CompletedProcess[bytes]]:
    """`ask(home, "sessions", "list")` runs that command on the home."""

    def run(home: Path, *arguments: str) -> CompletedProcess[bytes]:
        capfdbinary.readouterr()
        code = execute(["--home", str(home), *arguments])
        return CompletedProcess(arguments, code, *capfdbinary.readouterr())

    return run
