"""`hermes-tui cost report`."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_tui.cli.execute import execute
from spending import Spender

MILLION = 1_000_000


@pytest.fixture
def spender(tmp_path: Path) -> Spender:
    spender = Spender(tmp_path / "home")
    spender.session("one", {"input": MILLION}, cwd="/srv/shop")
    spender.session("two", {"output": MILLION}, {"input": 3, "model": "of-nobody"}, cwd="/srv/blog")
    spender.run(sessionId="two", tags=["night"])
    return spender


def run(spender: Spender, capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = execute(["--home", str(spender.home), "cost", "report", *arguments])
    out, err = capfd.readouterr()
    return code, out, err


def test_a_table(spender: Spender, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(spender, capfd, "--group-by", "project")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["PROJECT", "SESSIONS", "CALLS", "INPUT", "CACHED", "WRITTEN", "OUTPUT", "COST"]
    assert rows[1:] == [
        ["/srv/blog", "1", "2", "3", "0", "0", "1.0M", "~5.00+"],
        ["/srv/shop", "1", "1", "1.0M", "0", "0", "0", "~1.00"],
        ["Total", "2", "3", "1.0M", "0", "0", "1.0M", "~6.00+"],
    ]
    assert "no price is known for of-nobody (3 tokens" in err
    assert "[prices.MODEL] in config.toml" in err
    assert "estimate" in err


def test_a_mistyped_agent_is_named(spender: Spender, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(spender, capfd, "--agent", "cluade", "--json")
    assert (code, json.loads(out)["sessionCount"]) == (0, 0)
    assert "no agent is called 'cluade'; known are claude, " in err
    assert "no agent" not in run(spender, capfd, "--agent", "claude")[2]


def test_what_nothing_is_recorded_of_is_not_free(spender: Spender, capfd: pytest.CaptureFixture[str]) -> None:
    path = spender.session("silent", cwd="/srv/empty")
    prompt = {
        "type": "user",
        "uuid": "u",
        "sessionId": "silent",
        "timestamp": "2026-03-01T12:00:00Z",
        "cwd": "/srv/e",
    }
    path.write_text(json.dumps({**prompt, "message": {"role": "user", "content": "hello"}}) + "\n")
    rows = [line.split() for line in run(spender, capfd, "--group-by", "project")[1].splitlines()]
    assert rows[-2] == ["/srv/e", "1", "0", "0", "0", "0", "0", "—"]
    assert rows[-1][-1] == "~6.00+"
    (path.parent / "one.jsonl").unlink()
    (path.parent / "two.jsonl").unlink()
    assert run(spender, capfd)[1].splitlines()[-1].split()[-1] == "—"
    assert run(spender, capfd, "--agent", "nobody")[1].splitlines()[-1].split()[-1] == "0.00"  # checklist C-1


def test_json_is_the_documents(spender: Spender, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(spender, capfd, "--json", "--tag", "night", "--group-by", "model")
    assert code == 0
    found = json.loads(out)
    assert found["totalUsd"] == pytest.approx(5.0)
    assert found["sessionCount"] == found["runCount"] == 1
    assert found["unpriced"] == ["of-nobody"]
    assert found["breakdowns"].keys() == {"claude-haiku-4-5", "of-nobody"}
    group = found["breakdowns"]["claude-haiku-4-5"]
    wanted = {"key", "totalUsd", "inputTokens", "outputTokens", "thinkingTokens", "cachedTokens", "sessionCount"}
    assert wanted <= group.keys()
    assert "sessions" not in group


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(
    width: int, spender: Spender, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    spender.session("three", {"input": 5}, cwd="/srv/" + "long/" * 30)
    _, out, _ = run(spender, capfd, "--group-by", "project")
    assert max(map(len, out.splitlines())) <= width
    assert all("~" in line for line in out.splitlines()[1:])


def test_days_are_of_utc_unless_local_ones_are_asked_for(
    spender: Spender, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spender.session("late", {"input": MILLION}, at=datetime(2026, 4, 30, 20, 0, tzinfo=UTC))
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    try:
        days = [
            list(json.loads(run(spender, capfd, "--json", "--group-by", "day", *more)[1])["breakdowns"])
            for more in ((), ("--local-days",))
        ]
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
    assert days == [["2026-03-01", "2026-04-30"], ["2026-03-01", "2026-05-01"]]


def test_unknown_agent_and_wrong_use(spender: Spender, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(spender, capfd, "--agent", "nobody")[0] == 0
    assert run(spender, capfd, "--group-by", "weather")[0] == 2
    assert run(spender, capfd, "--since", "tomorrow-ish")[0] == 2


def test_lists_and_documents_have_the_cost(spender: Spender, capfd: pytest.CaptureFixture[str]) -> None:
    assert execute(["--home", str(spender.home), "sessions", "list", "--sort", "cost"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["two", "one"]
    assert "~5.00" in lines[1]
    assert execute(["--home", str(spender.home), "sessions", "show", "claude", "one", "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["cost"] == {"totalUsd": 1.0, "inputTokens": MILLION, "outputTokens": 0, "estimated": True}
    assert found["messages"][1]["cost"]["totalUsd"] == 1.0


def test_transcripts_reach_no_terminal_as_they_are(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    spender = Spender(tmp_path / "home")
    spender.session("one", {"input": 5, "model": "evil\x1b[2J\u202emodel"}, cwd="/srv/\x1b]0;x\x07")
    for group_by in ("model", "project"):
        code, out, err = run(spender, capfd, "--group-by", group_by)
        assert code == 0
        assert "\x1b" not in out + err and "\u202e" not in out + err
