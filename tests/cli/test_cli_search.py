"""`sessions search`, `sessions browse` and `sessions show --around`, as a user runs them."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from claude_lines import ClaudeHome
from hermes_tui.cli.execute import execute
from support import STORES
from tiny_home import TinyHome

HOME = STORES / "claude" / "home"
RunResult = tuple[int, str, str]


def run(capsysbinary: pytest.CaptureFixture[bytes], home: Path, *arguments: str) -> RunResult:
    code = execute(["--home", str(home), "--no-index", "sessions", *arguments])
    out, err = capsysbinary.readouterr()
    return code, out.decode(), err.decode()


def test_search_prints_what_was_found(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, out, err = run(capsysbinary, HOME, "search", "list the files", "--limit", "2")
    assert code == 0
    assert out.count(">>>") >= 2
    assert "--around" in out
    assert "the first 2 are shown; all scanned" in err


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_search_by_reading_ends_and_says_what_is_left(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    """The newest first; with --wait all."""
    claude = ClaudeHome(tmp_path)
    for number in range(12):
        claude.session(f"n{number:02}")
    whole = run(capsysbinary, tmp_path, "search", "answer", *form)
    assert "no time" not in whole[2]
    # A clock of the processor that goes on by so much with each look: it ends before a file and in the middle of one.
    for seconds in (0.1, 0.15, 0.2, 0.25, 0.3):
        moments = itertools.count(0.0, seconds)
        monkeypatch.setattr(time, "thread_time", partial(next, moments))
        code, out, err = run(capsysbinary, tmp_path, "search", "answer", *form)
        assert code == 0
        shown = set(re.findall(r"n\d\d", out))
        assert shown == {f"n{number:02}" for number in range(12 - len(shown), 12)}
        said = re.search(r"no time: (\d+) of 12 sources, the oldest, are not searched; --wait", err)
        assert said
        searched = 12 - int(said[1])
        assert searched <= len(shown) <= searched + 1, "what is found in a file that is left in the middle is shown"
        assert 0 < len(shown) < 12
    assert run(capsysbinary, tmp_path, "search", "answer", "--wait", *form) == whole


def test_search_as_json_can_be_followed(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, out, _ = run(capsysbinary, HOME, "search", "the", "--json")
    assert code == 0
    found = json.loads(out)
    assert found
    assert max(one["relevanceScore"] for one in found) == 1
    in_messages = [one for one in found if "messageId" in one]  # the others by their title
    assert len(in_messages) >= 3
    for one in in_messages[:3]:
        start, end = one["marks"][0]
        assert one["snippet"][start:end].lower() == "the"
        code, out, _ = run(
            capsysbinary,
            HOME,
            *(
                "show",
                one["agent"],
                one["sessionId"],
                "--around",
                one["messageId"],
                "--window",
                "1",
                "--format",
                "json",
            ),
        )
        assert code == 0
        lines = json.loads(out)["lines"]
        assert [line["messageId"] for line in lines if line.get("anchor")] == [one["messageId"]]
        code, out, _ = run(
            capsysbinary, HOME, "show", one["unifiedId"], "--around", one["messageId"], "--window", "999"
        )
        assert out.startswith("(the session begins here)\n")
        assert out.endswith("(the session ends here)\n")


def test_what_takes_no_look_at_texts_is_said_so(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, out, err = run(capsysbinary, HOME, "search", "agent:claude", "--limit", "1")
    assert code == 0 and out
    assert err.endswith("the first 1 are shown; by what the list of sessions says\n")
    assert run(capsysbinary, HOME, "search", "agent:codex")[2] == "hermes-tui: nothing found; no session to search\n"


def test_fifty_are_shown_unless_more_are_asked_for(tiny_home: TinyHome, cli: Callable[..., Any]) -> None:
    """Checklist S-3."""
    for number in range(53):
        tiny_home.add(f"s{number}")
    for options, shown in (((), 50), (("--limit", "52"), 52), (("--limit", "99"), 53)):
        ran = cli("--no-index", "sessions", "search", "question", "--agent", "tiny", "--json", *options)
        assert len(json.loads(ran.out)) == shown


def test_search_refuses_an_empty_query(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Checklist S-9."""
    assert run(capsysbinary, HOME, "search")[0] == 2
    assert run(capsysbinary, HOME, "search", "  ")[0] == 2


