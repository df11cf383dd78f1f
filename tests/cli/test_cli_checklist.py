"""Checklist R-5 and R-6 for what is done with a session: exit codes, what goes where, no colours in a pipe."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiny_home import TinyHome

Ran = subprocess.CompletedProcess[bytes]
Spawn = Callable[..., Ran]
Cli = Callable[..., Any]

DATA = (
    ("cost", "report"),
    ("sessions", "export", "tiny:one"),
    ("sessions", "export", "tiny:one", "--format", "html"),
    ("sessions", "diff", "tiny:one", "tiny:two"),
)
JSON = (
    ("cost", "report", "--json"),
    ("sessions", "export", "tiny:one", "--format", "json"),
    ("sessions", "diff", "tiny:one", "tiny:two", "--json"),
)
ERRORS = {
    ("cost", "report", "--group-by", "mood"): 2,
    ("sessions", "export", "tiny:one", "--format", "yaml"): 2,
    ("sessions", "export", "nobody", "one"): 3,
    ("sessions", "diff", "tiny:one", "nobody:one"): 3,
    ("sessions", "resume", "tiny", "one"): 6,
    ("sessions", "fork", "tiny", "one"): 6,
    ("sessions", "export", "tiny", "three"): 8,
    ("sessions", "diff", "tiny:one", "tiny:three"): 8,
    ("sessions", "resume", "tiny", "three"): 8,
}


@pytest.fixture
def home(tiny_home: TinyHome) -> str:
    tiny_home.add("one", turns=3, usd=0.5)
    tiny_home.add("two", turns=4, title="\x1b[31mred")
    return str(tiny_home.home)


@pytest.mark.parametrize("arguments", DATA, ids=" ".join)
def test_r_5_data_goes_to_standard_output_and_nothing_else_does(
    arguments: tuple[str, ...], home: str, spawn: Spawn
) -> None:
    ran = spawn("--home", home, *arguments, FORCE_COLOR="1", TERM="xterm-256color")
    assert ran.returncode == 0
    assert ran.stdout.strip()
    assert b"hermes-tui: " not in ran.stdout
    assert b"\x1b" not in ran.stdout + ran.stderr
    assert all(line.startswith(b"hermes-tui: ") for line in ran.stderr.splitlines())
    assert spawn("--home", home, *arguments, NO_COLOR="1", TERM="dumb").stdout == ran.stdout


@pytest.mark.parametrize("arguments", JSON, ids=" ".join)
def test_r_5_json_is_one_document(arguments: tuple[str, ...], home: str, cli: Cli) -> None:
    ran = cli(*arguments)
    assert ran.code == 0
    assert isinstance(json.loads(ran.out), dict)
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("arguments", ERRORS, ids=" ".join)
def test_r_5_and_r_6_errors_have_their_exit_codes_and_one_sentence(
    arguments: tuple[str, ...], home: str, cli: Cli
) -> None:
    ran = cli(*arguments)
    assert ran.code == ERRORS[arguments]
    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert line.startswith("hermes-tui: ")


def test_r_5_errors_are_told_as_json_where_json_was_asked_for(home: str, cli: Cli) -> None:
    ran = cli("sessions", "diff", "tiny:one", "tiny:three", "--json")
    assert ran.code == 8
    assert json.loads(ran.out)["error"]["code"] == "SESSION_NOT_FOUND"


@pytest.mark.parametrize("arguments", DATA[1:3], ids=" ".join)
def test_r_5_a_reader_that_goes_away_is_no_error_to_talk_about(
    arguments: tuple[str, ...], tiny_home: TinyHome, process_environment: dict[str, str]
) -> None:
    tiny_home.add("one", turns=20_000)
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes_tui", "--home", str(tiny_home.home), *arguments],
        env=process_environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("there", [False, True])
def test_where_there_is_no_room_no_half_of_a_file_is_left(
    tiny_home: TinyHome, process_environment: dict[str, str], tmp_path: Path, there: bool
) -> None:
    """Files may grow to 4 kB here; the document is larger."""
    tiny_home.add("one", turns=500)
    target = tmp_path / "place" / "one.md"
    target.parent.mkdir()
    if there:
        target.write_text("as it was")
    # Without -B the interpreter would keep the halves of what it compiles, for everybody.
    command = [sys.executable, "-B", "-m", "hermes_tui", "--home", str(tiny_home.home)]
    command += ["sessions", "export", "tiny:one"]
    ran = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -f 8; exec "$@"', "sh", *command, "--force", "-o", str(target)],
        env=process_environment,
        capture_output=True,
        timeout=180,
        check=False,
    )
    assert ran.returncode == 2
    assert ran.stderr.decode() == f"hermes-tui: cannot write '{target}': File too large\n"
    assert [path.name for path in target.parent.iterdir()] == (["one.md"] if there else [])
    assert not there or target.read_text() == "as it was"
