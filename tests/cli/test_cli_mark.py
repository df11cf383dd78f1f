"""`sessions mark`: pins, tags, notes and names of one's own."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from hermes_tui.platform import paths
from tiny_home import TinyHome, tree_hash

Cli = Callable[..., Any]


def test_what_is_marked_is_listed_shown_and_found(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one", title="First")
    tiny_home.add("two", title="Second")
    before = tree_hash(tiny_home.home)
    ran = cli("sessions", "mark", "tiny", "one", "--pin", "--tag", "Review", "--name", "Mine", "--note", "ask\nAda")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "★ tiny:one  Mine",
        "    the agent's title: First",
        "    #review",
        "    ask",
        "    Ada",
    ]
    rows = json.loads(cli("sessions", "list", "tiny", "--pinned", "--json").out)
    expected = {"title": "Mine", "agentTitle": "First", "pinned": True, "tags": ["review"], "ownNote": "ask\nAda"}
    assert [expected.items() <= row.items() for row in rows] == [True]
    assert "★ Mine #review" in cli("sessions", "list", "tiny").out
    assert "Second" not in cli("sessions", "list", "tiny", "--tag", "review").out
    shown = cli("sessions", "show", "tiny:one").out
    for line in ("# Mine", "- **Agent's title:** First", "- **Pinned:** yes", "- **Own note:** Ada"):
        assert line in shown.splitlines()
    for query in ("is:pinned", "tag:rev", "note:ada"):
        found = json.loads(cli("sessions", "search", "--agent", "tiny", query, "--json", "--no-index").out)
        assert [one["sessionId"] for one in found] == ["one"]
        assert "★ Mine #review" in cli("sessions", "search", "--agent", "tiny", query, "--no-index").out
    assert "★ Mine #review" in cli("sessions", "browse", "tiny").out
    assert tree_hash(tiny_home.home) == before


def test_marks_are_changed_one_by_one_and_taken_away(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one", title="First")
    cli("sessions", "mark", "tiny:one", "--pin", "--tag", "a", "--tag", "b", "--note", "x")
    (row,) = json.loads(cli("sessions", "mark", "tiny:one", "--unpin", "--untag", "a", "--tag", "c", "--json").out)
    assert (row["pinned"], row["tags"], row["note"], row["name"]) == (False, ["b", "c"], "x", "")
    (row,) = json.loads(cli("sessions", "mark", "tiny:one", "--clear", "--name", "n", "--json").out)
    assert (row["tags"], row["note"], row["name"], row["title"]) == ([], "", "n", "n")
    assert cli("sessions", "mark", "tiny:one", "--name", "").out == "  tiny:one  First\n"
    ran = cli("sessions", "mark")
    assert (ran.code, ran.out) == (0, "") and "no session is marked" in ran.err


def test_several_at_once_or_none(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one")
    tiny_home.add("two")
    ran = cli("sessions", "mark", "tiny:one", "tiny:nope", "--pin")
    assert ran.code == 8 and "nope" in ran.err
    assert not (paths.state_dir() / "marks.db").exists()
    assert cli("sessions", "mark", "tiny:one", "tiny:two", "--pin").out.count("★") == 2
    tags = [word for number in range(32) for word in ("--tag", f"t{number}")]
    assert cli("sessions", "mark", "tiny:two", *tags).code == 0
    ran = cli("sessions", "mark", "tiny:one", "tiny:two", "--tag", "more")
    assert (ran.code, "at most 32 tags" in ran.err) == (2, True)
    assert "more" not in cli("sessions", "mark").out


def test_marks_of_a_session_that_is_gone_are_kept_and_listed(tiny_home: TinyHome, cli: Cli) -> None:
    path = tiny_home.add("one", title="First")
    cli("sessions", "mark", "tiny:one", "--name", "Mine")
    path.unlink()
    assert cli("sessions", "mark").out == "  tiny:one  Mine  (not here)\n"
    assert cli("sessions", "mark", "tiny:one", "--clear").code == 0
    assert cli("sessions", "mark", "tiny:one").code == 8


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--pin",), 2, "give AGENT and ID"),
        (("tiny:one", "--tag", " "), 2, "no tag"),
        (("tiny:one", "--name", "x" * 101), 2, "at most 100 characters"),
        (("nobody:one", "--pin"), 3, "unknown agent"),
        (("tiny:other", "--pin"), 8, "no session"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tiny_home: TinyHome, cli: Cli, arguments: tuple[str, ...], code: int, said: str
) -> None:
    tiny_home.add("one")
    ran = cli("sessions", "mark", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_a_note_from_standard_input(tiny_home: TinyHome, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_home.add("one")
    typed = io.TextIOWrapper(io.BytesIO("ü\x1b[31m red\n\nlast\n".encode()))
    monkeypatch.setattr(sys, "stdin", typed)
    ran = cli("sessions", "mark", "tiny:one", "--note", "-")
    assert "\x1b" not in ran.out
    (row,) = json.loads(cli("sessions", "mark", "tiny:one", "--json").out)
    assert row["note"] == "ü[31m red\n\nlast"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * 50_000)))
    assert cli("sessions", "mark", "tiny:one", "--note", "-").code == 2


def test_secrets_in_marks_are_masked_in_exports(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one")
    secret = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW1xY2"
    cli("sessions", "mark", "tiny:one", "--note", f"the key is {secret}", "--name", f"use {secret}", "--pin")
    for form in ("markdown", "html", "json", "jsonl"):
        plain = cli("sessions", "export", "tiny:one", "--format", form).out
        masked = cli("sessions", "export", "tiny:one", "--format", form, "--redact").out
        assert secret[4:] in plain and secret[4:] not in masked, form


def test_a_place_that_cannot_be_written_is_said(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one")
    file = paths.state_dir() / "marks.db"
    file.mkdir(parents=True)
    ran = cli("sessions", "mark", "tiny:one", "--pin")
    assert (ran.code, ran.out) == (1, "")
    assert str(file) in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_marks_that_cannot_be_read_are_said_where_they_are_asked_for(
    tiny_home: TinyHome, cli: Cli, form: tuple[str, ...]
) -> None:
    tiny_home.add("one")
    cli("sessions", "mark", "tiny:one", "--pin")
    file = paths.state_dir() / "marks.db"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    ran = cli("sessions", "search", "--agent", "tiny", "is:pinned question", "--no-index", *form)
    assert (ran.code, str(file) in ran.err) == (0, True)
    ran = cli("sessions", "list", "tiny", "--pinned", *form)
    assert (ran.code, "1 could not be read or only in part" in ran.err) == (0, True)
