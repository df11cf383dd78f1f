"""`sessions list` and `sessions show`: answers, exit codes, what goes where (checklist R-5)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.cells import width_of
from tiny_home import START, TinyHome

Cli = Callable[..., Any]


def test_list_json_is_a_bare_array_with_the_documents_names(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one", title="First", cwd="/srv/app", usd=0.25)
    ran = cli("sessions", "list", "tiny", "--json")
    assert (ran.code, ran.err) == (0, "")
    (row,) = json.loads(ran.out)
    expected = {
        "agent": "tiny",
        "sessionId": "one",
        "unifiedId": "tiny:one",
        "title": "First",
        "createdAt": "2026-03-01T12:00:00Z",
        "updatedAt": "2026-03-01T12:01:00Z",
        "turnCount": 1,
        "messageCount": 2,
        "model": "m-1",
        "tags": [],
        "cwd": "/srv/app",
    }
    assert expected.items() <= row.items()
    assert row["cost"]["totalUsd"] == 0.25


def test_list_json_of_nothing_and_of_several(tiny_home: TinyHome, cli: Cli) -> None:
    assert cli("sessions", "list", "tiny", "--json").out == "[]\n"
    for name in "abc":
        tiny_home.add(name)
    assert [row["sessionId"] for row in json.loads(cli("sessions", "list", "tiny", "--json").out)] == ["c", "b", "a"]


def test_list_without_an_agent_merges_all(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one")
    rows = json.loads(cli("sessions", "list", "--json").out)
    assert {row["unifiedId"] for row in rows} == {"tiny:one", "copy:one", "crashing:one"}


@pytest.mark.parametrize("command", ["doctor", "cost report", "sessions search question --no-index"])
def test_what_there_was_no_time_for_is_said_everywhere(
    tiny_home: TinyHome, cli: Cli, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_tui.cli.home_option.READING", 0.0)
    for name in "abc":
        tiny_home.add(name)
    said = [cli(*command.split()).err for _ in range(6)]
    assert "older files are not read yet" in said[0]
    assert "not read yet" not in said[-1]


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_a_list_says_what_it_had_no_time_for(
    tiny_home: TinyHome, cli: Cli, form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_tui.cli.home_option.READING", 0.0)
    for name in "abc":
        tiny_home.add(name)
    said = "older files are not read yet and their sessions are missing here; the same command goes on"
    for left in (2, 1):
        assert f"{left} {said}" in cli("sessions", "list", "tiny", *form).err
    ran = cli("sessions", "list", "tiny", *form)
    assert "not read yet" not in ran.err
    assert all(f"tiny:{name}" in ran.out or f" {name} " in ran.out for name in "abc")


def test_the_agent_may_be_named_as_elsewhere(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one")
    for named in (("tiny",), ("--agent", "tiny"), ("tiny", "--agent", "tiny")):
        assert [row["agent"] for row in json.loads(cli("sessions", "list", *named, "--json").out)] == ["tiny"]


def test_every_option_of_list(tiny_home: TinyHome, cli: Cli) -> None:
    for number in range(5):
        tiny_home.add(
            f"s{number}",
            at=START + timedelta(days=number),
            model=f"m-{number % 2}",
            usd=1.0 / (number + 1) ** 2,
            turns=number + 1,
            tags=[f"t{number}"],
            cwd=f"/srv/{number}",
        )

    def ids(*options: str) -> list[str]:
        return [row["sessionId"] for row in json.loads(cli("sessions", "list", "tiny", "--json", *options).out)]

    assert ids("--since", "2026-03-03") == ["s4", "s3", "s2"]
    assert ids("--until", "2026-03-02") == ["s1", "s0"]
    assert ids("--until", "2026-03-02T12:00:00Z") == ["s1", "s0"]
    assert ids("--since", "2026-03-02T12:00:00.000001Z", "--limit", "1") == ["s4"]
    assert ids("--model", "m-1") == ["s3", "s1"]
    assert ids("--tag", "t1", "--tag", "t4") == ["s4", "s1"]
    assert ids("--cwd", "/srv/2/") == ["s2"]
    assert ids("--limit", "0") == []
    none, two = cli("sessions", "list", "tiny", "--limit", "0"), cli("sessions", "list", "tiny", "--limit", "2")
    assert none.out == "" and "--limit 0 shows none; --limit N for more" in none.err  # not that there are none
    assert "only the first 2 are shown; --limit N for more" in two.err
    assert ids("--sort", "cost") == ["s0", "s1", "s2", "s3", "s4"]
    assert ids("--sort", "turns", "--asc", "--limit", "2") == ["s0", "s1"]
    assert ids("--sort", "date", "--desc", "--limit", "2") == ["s4", "s3"]


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (("sessions", "list", "bogus"), 3, "AGENT_NOT_FOUND"),
        (("sessions", "list", "--agent", "bogus"), 3, "AGENT_NOT_FOUND"),
        (("sessions", "list", "tiny", "--agent", "copy"), 2, "VALIDATION_ERROR"),
        (("sessions", "list", "tiny", "--limit", "-1"), 2, "VALIDATION_ERROR"),
        (("sessions", "list", "tiny", "--limit", "many"), 2, "VALIDATION_ERROR"),
        (("sessions", "list", "tiny", "--sort", "name"), 2, "VALIDATION_ERROR"),
        (("sessions", "list", "tiny", "--since", "soon"), 2, "VALIDATION_ERROR"),
        (("sessions", "list", "tiny", "--no-such-option"), 2, "VALIDATION_ERROR"),
        (("sessions", "show", "bogus", "one"), 3, "AGENT_NOT_FOUND"),
        (("sessions", "show", "bogus:one"), 3, "AGENT_NOT_FOUND"),
        (("sessions", "show", "tiny", "nope"), 8, "SESSION_NOT_FOUND"),
        (("sessions", "show", "tiny", ""), 8, "SESSION_NOT_FOUND"),
        (("sessions", "show", "tiny:nope"), 8, "SESSION_NOT_FOUND"),
        (("sessions", "show", "tiny", "damaged"), 1, "PARSE_ERROR"),
        (("sessions", "show", "one"), 2, "VALIDATION_ERROR"),
        (("sessions", "show"), 2, "VALIDATION_ERROR"),
        (("no-such-command",), 2, "VALIDATION_ERROR"),
    ],
)
def test_errors_by_exit_code_in_words_or_as_json(
    tiny_home: TinyHome, cli: Cli, arguments: tuple[str, ...], code: int, name: str
) -> None:
    tiny_home.add("one")
    (tiny_home.store / "damaged.jsonl").write_bytes(b"\x00\x01\x02\n")
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("hermes-tui: ")
    assert ran.err.count("\n") == 1
    as_json = ("--format", "json") if "show" in arguments else ("--json",)
    ran = cli(*arguments, *as_json)
    assert (ran.code, ran.err) == (code, "")
    error = json.loads(ran.out)["error"]
    assert error["code"] == name
    assert error["message"]


def test_show_by_agent_and_id_by_unified_id_and_by_beginning(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("abc-1")
    tiny_home.add("abd-2")
    whole = cli("sessions", "show", "tiny", "abc-1")
    assert whole.code == 0
    assert cli("sessions", "show", "tiny:abc-1") == whole
    assert cli("sessions", "show", "tiny", "abc") == whole
    assert cli("sessions", "show", "tiny:abc") == whole
    several = cli("sessions", "show", "tiny", "ab")
    assert several.code == 8
    assert "abc-1" in several.err
    assert "abd-2" in several.err


def test_show_json_equals_what_was_written(tiny_home: TinyHome, cli: Cli) -> None:
    path = tiny_home.add("one", turns=3)
    raw = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    session = json.loads(cli("sessions", "show", "tiny", "one", "--format", "json").out)
    assert [(one["role"], one["content"]) for one in session["messages"]] == [
        (one["role"], one["text"]) for one in raw
    ]


def test_show_keeps_the_relations_that_list_found(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("parent")
    tiny_home.add("child", parent="parent")
    cli("sessions", "list", "tiny")
    session = json.loads(cli("sessions", "show", "tiny", "child", "--format", "json").out)
    assert session["forkedFrom"] == "parent"


def test_a_table_for_people(tiny_home: TinyHome, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_home.add("one", title="日本語の題 and more " * 9, cwd="/srv/shop", usd=1.5)
    tiny_home.add("two", title="\x1b[2J\x1b]0;owned\x07 evil\u202e", at=datetime.now(UTC) - timedelta(hours=30))
    for columns in (40, 60, 80, 120, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        ran = cli("sessions", "list", "tiny")
        lines = ran.out.splitlines()
        assert len(lines) == 3
        assert lines[0].split()[:3] == ["AGENT", "SESSION", "AGE"]
        assert max(map(width_of, lines)) <= columns
        assert not set(ran.out) & set("\x1b\x07\u202e")
        assert lines[1].startswith("tiny   two       30h"[:16])
    monkeypatch.delenv("COLUMNS")
    tiny_home.add("0" * 64, at=START - timedelta(days=1))
    everything = cli("sessions", "list", "tiny").out  # a pipe gets all of it
    assert ("日本語の題 and more " * 9)[:100].strip() in everything
    monkeypatch.setenv("COLUMNS", "40")
    assert "0" * 64 in cli("sessions", "list", "tiny").out


def test_a_monstrous_id_widens_no_other_row(tiny_home: TinyHome, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_home.add("short", title="A title")
    tiny_home.add("0" * 200)
    monkeypatch.setenv("COLUMNS", "120")
    lines = cli("sessions", "list", "tiny").out.splitlines()
    (monster,) = (line for line in lines if "0" * 200 in line)
    assert max(len(line) for line in lines if line is not monster) <= 120
    assert any("short" in line and "A title" in line for line in lines)


def test_the_long_id_of_a_helper_takes_no_titles_away(
    tiny_home: TinyHome, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    uuid = "18ac843d-6120-4cf1-bce4-05fa270c55f2"
    tiny_home.add(uuid, title="Mails end up in spam")
    tiny_home.add(f"{uuid}:{uuid}", title="Templates without text")
    for columns in (80, 100, 132):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = cli("sessions", "list", "tiny").out.splitlines()
        assert max(map(width_of, lines)) <= columns
        assert "Mails end up in spam" in lines[1] + lines[2]
        assert any(f"{uuid}:{uuid}" in line for line in lines)
        assert lines[0].endswith("TITLE")


def test_an_empty_table_says_so(cli: Cli) -> None:
    answer = cli("sessions", "list", "tiny")
    assert answer.out == "(no sessions)\n"
    assert "hermes-tui doctor" in answer.err


def test_what_the_table_does_not_show_is_said_on_standard_error(tiny_home: TinyHome, cli: Cli) -> None:
    for number in range(5):
        tiny_home.add(f"s{number}")
    (tiny_home.store / "bad.jsonl").write_text("junk\n")
    ran = cli("sessions", "list", "tiny", "--limit", "2")
    assert "first 2 are shown" in ran.err
    assert len(ran.out.splitlines()) == 3
    exact = cli("sessions", "list", "tiny", "--limit", "5")
    assert "are shown" not in exact.err
    assert len(exact.out.splitlines()) == 6
    unread = "hermes-tui: 1 could not be read or only in part; `hermes-tui doctor` says why\n"
    assert unread in ran.err
    assert cli("sessions", "list", "tiny", "--limit", "2", "--json").err == unread


def test_wrong_settings_are_said_where_costs_are_missing(
    tiny_home: TinyHome, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else an unknown cost looks like none, and `--sort cost` gives another order."""
    tiny_home.add("one")
    settings = tmp_path / "settings.toml"
    settings.write_text("[prices.m-1]\ninput = 1\n")
    monkeypatch.setenv("HERMES_TUI_CONFIG", str(settings))
    reason = f"hermes-tui: no cost is estimated: settings '{settings}': Object missing required field `output`"
    for command in (("list",), ("list", "--sort", "cost", "--json"), ("show", "tiny:one"), ("export", "tiny:one")):
        ran = cli("sessions", *command)
        assert ran.code == 0
        assert reason in ran.err, command
    settings.write_text("[prices.m-1]\ninput = 1\noutput = 2\n")
    assert "settings" not in cli("sessions", "list").err
