"""Directories, variables and files of ours that are not as they should be: each command says so in a sentence."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from claude_lines import ClaudeHome
from hermes_tui.cli.execute import execute
from hermes_tui.sessions.index.service import IndexService
from hermes_tui.sessions.own_environment import file_name
from session_adapters.base import Environment

Situation = Callable[[Path, pytest.MonkeyPatch], None]
COMMANDS = (
    "sessions list",
    "sessions search x",
    "sessions browse",
    "doctor",
    "index status",
    "index clear",
    "lanes list",
)
LINUX_CAPABILITY_VERSION_3 = 0x20080522


@contextmanager
def without_roots_rights() -> Iterator[None]:
    """Directories that may not be read cannot be read by this thread, also where tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
    held = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, held) == 0
    given_up = (ctypes.c_uint32 * 6)(*held)
    given_up[0] = given_up[3] = 0  # effective
    assert libc.capset(header, given_up) == 0
    try:
        yield
    finally:
        assert libc.capset(header, held) == 0


def closed(*names: str, mode: int = 0) -> Situation:
    """Directories with other rights."""

    def put(home: Path, patch: pytest.MonkeyPatch) -> None:
        for name in names:
            (home / name).chmod(mode)

    return put


def variable(name: str, value: str | None) -> Situation:
    """An environment variable of that value; None: without it."""

    def put(home: Path, patch: pytest.MonkeyPatch) -> None:
        if value is None:
            patch.delenv(name)
        else:
            patch.setenv(name, value)

    return put


def content(name: str, data: bytes) -> Situation:
    """A file with that in it."""

    def put(home: Path, patch: pytest.MonkeyPatch) -> None:
        (home / name).write_bytes(data)

    return put


def instead(name: str, make: Callable[[Path], None]) -> Situation:
    """Something else in the place of a file of ours. `I` stands for the name of the index."""

    def put(home: Path, patch: pytest.MonkeyPatch) -> None:
        environment = Environment.current()
        catalogue = file_name(environment, "catalogue", ".msgpack")
        index = file_name(environment, "index", "")
        make(home / name.replace("I.", f"{index}.").replace("CATALOGUE", catalogue))

    return put


CACHE, CONFIG, STATE = ".cache/hermes-tui", ".config/hermes-tui", ".local/state/hermes-tui"
SETTINGS = f"{CONFIG}/config.toml"
GATEWAY = ".hermes/gateway.json"
PUT: dict[str, Callable[[Path], None]] = {
    "directory": lambda path: path.mkdir(),
    "pipe": lambda path: os.mkfifo(path),
    "link": lambda path: path.symlink_to("/etc/passwd"),
    "link to nothing": lambda path: path.symlink_to("/nowhere/at/all"),
}
OWN = (
    *(f"{CACHE}/I.{ending}" for ending in ("db", "seal", "lock")),
    *(f"{CACHE}/CATALOGUE", SETTINGS, f"{STATE}/hermes-tui.log", f"{STATE}/lanes.jsonl"),
)
SITUATIONS: dict[str, Situation] = {
    **{f"{name} closed": closed(name) for name in (".", CACHE, ".cache", CONFIG, ".config", STATE, ".local")},
    **{f"{name} of an agent closed": closed(name) for name in (".claude", ".claude/projects", ".hermes")},
    "home that may not be entered": closed(".", mode=0o400),
    "home that may not be listed": closed(".", mode=0o100),
    "cache that may not be written to": closed(CACHE, mode=0o500),
    **{
        f"HOME {value}": variable("HOME", value)
        for value in ("~", "~nobody-at-all", "", "relative", "/etc/passwd", None)
    },
    **{
        f"{name} {value}": variable(name, value)
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
        for value in ("relative", "~", "", "/etc/passwd", "/nowhere/\udcff")
    },
    "a place of 5,000 characters": variable("XDG_CACHE_HOME", f"/nowhere/{'x' * 5000}"),
    "settings of nobody": variable("HERMES_TUI_CONFIG", "~nobody-at-all/x"),
    "sessions_dir with NUL": content(GATEWAY, b'{"sessions_dir": "a\\u0000b"}'),
    "sessions_dir with half a character": content(GATEWAY, b'{"sessions_dir": "\\ud800"}'),
    "sessions_dir of nobody": content(GATEWAY, b'{"sessions_dir": "~nobody-at-all/x"}'),
    "settings nested deeply": content(SETTINGS, b"x = " + b"[" * 100_000),
    "a setting of many parts": content(SETTINGS, b".".join([b"a"] * 100_000) + b" = 1\n"),
    "a long number": content(SETTINGS, b"x = " + b"9" * 100_000),
    "long settings": content(SETTINGS, b"x = 1\n" * 1_000_000),
    "many tables": content(SETTINGS, b"".join(b"[a%d]\n" % number for number in range(30_000))),
    "text that is none": content(SETTINGS, b'theme = "\xff"'),
    **{f"{name}: a {kind}": instead(name, make) for name in OWN for kind, make in PUT.items()},
}


@pytest.fixture
def home(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in (CACHE, CONFIG, STATE, ".claude/projects/p", ".hermes/sessions"):
        (isolated_home / name).mkdir(parents=True)
    (isolated_home / ".hermes/sessions/sessions.json").write_text("{}")
    monkeypatch.chdir(isolated_home.parent)
    monkeypatch.setattr(IndexService, "poke", lambda service, **options: None)  # what is tried here reads
    yield isolated_home
    for path in (isolated_home, *(one for one in isolated_home.rglob("*") if not one.is_symlink() and one.is_dir())):
        path.chmod(0o700)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_command_says_what_is_wrong(
    situation: str, home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    SITUATIONS[situation](home, monkeypatch)
    for command in COMMANDS:
        with without_roots_rights():
            code = execute(command.split())
        said = capfd.readouterr().err
        assert "unexpected error" not in said, (command, said)
        assert "Traceback" not in said, (command, said)
        assert code in (0, 1, 2), (command, code, said)
        if code:
            *_, reason = said.splitlines()
            assert reason.startswith("hermes-tui: "), (command, said)
            assert code == 1 or any(word in reason for word in ("settings", "HOME", "no agent")), (command, said)


@pytest.mark.parametrize("own", ["~", "~nobody-at-all", "", None])
def test_with_a_home_that_was_named_no_other_is_asked_for(
    own: str | None, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    named = ClaudeHome(tmp_path / "named")
    session = f"claude:{named.session('findable').stem}"
    variable("HOME", own)(home, monkeypatch)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    commands = {
        "sessions list": 0,
        "sessions search findable": 0,
        "cost report": 0,
        "index status": 0,
        f"sessions resume {session} --print": 0,
        f"sessions show {session}": 0,
        f"sessions export {session} --output ~nobody-at-all/x.md": 2,
    }
    for command, expected in commands.items():
        code = execute(["--home", str(named.home), *command.split()])
        assert (code, command) == (expected, command), capfd.readouterr().err
    assert "cannot write '~nobody-at-all/x.md'" in capfd.readouterr().err
