"""Law 5: no byte of a store reaches the terminal as a control character, an escape sequence or markup; through both
faces, whatever part of a session it stands in, the names of files included."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from terminal import Terminal

Ask = Callable[..., subprocess.CompletedProcess[bytes]]
POISON = "\x1b]52;c;aGFja2Vk\x07\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b31m\x85\x08\x7f\u202egnp.exe\u2066[bold red]x[/]"
HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
IDS = ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002")


def record(session_id: str, number: int, kind: str, message: object) -> str:
    """A line as Claude Code writes it, poisoned wherever there is room."""
    return json.dumps(
        {
            "type": kind,
            "uuid": f"{session_id[:-4]}{number:04}",
            "parentUuid": f"{session_id[:-4]}{number - 1:04}" if number else None,
            "sessionId": session_id,
            "timestamp": f"2026-11-21T10:00:{number:02}.000Z",
            "cwd": f"/home/{POISON}",
            "gitBranch": POISON,
            "version": POISON,
            "message": message,
        }
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two poisoned sessions, and a file that cannot be read, in a folder of a poisoned name."""
    folder = tmp_path / "home" / ".claude" / "projects" / "-home-\x1b[31m\x07\u202e"
    folder.mkdir(parents=True)
    used = {"input_tokens": 10, "output_tokens": 5}
    for which, session_id in enumerate(IDS):
        call = {"type": "tool_use", "id": "call", "name": f"Bash{POISON}", "input": {"command": POISON, POISON: 1}}
        content = [
            {"type": "thinking", "thinking": POISON},
            {"type": "text", "text": f"`{POISON}`\n# {POISON}"},
            call,
        ]
        answer = {"id": f"m{which}", "role": "assistant", "model": POISON, "content": content, "usage": used}
        result = [{"type": "tool_result", "tool_use_id": "call", "content": f"{POISON}\n{POISON}", "is_error": True}]
        lines = [
            record(session_id, 0, "user", {"role": "user", "content": f"session {which} {POISON}"}),
            record(session_id, 1, "assistant", answer),
            record(session_id, 2, "user", {"role": "user", "content": result}),
            json.dumps({"type": "custom-title", "customTitle": f"title {which} {POISON}", "sessionId": session_id}),
            f'{{"type": "user", "message": {POISON}',
        ]
        (folder / f"{session_id}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (folder / "bad\x1b]0;owned\x07.jsonl").write_bytes(b"\x00\x1b]0;owned\x07" * 20)
    return tmp_path / "home"


@pytest.mark.parametrize(
    "arguments",
    [
        "sessions list",
        "sessions list --json",
        *(f"sessions show claude {IDS[0]} --format {form}" for form in ("markdown", "json", "jsonl")),
        f"sessions show claude {IDS[0]} --context",
        *(f"sessions show claude {IDS[0]} --around m0 --format {form}" for form in ("markdown", "jsonl")),
        f"sessions export claude {IDS[0]} --format html",
        "sessions search gnp --no-index",
        "sessions search gnp --no-index --json",
        "sessions browse",
        f"sessions diff claude:{IDS[0]} claude:{IDS[1]}",
        f"sessions resume claude {IDS[0]} --print",
        "cost report --group-by project",
        "cost report --group-by model",
        "doctor",
        "doctor --json",
    ],
)
def test_the_command_line_writes_nothing_harmful(home: Path, arguments: str, ask: Ask) -> None:
    ran = ask(home, *arguments.split())
    written, said = ran.stdout.decode(), ran.stderr.decode()
    assert written, said
    assert set(HARMFUL.findall(written + said)) == set()


@pytest.fixture
def terminal(home: Path) -> Iterator[Terminal]:
    """The program on those sessions."""
    running = Terminal([sys.executable, "-m", "hermes_tui"], home=home, size=(160, 48))
    yield running
    running.close()


@pytest.mark.e2e
def test_the_screen_shows_it_and_obeys_none_of_it(terminal: Terminal) -> None:
    terminal.until("2 sessions")
    terminal.send("\r")
    terminal.until("open/close")
    for keys, words in (("zZ", "thinking"), ("!", "bad"), ("q", "open/close"), ("\x1b", "mark"), ("e", "secrets")):
        terminal.send(keys)
        terminal.until(words)
        terminal.quiet()
    assert "gnp.exe" in terminal.text
    assert "[bold red]x[/]" in terminal.text
    received = bytes(terminal.received).decode().replace("\x1b]22;default\x07", "")  # the shape of the pointer
    assert not re.search("\x1b\\]52;c;aGFja2Vk|\x1b\\]0;owned|\x1b\\[31m", received)
    assert set(HARMFUL.findall(received)) <= {"\x1b", "\r"}
    terminal.send("\x11")
    assert terminal.wait() == 0