def test_search_with_an_unknown_agent_finds_nothing(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Checklist S-1."""
    code, out, err = run(capsysbinary, HOME, "search", "files", "--agent", "nobody")
    assert (code, out) == (0, "")
    assert "no agent is called 'nobody'" in err
    code, out, err = run(capsysbinary, HOME, "search", "files", "--agent", "nobody", "--json")
    assert (code, out) == (0, "[]\n")
    assert "no agent is called 'nobody'" in err


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_what_could_not_be_searched_is_said(
    form: tuple[str, ...], capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    """Who reads JSON was not told: an answer without the session looked complete."""
    home = tmp_path / "home"
    shutil.copytree(STORES / "opencode" / "home-json-1.1", home)
    message = min((home / ".local/share/opencode/storage/message").glob("*/*.json"))
    message.chmod(0o600)
    message.write_text("{")
    code, _, err = run(capsysbinary, home, "search", "the", *form)
    assert code == 0
    assert f"{message.parent.name}.json: 1 of its records cannot be read, or not in full" in err


@pytest.mark.parametrize("query", ["foo-bar", '"unclosed', "*", "(", "can't", "C:\\x", "100%", "\x1b[31m"])
def test_no_query_is_a_mistake(capsysbinary: pytest.CaptureFixture[bytes], query: str) -> None:
    code, out, err = run(capsysbinary, HOME, "search", query)
    assert code == 0
    assert "\x1b" not in out + err


def test_json_has_the_names_of_the_document_beside_the_older_ones(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """Spec 003; one is read on by them alone."""
    found = json.loads(run(capsysbinary, HOME, "search", "the", "--json")[1])
    one = next(one for one in found if one.get("window"))
    assert one["session_id"] == one["unifiedId"]
    assert one["match_message_id"] == one["messageId"]
    assert one["messages_before"] == one["window"].get("before", 0)
    assert one["messages_after"] == one["window"].get("after", 0)
    for name, older in (("bookend_start", "start"), ("bookend_end", "end")):
        assert [each["content"] for each in one[name]] == [each["text"] for each in one[older]]
    (anchor,) = (each for each in one["messages"] if each.get("anchor"))
    assert anchor["id"] == one["match_message_id"]
    asked = ("show", one["session_id"], "--window", "1", "--format", "json", "--around")
    page = json.loads(run(capsysbinary, HOME, *asked, anchor["id"])[1])
    assert page["around_message_id"] == anchor["id"]
    assert page["session_id"] == one["session_id"]
    seen = 0
    while page["messages_after"] == page["window"]:
        page = json.loads(run(capsysbinary, HOME, *asked, page["messages"][-1]["id"])[1])
        seen += 1
    assert page["atEnd"] or seen
    listed = json.loads(run(capsysbinary, HOME, "browse", "--limit", "1", "--json")[1])[0]
    assert listed["last_active"] == listed["updatedAt"]
    assert listed["message_count"] == listed["messageCount"]


def test_it_is_said_what_is_not_ordered_by_relevance(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(*options: str) -> str:
        execute(["--home", str(HOME), "sessions", "search", "the", "--limit", "2", *options])
        return capsysbinary.readouterr().err.decode()

    assert execute(["--home", str(HOME), "index", "rebuild"]) == 0
    assert "ordered by relevance" not in said()
    monkeypatch.setattr("hermes_tui.sessions.search.discovery.MOST_COUNTED", 3)
    assert re.search(r" [1-3] of \d+ conversations are ordered by relevance", said())
    assert "ordered by relevance" not in said("--sort", "date")


def test_browse_shows_the_last_active(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, out, _ = run(capsysbinary, HOME, "browse", "claude", "--limit", "3", "--json")
    assert code == 0
    found = json.loads(out)
    assert len(found) == 3
    times = [one["updatedAt"] for one in found]
    assert times == sorted(times, reverse=True)
    code, out, _ = run(capsysbinary, HOME, "browse", "--limit", "3")
    assert found[0]["sessionId"] in out


def test_browse_says_that_there_are_none(capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    assert run(capsysbinary, tmp_path, "browse") == (0, "(no sessions)\n", "")
    assert run(capsysbinary, tmp_path, "browse", "claude") == (0, "(no sessions)\n", "")
    assert run(capsysbinary, tmp_path, "browse", "--json") == (0, "[]\n", "")


def test_around_a_message_that_is_not_there(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    session_id = json.loads(run(capsysbinary, HOME, "browse", "--limit", "1", "--json")[1])[0]["sessionId"]
    code, _, err = run(capsysbinary, HOME, "show", "claude", session_id, "--around", "nothing")
    assert code == 2
    assert "has no message 'nothing'" in err


def test_a_window_as_json_lines(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    one = next(one for one in json.loads(run(capsysbinary, HOME, "search", "the", "--json")[1]) if one.get("window"))
    asked = ("show", one["unifiedId"], "--around", one["messageId"], "--window", "2", "--format")
    whole = json.loads(run(capsysbinary, HOME, *asked, "json")[1])
    head, *lines = map(json.loads, run(capsysbinary, HOME, *asked, "jsonl")[1].splitlines())
    assert lines == whole.pop("lines")
    assert {name: one for name, one in whole.items() if name in head} == head
    assert any(line.get("anchor") for line in lines)


def test_options_that_make_no_sense_are_refused(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, _, err = run(capsysbinary, HOME, "show", "claude:x", "--window", "3")
    assert code == 2
    assert "--around" in err
    code, _, err = run(capsysbinary, HOME, "browse", "--limit", "-3")
    assert code == 2
    assert "not -3" in err


@pytest.mark.parametrize(
    "options",
    [
        ("--around", "m", "--context"),
        ("--around", "m", "--strategy", "buffer_window:1"),
        ("--system-prompt", "--around", "m"),
        ("--system-prompt", "--context"),
        ("--system-prompt", "--strategy", "buffer_window:1"),
        ("--system-prompt", "--format", "jsonl"),
    ],
)
def test_options_of_which_one_would_do_nothing_are_refused(
    capsysbinary: pytest.CaptureFixture[bytes], options: tuple[str, ...]
) -> None:
    code, out, err = run(capsysbinary, HOME, "show", "claude:x", *options)
    assert code == 2
    assert options[0] in err + out  # with a format for programs, the error is in it
    assert run(capsysbinary, HOME, "browse", "--limit", "0")[:2] == (0, "")


def test_where_no_whole_word_is_found_a_beginning_is_offered(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    offered = "hermes-tui: words are whole ones; {} also finds what begins so\n"
    _, out, err = run(capsysbinary, HOME, "search", "lis agent:claude")
    assert not out and err.endswith(offered.format("lis*"))
    for query in ("lis*", "list", '"lis the"'):
        assert "whole ones" not in run(capsysbinary, HOME, "search", query)[2], query


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("since:foo the", "since:foo makes no filter: it is searched as text"),
        ("is:banana the", "is:banana makes no filter"),
        ("the role:", "role: is without effect"),
        ("the OR", "OR is without effect"),
        ("agnt:claude the", "agnt: is no filter and is searched as text; there is agent:"),
        ("OR", "that asks for nothing"),
        ("(", "that asks for nothing"),
        ("-agent:nobody the", "no agent is called 'nobody'; known are"),
    ],
)
def test_what_was_not_taken_as_it_looks_is_said(
    capsysbinary: pytest.CaptureFixture[bytes], query: str, words: str
) -> None:
    code, _, err = run(capsysbinary, HOME, "search", "--", query)
    assert code == 0
    assert words in err


@pytest.mark.parametrize(
    "query", ["the", "agent:claude,codex the", "since:3650d the", "until:2001-01-01 the", '"the" -file:nothing']
)
def test_nothing_is_said_of_what_was(capsysbinary: pytest.CaptureFixture[bytes], query: str) -> None:
    code, _, err = run(capsysbinary, HOME, "search", "--", query)
    assert code == 0
    assert len(err.splitlines()) == 1, err


def test_at_a_terminal_a_long_search_says_how_far_it_is(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a line that is taken away before the answer, and never where nobody sees it."""
    seconds = itertools.count()
    monkeypatch.setattr("hermes_tui.cli.stderr.time", SimpleNamespace(monotonic=lambda: next(seconds)))
    assert "searched" not in run(capsysbinary, HOME, "search", "~omewher")[2]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, _, err = run(capsysbinary, HOME, "search", "~omewher")
    shown, _, said = err.rpartition("\r\x1b[K")
    steps = [tuple(map(int, one)) for one in re.findall(r"\r(\d+) of (\d+) searched\x1b\[K", shown)]
    assert code == 0
    assert len(steps) > 2
    assert steps == sorted(steps)
    assert len({every for _, every in steps}) == 1
    assert said.startswith("hermes-tui: ")
