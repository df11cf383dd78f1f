"""The line that does the same as a key, given back to a shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hermes_tui.tui.screens.cli_equivalent import own_command


@pytest.mark.parametrize("home", [None, Path("/srv/a b/it's"), Path("/srv/\x1b[2J\u202e")])
@pytest.mark.parametrize("key", ["agent:main:slack:C1:U1", "a b'c\"$HOME`id`", "-x", "\x1b[2J\n\u202e"])
def test_a_shell_takes_it_for_what_it_was_made_of(home: Path | None, key: str) -> None:
    line = own_command(("lanes", "reset", key), home)
    assert line.isprintable()
    shown = 'printf "%s\\0" "$@"'
    code = f"hermes-tui() {{ {shown}; }}\n{line}"
    done = subprocess.run(["bash", "-c", code], capture_output=True, check=True, timeout=180)
    words = [os.fsdecode(one) for one in done.stdout.split(b"\0")[:-1]]
    assert words == [*(("--home", str(home)) if home is not None else ()), "lanes", "reset", key]
