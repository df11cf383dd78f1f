"""Hector's sessions on the command line: two agents may have a session of the same id."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.fixture
def home(store: Callable[..., Path]) -> str:
    return str(store("hector", "home"))


def test_a_shared_id_asks_which_of_the_two_is_meant(cli: Cli, home: str) -> None:
    for command in (("show",), ("export",), ("resume", "--print")):
        ran = cli("--home", home, "sessions", command[0], "hector", "s1", *command[1:])
        assert ran.code == 8
        assert "hector has several sessions that 's1' may mean: assistant/s1, math_bot/s1" in ran.err
    shown = [cli("--home", home, "sessions", "show", "hector", f"{agent}/s1") for agent in ("assistant", "math_bot")]
    assert [one.code for one in shown] == [0, 0]
    assert "**Note:** shared with math\\_bot" in shown[0].out
    assert "**Note:** shared with assistant, found there" in shown[1].out


def test_a_session_is_named_as_hector_names_it(cli: Cli, home: str) -> None:
    for name in ("Zero Config Mode/alice/multi", "Zero%20Config%20Mode/alice/multi"):
        ran = cli("--home", home, "sessions", "show", "hector", name)
        assert ran.code == 0
        assert "- **Session:** `Zero%20Config%20Mode/alice/multi`" in ran.out
        assert "- **Known as:** Zero Config Mode/alice/multi" in ran.out
    assert cli("--home", home, "sessions", "show", "hector", "team:alpha/42 x").code == 0
    assert "Known as" not in cli("--home", home, "sessions", "show", "hector", "assistant/s1").out


def test_metadata_and_states_are_shown(cli: Cli, home: str) -> None:
    ran = cli("--home", home, "sessions", "show", "hector", "assistant/hitl", "--context")
    assert '- **Metadata:** {"pending\\_executions": {"task-42"' in ran.out
    out = cli("--home", home, "sessions", "show", "hector", "Zero Config Mode/alice/multi").out
    assert '- **User state:** {"preferences": {"theme": "dark"}}' in out
    assert '- **App state:** {"version": "2.0.0"}' in out
    assert "- **State:** " in cli("--home", home, "sessions", "show", "hector", "Zero Config Mode/default/blank").out
    whole = cli("--home", home, "sessions", "show", "hector", "assistant/hitl", "--format", "json")
    assert json.loads(whole.out)["beside"]["metadata"]["pending_executions"]["task-42"]["query"]


@pytest.mark.parametrize("options", [(), ("--no-index",)], ids=["indexed", "scanned"])
def test_shared_rows_are_one_result_that_says_so(cli: Cli, home: str, options: tuple[str, ...]) -> None:
    ran = cli("--home", home, "sessions", "search", "staging password", *options)
    heads = [line.split("  ")[1] for line in ran.out.splitlines() if line.startswith("hector")]
    assert heads == ["assistant/s1"]
    assert "    shared with math_bot" in ran.out.splitlines()
    (found,) = json.loads(cli("--home", home, "sessions", "search", "staging password", "--json", *options).out)
    assert (found["sessionId"], found["notes"]) == ("assistant/s1", ["shared with math_bot"])


def test_marks_are_of_one_of_the_two(cli: Cli, home: str) -> None:
    assert cli("--home", home, "sessions", "mark", "hector", "assistant/s1", "--tag", "mine").code == 0
    found = json.loads(cli("--home", home, "sessions", "list", "hector", "--tag", "mine", "--json").out)
    assert [one["sessionId"] for one in found] == ["assistant/s1"]
    assert cli("--home", home, "sessions", "mark", "hector", "s1", "--tag", "mine").code == 8


@pytest.mark.parametrize("agents", ["[{name: crew}]", "none"])
def test_a_configuration_of_another_program_is_passed_over(cli: Cli, home: str, agents: str) -> None:
    """Many have a `config.yaml`, and some a list of agents in it."""
    own, other = Path(home, "hector.yaml"), Path(home, "config.yaml")
    other.rename(own)
    other.write_text(f"agents: {agents}\n")
    ran = cli("--home", home, "sessions", "show", "hector", "assistant/s1", "--context")
    assert ran.code == 0
    assert f"({own})" in ran.err
    assert f"--config {own}" in cli("--home", home, "sessions", "resume", "hector", "assistant/s1", "--print").out
    assert cli("--home", home, "memory", "stats").out.startswith("AGENT")
