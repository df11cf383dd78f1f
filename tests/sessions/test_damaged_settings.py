"""A small file of an agent that is damaged: `doctor` names it in a sentence, and the sessions stay."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from hermes_tui.cli.execute import execute
from support import STORES

Damage = Callable[[Path], object]


def _instead(make: Callable[[Path], object]) -> Damage:
    def put(path: Path) -> None:
        path.unlink()
        make(path)

    return put


DAMAGE: dict[str, Damage] = {
    "cut off": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "no text": lambda path: path.write_bytes(b"\x00\xff\xfe{"),
    "a list": lambda path: path.write_bytes(b"[1, 2, 3]"),
    "a directory": _instead(lambda path: path.mkdir()),
    "a pipe": _instead(lambda path: os.mkfifo(path)),
    "a circle": _instead(lambda path: path.symlink_to(path.name)),
}
ALIAS = ".hermes/platforms/whatsapp/session/lid-mapping-999000111222333.json"
FILES = {
    ".hermes/gateway_state.json": "",
    ".hermes/gateway.pid": '{"pid": 17, "kind": "hermes-gateway"}',
    ".hermes/gateway.lock": "",
    ".hermes/config.yaml": "gateway: {multiplex_profiles: ",
    ".hermes/gateway.json": '{"session_store_max_age_days": 30}',
    ".hermes/.restart_failure_counts": '{"a": 1}',
    ".hermes/sessions/sessions.json": "",
    ".hermes/runtime/active_sessions.json": '{"entries": []}',
    ALIAS: "",
    ".gemini/projects.json": "",
    ".gemini/tmp/shop/.project_root": "",
    ".pi/agent/settings.json": "",
    ".omp/agent/custom-session-files/elsewhere": "/nowhere/at/all.jsonl",
}
"""Name → what is in it, where the sample store has none that such damage is told of."""
AS_TEXT = {(".gemini/tmp/shop/.project_root", "cut off")}
"""What nobody can tell from a sound one."""


@pytest.fixture
def sound(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of the sample store of the agent that a file belongs to."""

    def copy(name: str) -> Path:
        agent = name.removeprefix(".").partition("/")[0]
        shutil.copytree(STORES / agent / "home", tmp_path / "home", symlinks=True)
        path = tmp_path / "home" / name
        if FILES[name]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(FILES[name])
        return path

    return copy


@pytest.mark.parametrize(("name", "damage"), [one for one in product(FILES, DAMAGE) if one not in AS_TEXT])
def test_doctor_names_it(
    name: str,
    damage: str,
    sound: Callable[[str], Path],
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = sound(name)

    def ran(*arguments: str) -> str:
        assert execute(["--home", str(path.parents[len(Path(name).parts) - 1]), *arguments]) == 0
        out, err = capfd.readouterr()
        assert "unexpected" not in err
        return out

    before = ran("sessions", "list", "--json")
    DAMAGE[damage](path)
    os.utime(path, (0, 0), follow_symlinks=False)
    after = ran("sessions", "list", "--json")
    listed, expected = ({(one["agent"], one["sessionId"]) for one in json.loads(text)} for text in (after, before))
    assert listed == expected
    said = [line for line in ran("doctor").splitlines() if str(path) in line]
    assert any(line.startswith("  ! ") for line in said)


@pytest.mark.parametrize("name", [".hermes/gateway.json", ".gemini/projects.json", ".pi/agent/settings.json"])
def test_nothing_is_said_of_sound_ones(
    name: str, sound: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    home = sound(name).parents[len(Path(name).parts) - 1]
    assert execute(["--home", str(home), "doctor"]) == 0
    said = [line for line in capfd.readouterr().out.splitlines() if line.startswith("  ! ")]
    assert not [line for line in said for one in FILES if f"/{one}" in line]


def test_every_fault_of_lanes_is_told(sound: Callable[[str], Path], capfd: pytest.CaptureFixture[str]) -> None:
    """They are of several files, so that none stands for others as damaged places of one file do."""
    home = sound(ALIAS).parents[3]
    names = ("gateway_state.json", "config.yaml", "gateway.json", ".env", "sessions/sessions.json")
    for name in names:
        shutil.rmtree(home / name, ignore_errors=True)
        (home / name).unlink(missing_ok=True)
        (home / name).mkdir()
    assert execute(["--home", str(home.parent), "doctor"]) == 0
    said = capfd.readouterr().out
    for name in names:
        assert name in said
