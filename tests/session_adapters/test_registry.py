"""The registry tells what the adapters' own classes say, and how the packages of an extra are installed."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib

import pytest

from session_adapters.registry import BUILT_IN, LABELS, adapter_class, agent_names, install_command
from support import REPOSITORY

EXTRAS = ("mcp", "memory", "postgres", "regex")


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_labels_are_those_of_the_classes(name: str) -> None:
    adapter = adapter_class(name)
    assert adapter.name == name
    assert LABELS[name] == (adapter.label, adapter.badge)


def test_badges_tell_agents_apart() -> None:
    badges = [badge for _, badge in LABELS.values()]
    assert all(len(badge) == 2 for badge in badges)
    assert len(set(badges)) == len(badges)


def test_names_are_sorted_and_complete() -> None:
    assert list(agent_names()) == sorted(agent_names())
    assert set(BUILT_IN) <= set(agent_names())


def test_an_unknown_name() -> None:
    with pytest.raises(KeyError):
        adapter_class("nobody")


def test_the_extras_are_these() -> None:
    told = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(told) == {*EXTRAS, "dev"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_pip_takes_the_packages_of_an_extra(extra: str) -> None:
    """They are there already, for the tests: pip has nothing to fetch."""
    command = shlex.split(install_command(extra))
    assert command[:4] == [sys.executable, "-m", "pip", "install"] and len(command) > 4
    assert not any("hermes-tui" in one or "extra" in one for one in command[4:])
    subprocess.run([*command, "--no-index", "--quiet"], check=True, capture_output=True)


def test_where_there_is_no_pip_uv_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    by_pip = shlex.split(install_command("memory"))
    monkeypatch.setitem(sys.modules, "pip", None)
    by_uv = shlex.split(install_command("memory"))
    assert by_uv[:5] == ["uv", "pip", "install", "--python", sys.executable]
    assert by_uv[5:] == by_pip[4:]
