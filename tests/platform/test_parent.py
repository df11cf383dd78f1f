"""Nothing that a command starts outlives it when it is killed, and Ctrl-C ends every command within a second."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bounded_run import Stopwatch, run_interrupted, run_killed
from hermes_tui.sessions.index.service import IndexService, index_file
from session_adapters.base import Environment

_WORDS = ("the", "quick", "fox", "looks", "over", "ledger", "and", "rolls", "lazy", "deploy", "back", "noon", "by")
_SESSION = "00000000-0000-4000-8000-000000000000"
_SIZE = 120 << 20
"""Bytes of transcripts: several seconds' work for each command and its helpers, where nothing is cached."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of Claude Code with forty long sessions, alike but for their ids."""
    home = tmp_path_factory.mktemp("corpus")
    folder = home / ".claude" / "projects" / "-home-dev-shop"
    folder.mkdir(parents=True)
    lines = b"".join(map(_line, range(1, _SIZE // 40 // 1500)))
    for number in range(40):
        own = f"{number:08x}-0000"
        (folder / f"{_SESSION.replace('00000000-0000', own)}.jsonl").write_bytes(
            lines.replace(b"00000000-0000", own.encode()).replace(b"msg_", b"msg_%d_" % number)
        )
    return home


def _line(turn: int) -> bytes:
    text = " ".join(_WORDS[turn * step % len(_WORDS)] for step in range(1, 200))
    role = ("assistant", "user")[turn % 2]
    message: dict[str, object] = {"role": role, "content": [{"type": "text", "text": text}]}
    if role == "assistant":
        usage = {"input_tokens": turn, "output_tokens": 7}
        message |= {"id": f"msg_{turn}", "model": "claude-sonnet-4-5", "usage": usage}
    record = {
        "type": role,
        "sessionId": _SESSION,
        "uuid": f"00000000-0000-4000-9000-{turn:012x}",
        "parentUuid": f"00000000-0000-4000-9000-{turn - 1:012x}" if turn > 1 else None,
        "timestamp": f"2026-03-01T{turn // 3600 % 24:02}:{turn // 60 % 60:02}:{turn % 60:02}.000Z",
        "cwd": "/home/dev/shop",
        "message": message,
    }
    return json.dumps(record).encode() + b"\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("sessions", "list"),
        ("sessions", "search", "ledger"),
        ("cost", "report"),
        ("doctor",),
        ("index", "rebuild"),
        ("lanes", "list"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("after", [0.3, 1.2])
def test_ctrl_c_ends_it_and_all_that_it_started(
    corpus: Path, tmp_path: Path, arguments: tuple[str, ...], after: float
) -> None:
    cache = str(tmp_path / "cache")
    done, seconds = run_interrupted(corpus, *arguments, after=after, XDG_CACHE_HOME=cache)
    assert done.code in (130, 0, -2), done.stderr
    assert seconds < 1.0
    assert done.left == () or (done.code == 0 and arguments[1:2] == ("search",)), "an index is made after a search"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [("cost", "report"), ("index", "rebuild")], ids=" ".join)
@pytest.mark.parametrize("after", [0.6, 1.5])
def test_helpers_end_with_a_command_that_is_killed(
    corpus: Path, tmp_path: Path, arguments: tuple[str, ...], after: float
) -> None:
    assert run_killed(corpus, *arguments, after=after, XDG_CACHE_HOME=str(tmp_path / "cache")).left == ()


_PARENTS = {
    "indexer": (
        "service = IndexService(index_file(environment, cache), environment); service.poke()\n"
        "print(service.pid, flush=True); sys.stdin.read()\n"
    ),
    "clerk": (
        "import subprocess\n"
        "real = subprocess.Popen\n"
        "def told(*args, **more):\n"
        "    made = real(*args, **more); print(made.pid, flush=True); return made\n"
        "subprocess.Popen = told\n"
        "manager = SessionManager(environment, cache_dir=cache, agents=['claude']); manager.catalogue.refresh()\n"
        "clerk.ask_helper(clerk.CallsQuestion(environment, manager.catalogue.entries(), {}))\n"
    ),
}


@pytest.mark.parametrize("helper", _PARENTS)
def test_helpers_end_with_a_program_that_is_killed(corpus: Path, tmp_path: Path, helper: str) -> None:
    """The indexer that follows a terminal program, and the one that adds up costs beside it."""
    code = (
        "import os, sys; from pathlib import Path\n"
        "from hermes_tui.sessions.cost import call_reader as clerk\n"
        "from hermes_tui.sessions.index.service import IndexService, index_file\n"
        "from hermes_tui.sessions.manager import SessionManager\n"
        "from session_adapters.base import Environment\n"
        "environment, cache = Environment(home=Path(sys.argv[1])), Path(sys.argv[2])\n"
    )
    command = [sys.executable, "-c", code + _PARENTS[helper], str(corpus), str(tmp_path / "cache")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        time.sleep(0.3)
        assert _runs(pid), "it is at work"
        watch = Stopwatch([pid, os.getpid()])
        parent.kill()
        while _runs(pid) and watch.seconds() < 30:
            time.sleep(0.02)
        assert watch.seconds() < 1.0


def test_an_indexer_that_goes_on_alone_does(corpus: Path, tmp_path: Path) -> None:
    """A search leaves one behind, so that the next is quicker."""
    environment = Environment(home=corpus)
    service = IndexService(index_file(environment, tmp_path / "cache"), environment)
    service.poke(follow=False, alone=True)
    pid = service.pid
    assert pid is not None
    service.close()
    time.sleep(0.5)
    assert _runs(pid) or service.progress().state == "complete"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
