"""Names of files and directories that are no UTF-8: sessions in them are listed, found, read and written down."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from bounded_run import run_bounded
from hermes_tui.errors import CapabilityError
from hermes_tui.sessions.manager import SessionManager
from hostile_files import LOGS, Victim
from session_adapters.base import Adapter, Environment, SessionMissing, SessionUnreadable
from session_adapters.model import Problem, SessionSummary
from session_adapters.registry import adapter_class
from support import STORES

_HERMES = Victim("hermes", "old_versions/0.13.0", ".hermes/sessions/*.jsonl")
_FILES = (
    *LOGS,
    _HERMES,
    Victim("gemini", "older/home", ".gemini/**/chats/*.json"),
    Victim("copilot", "spec-layout/home", ".config/github-copilot/sessions/*.json"),
    Victim("pi", "home-spec", "**/*.jsonl"),
    Victim("openclaw", "home-spec", "**/*.json*"),
)


def _strange(path: Path, name: bytes) -> Path:
    return Path(os.fsdecode(os.fsencode(path.parent) + b"/" + name))


def _renamed(victim: Victim, home: Path) -> None:
    """A copy of the file beside it, and of its directory, with a byte in their names that no UTF-8 has."""
    path = victim.find(home)
    stem, dot, rest = path.name.partition(".")
    shutil.copy(path, _strange(path, os.fsencode(stem) + b"\xff\xfe" + os.fsencode(dot + rest)))
    folder = path.parent
    if folder.parent.parent != home:
        shutil.copytree(folder, _strange(folder, os.fsencode(folder.name) + b"\xff"), symlinks=True)


def _found(adapter: Adapter) -> tuple[list[SessionSummary], list[Problem]]:
    problems: list[Problem] = []
    found: list[SessionSummary] = []
    for source in adapter.sources(problems.append):
        for exact in (False, True):
            found += adapter.summaries(source, problems.append, exact=exact)
        for text in adapter.texts(source, problems.append):
            msgspec.json.encode(text.session_id)
        for usage in adapter.usage(source, problems.append):
            msgspec.json.encode(usage.session_id)
    return found, problems


@pytest.mark.parametrize("victim", _FILES, ids=lambda one: f"{one.agent}-{one.path.rpartition('.')[2]}-{one.home}")
def test_names_that_are_no_utf8_can_be_listed_read_and_written(
    victim: Victim, store: Callable[..., Path], tmp_path: Path
) -> None:
    home = store(victim.agent, *victim.home.split("/"))
    _renamed(victim, home)
    (tmp_path / "proc").mkdir()
    adapter = adapter_class(victim.agent)(Environment(home=home, proc=tmp_path / "proc"))
    found, problems = _found(adapter)
    related = adapter.relate(found)
    msgspec.json.encode((found, problems, related))
    assert any("\ufffd" in path for path in (*(one.path for one in found), *(one.path for one in problems)))
    for one in related:
        source = adapter.find(one.session_id)
        assert source is not None, one.session_id
        try:
            msgspec.json.encode(
                (adapter.session(source, one.session_id), adapter.open(source, one.session_id).problems)
            )
        except (SessionMissing, SessionUnreadable) as error:
            str(error).encode()


def test_commands_write_them(tmp_path: Path) -> None:
    for victim in (*LOGS, _HERMES):
        shutil.copytree(STORES / victim.agent / victim.home, tmp_path, dirs_exist_ok=True, copy_function=shutil.copy)
    for one in (tmp_path, *tmp_path.rglob("*")):
        if one.is_dir():
            one.chmod(0o700)
    for victim in (*LOGS, _HERMES):
        _renamed(victim, tmp_path)
    run = run_bounded(tmp_path, "sessions", "list", "--json")
    assert run.code in (0, 1), run.stderr
    listed = {one["agent"] for one in json.loads(run.stdout) if "\ufffd" in one["path"]}
    assert {"openclaw", "hermes", "claude", "copilot"} <= listed
    for arguments in (("search", "the", "--no-index", "--json"), ("search", "the", "--json")):
        searched = run_bounded(tmp_path, "sessions", *arguments)
        assert searched.code in (0, 1), searched.stderr
        assert "nexpected" not in searched.stderr + run.stderr
    assert run_bounded(tmp_path, "cost", "report", "--json").code in (0, 1)


def test_no_command_names_a_file_that_is_not_there(store: Callable[..., Path], tmp_path: Path) -> None:
    """Pi and omp are given a path: with U+FFFD for a byte they would begin a new session there."""
    (tmp_path / "proc").mkdir()
    refused: set[str] = set()
    for victim in LOGS:
        home = store(victim.agent, *victim.home.split("/"))
        path = victim.find(home)
        path.rename(_strange(path, os.fsencode(path.stem) + b"\xff" + os.fsencode(path.suffix)))
        environment = Environment(home=home, proc=tmp_path / "proc")
        manager = SessionManager(environment, cache_dir=tmp_path / victim.agent, indexed=False)
        for one in manager.list(victim.agent, limit=None):
            for command in (manager.resume, manager.fork):
                try:
                    start = command(one.agent, one.session_id)
                except CapabilityError as error:
                    if "no UTF-8" in str(error):
                        refused.add(one.agent)
                else:
                    named = (*start.argv, *start.env.values())
                    assert not [word for word in named if "\ufffd" in word], one.unified_id
    assert {"pi", "omp"} <= refused
