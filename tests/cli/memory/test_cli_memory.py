"""`hermes-tui memory`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.memory.components import MemoryComponents
from hermes_tui.memory.configuration import read_configuration
from hermes_tui.memory.message import HectorMessage

CONFIGURATION = """
agents:
  assistant: {memory: {longterm: {}}}
  other: {memory: {longterm: {}}}
  silent: {memory: {working: {strategy: buffer_window}}}
"""
SAID = (
    "My name is Alice and I live in Lisbon.",
    "The staging database runs \x1b[31mPostgreSQL 15\x1b[0m.",
    "Thanks.",
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a configuration, and three messages in the long-term memory of one of its agents."""
    home = tmp_path / "memory-home"
    home.mkdir()
    (home / "config.yaml").write_text(CONFIGURATION)
    components = MemoryComponents(read_configuration(home / "config.yaml", {}))
    service = components.memory_service("assistant")
    service.add_batch_to_history(
        "s1", [HectorMessage(role="ROLE_USER", text=text, message_id=f"m{at}") for at, text in enumerate(SAID)]
    )
    assert components.shutdown()
    return home


def test_what_is_kept_is_listed(cli: Callable[..., Any], home: Path) -> None:
    ran = cli("--home", str(home), "memory", "list", "assistant", "s1", "--json")
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert sorted(one["content"] for one in found) == sorted(SAID)
    assert {(one["agent_id"], one["session_id"], one["role"]) for one in found} == {("assistant", "s1", "user")}
    table = cli("--home", str(home), "memory", "list", "assistant", "s1", "--limit", "2")
    assert table.out.splitlines()[0].split() == ["TIME", "ROLE", "TEXT"]
    assert len(table.out.splitlines()) == 3
    assert "\x1b" not in table.out
    assert cli("--home", str(home), "memory", "list", "assistant", "s2", "--json").out == "[]\n"


def test_what_an_agent_would_recall_is_said_with_scores(cli: Callable[..., Any], home: Path) -> None:
    ran = cli("--home", str(home), "memory", "recall", "assistant", "s1", "Which database is on staging?")
    assert (ran.code, ran.err) == (0, "")
    heading, first, *rest = ran.out.splitlines()
    assert heading.split() == ["SCORE", "TIME", "ROLE", "TEXT"]
    assert "The staging database runs" in first
    scores = [float(line.split()[0]) for line in (first, *rest)]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 3
    other = cli("--home", str(home), "memory", "recall", "other", "s1", "Which database is on staging?", "--json")
    assert other.out == "[]\n", "another agent recalls nothing of it"


@pytest.mark.parametrize("command", [("list",), ("recall", "Which database?")])
def test_a_session_of_which_nothing_is_kept_is_named(
    cli: Callable[..., Any], home: Path, command: tuple[str, ...]
) -> None:
    ran = cli("--home", str(home), "memory", command[0], "assistant", "s11", *command[1:])
    assert (ran.code, len(ran.out.splitlines())) == (0, 1)
    assert ran.err == "hermes-tui: nothing is kept of a session 's11' of assistant\n"
    there = cli("--home", str(home), "memory", command[0], "assistant", "s1", *command[1:], "--limit", "0")
    assert there.err == ""


def test_how_much_each_agent_keeps(cli: Callable[..., Any], home: Path) -> None:
    ran = cli("--home", str(home), "memory", "stats", "--json")
    store = str(home / "data" / "vectors" / "hector_session_memory")
    model = "wordllama l2_supercat 256"
    assert json.loads(ran.out) == [
        {"agent": "assistant", "points": 3, "store": store, "embedder": model},
        {"agent": "other", "points": 0, "store": store, "embedder": model},
        {"agent": "silent"},
    ]
    lines = cli("--home", str(home), "memory", "stats").out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["AGENT", "POINTS"],
        ["assistant", "3"],
        ["other", "0"],
        ["silent", "—"],
    ]


def test_a_dead_server_of_one_agent_hides_no_other(cli: Callable[..., Any], home: Path) -> None:
    url = "http://127.0.0.1:1"  # nobody listens there
    with (home / "config.yaml").open("a") as file:
        file.write(
            f"  dead: {{memory: {{longterm: {{backend: qdrant, qdrant: {{url: '{url}', collection: m}}}}}}}}\n"
        )
    ran = cli("--home", str(home), "memory", "stats")
    assert ran.code == 1
    assert [line.split()[:2] for line in ran.out.splitlines()[1:]] == [
        ["assistant", "3"],
        ["other", "0"],
        ["silent", "—"],
        ["dead", "?"],
    ]
    assert ran.err.startswith(f"hermes-tui: dead: The points in {url}, collection m were not counted")
    found = json.loads(cli("--home", str(home), "memory", "stats", "--json").out)
    assert [(one["agent"], one.get("points"), "problem" in one) for one in found] == [
        ("assistant", 3, False),
        ("other", 0, False),
        ("silent", None, False),
        ("dead", None, True),
    ]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("list", "nobody", "s1"), "has no agent 'nobody'; known are assistant, other, silent"),
        (("list", "silent", "s1"), "has no long-term memory"),
        (("stats", "--config", "nope.yaml"), "cannot be read"),
    ],
)
def test_what_is_not_there_is_said(
    cli: Callable[..., Any], home: Path, arguments: tuple[str, ...], reason: str
) -> None:
    ran = cli("--home", str(home), "memory", *arguments)
    assert ran.code == 2
    assert reason in ran.err


def test_a_configuration_in_the_working_directory_is_not_believed(
    cli: Callable[..., Any], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could send any variable as a key to a server that it names."""
    monkeypatch.chdir(home)
    ran = cli("memory", "stats")
    assert ran.code == 2
    assert "at home; name it with --config" in ran.err
    assert cli("memory", "stats", "--config", "config.yaml").code == 0
