"""What is printed as JSON does not depend on what ran before: on an empty cache and on a full one it is the same."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.cli.execute import execute
from long_stores import HOMES, long_store

Ask = Callable[..., Any]
AGENTS = dict(reversed(HOMES))
"""Agent → the first of its sample stores."""


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Ask:
    """Runs a command on the home with a cache of some name; what it prints, as JSON where it is that."""

    def run(cache: str, *arguments: str) -> Any:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache))
        assert execute(["--home", str(tmp_path / "home"), *arguments]) == 0, capfdbinary.readouterr().err
        out = capfdbinary.readouterr().out
        return json.loads(out) if "json" in " ".join(arguments) else out

    return run


@pytest.mark.parametrize("agent", AGENTS)
def test_json_is_the_same_whatever_ran_before(agent: str, tmp_path: Path, ask: Ask) -> None:
    long_store(agent, AGENTS[agent], tmp_path / "home")
    everything = ("sessions", "list", agent, "--json", "--limit", "9999")
    first = ask("fresh", *everything)
    assert first
    shown = [one["sessionId"] for one in first if one.get("forkedFrom") or one.get("parentId")][:2]
    shown += [first[0]["sessionId"], first[-1]["sessionId"]]
    asked = [
        everything,
        ("sessions", "browse", agent, "--json"),
        ("sessions", "search", f"agent:{agent}", "--json", "--no-index"),
        *(("sessions", "show", agent, one, "--format", "json") for one in dict.fromkeys(shown)),
    ]
    for before in ("sessions list", "cost report", "sessions list --sort turns"):
        ask("before", *before.split())
    for number, command in enumerate(asked):
        alone = ask(f"alone-{number}", *command)
        shutil.copytree(tmp_path / "before", tmp_path / f"after-{number}")
        assert ask(f"after-{number}", *command) == alone
    assert not any(one.get("partial") for one in first)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_is_shown_as_it_is_listed(agent: str, tmp_path: Path, ask: Ask) -> None:
    long_store(agent, AGENTS[agent], tmp_path / "home")
    listed = ask("listed", "sessions", "list", agent, "--json", "--limit", "9999")
    for one in listed[:: 1 + len(listed) // 6]:
        shown = ask("shown", "sessions", "show", agent, one["sessionId"], "--format", "json")
        del shown["messages"]
        assert {key: shown.get(key) for key in one if key != "raw"} == {k: v for k, v in one.items() if k != "raw"}
