"""Every command on session files that are made to keep it busy: within the bound, and with all that is sound."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bombs import TARGETS, WORD, lay
from bounded_run import LIMIT, baseline, run_bounded, run_interrupted
from claude_lines import ClaudeHome
from hostile_files import LOGS, with_hole
from session_adapters.reading.bounds import VALUES_LIMIT
from support import STORES

_COMMANDS = (
    ("sessions", "list", "--json"),
    ("sessions", "search", "zebra", "--no-index", "--json"),
    ("sessions", "search", "zebra", "--json"),
    ("cost", "report"),
    ("doctor",),
    ("index", "rebuild"),
)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """All agents in one home as they are, and in one where a file of each goes on for 100 GB, and another of Claude
    Code's holds a line of millions of values."""
    sound, hostile = tmp_path_factory.mktemp("sound"), tmp_path_factory.mktemp("hostile")
    for victim in LOGS:
        for home in (sound, hostile):
            shutil.copytree(STORES / victim.agent / victim.home, home, dirs_exist_ok=True, copy_function=shutil.copy)
        with_hole(victim.find(hostile), 100 << 30)
    other = sorted((hostile / ".claude/projects/-home-dev-shop").glob("*.jsonl"))[1]
    with other.open("ab") as file:
        values = b"{}," * VALUES_LIMIT
        file.write(b'{"type":"user","message":{"role":"user","content":[' + values + b"{}]}}\n")
    return sound, hostile


def listed(output: str) -> set[tuple[str, str]]:
    return {(one["agent"], one["sessionId"]) for one in json.loads(output)}


@pytest.mark.parametrize("arguments", _COMMANDS, ids=" ".join)
def test_commands_end_within_the_bound(homes: tuple[Path, Path], arguments: tuple[str, ...]) -> None:
    sound, hostile = homes
    run = run_bounded(hostile, *arguments)
    assert run.code in (0, 1), run.stderr
    assert run.processor < LIMIT.seconds
    assert run.over(baseline(*arguments)) < LIMIT.megabytes
    assert "Traceback" not in run.stderr
    assert "unexpected" not in run.stderr
    if arguments[1:2] == ("list",):
        assert listed(run.stdout) == listed(run_bounded(sound, *arguments).stdout)


def test_what_is_left_out_is_said(homes: tuple[Path, Path]) -> None:
    _, hostile = homes
    path = LOGS[0].find(hostile)
    run = run_bounded(hostile, "sessions", "show", "claude", path.stem)
    assert run.code == 0
    assert run.processor < LIMIT.seconds
    assert "**Not readable:** 1 record\n" in run.stdout
    told = run_bounded(hostile, "doctor").stdout
    for victim in LOGS:
        (said,) = (line for line in told.splitlines() if victim.find(hostile).name in line and "byte" in line)
        assert "the line is too long to be read" in said


@pytest.mark.parametrize(
    "bomb",
    [
        "cursor/chat/blobs/size: one message, 200 times",
        "cursor/chat/blobs/count: fields",
        "cursor/table/cursorDiskKV/depth: objects",
        "gemini/lines/transcript/foreign",
        "hector/yaml/config/count: merges",
        "hermes/yaml/config/count: aliases",
        "openclaw/zstd/file/size: within",
        "openclaw/zstd/archive/size: gigabytes",
    ],
)
def test_a_bomb_in_each_kind_of_store(bomb: str, tmp_path: Path) -> None:
    """`make bombs` tries them all, with every command."""
    name, _, kind = bomb.rpartition("/")
    (target,) = (one for one in TARGETS if f"{one.agent}/{one.kind}/{one.label}" == name)
    lay(kind, target, tmp_path / "home")
    for arguments in (_COMMANDS[0], ("sessions", "search", WORD, "--no-index", "--json")):
        run = run_bounded(tmp_path / "home", *arguments)
        assert run.code == 0, run.stderr
        assert run.processor < LIMIT.seconds
        assert run.over(baseline(*arguments)) < LIMIT.megabytes
        assert WORD in run.stdout  # of its neighbour


def test_ctrl_c_ends_a_command_on_them(homes: tuple[Path, Path], tmp_path: Path) -> None:
    """In the middle of its work: there are sessions enough for seconds."""
    _, hostile = homes
    busy = ClaudeHome(tmp_path / "home")
    path = busy.session("a long one", turns=20)
    said = path.read_bytes()
    for number in range(200):
        path.with_stem(f"{path.stem[:-4]}{number:04}").write_bytes(said * 30)
    for home, after in ((hostile, 0.5), (busy.home, 0.7)):
        run, seconds = run_interrupted(home, "index", "rebuild", after=after)
        assert run.code == 130 if home == busy.home else run.code in (0, 130)
        assert seconds < 1.0
