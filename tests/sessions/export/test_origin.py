"""Where a session of Hermes was held, with whom, and why it ended; its system prompt; order by tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_tui.cli.execute import execute
from lane_homes import HermesDemo
from spending import Spender

PROMPT = "You are Hermes.\nBe brief.\x1b[31m\x07"


@pytest.fixture
def demo(tmp_path: Path) -> HermesDemo:
    return HermesDemo(tmp_path / "home")


def run(home: Path, capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = execute(["--home", str(home), *words])
    return code, *capfd.readouterr()


def ids(home: Path, capfd: pytest.CaptureFixture[str], *words: str) -> list[str]:
    code, out, _ = run(home, capfd, "sessions", "list", "hermes", "--limit", "1000", "--json", *words)
    assert code == 0
    return [one["sessionId"] for one in json.loads(out)]


def test_a_list_by_source(demo: HermesDemo, capfd: pytest.CaptureFixture[str]) -> None:
    query = "SELECT id FROM sessions WHERE source = ?"
    for source in ("telegram", "cli", "nowhere"):
        found = [one for profile in ("", "coder") for (one,) in demo.sql(query, source, profile=profile)]
        assert sorted(ids(demo.home, capfd, "--source", source)) == sorted(found)
    out = run(demo.home, capfd, "sessions", "list", "hermes")[1]
    assert "  SOURCE" in out.splitlines()[0] and "  telegram  " in out


def test_a_list_by_tokens(demo: HermesDemo, capfd: pytest.CaptureFixture[str]) -> None:
    known: dict[str, int] = {}
    for profile in ("", "coder"):
        known |= demo.sql(
            "SELECT s.id, coalesce("
            "sum(u.input_tokens + u.output_tokens + u.cache_read_tokens + u.cache_write_tokens),"
            " s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens)"
            " FROM sessions s LEFT JOIN session_model_usage u ON u.session_id = s.id GROUP BY s.id",
            profile=profile,
        )
    falling = [known[one] for one in ids(demo.home, capfd, "--sort", "tokens")]
    assert len(falling) == len(known) and falling == sorted(falling, reverse=True) and falling[0] > falling[-1]
    assert "  TOKENS  " in run(demo.home, capfd, "sessions", "list", "hermes", "--sort", "tokens")[1].splitlines()[0]


def test_a_report_by_source_and_in_other_orders(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    spender = Spender(tmp_path / "spent")
    spender.session("dear", {"output": 1_000_000}, cwd="/srv/dear")
    spender.session("much", {"input": 3_000_000}, cwd="/srv/much")
    for order, first in (("cost", "/srv/dear"), ("tokens", "/srv/much"), ("key", "/srv/dear")):
        out = run(spender.home, capfd, "cost", "report", "--group-by", "project", "--sort", order)[1]
        assert [line.split()[0] for line in out.splitlines()][1] == first
    code, out, _ = run(spender.home, capfd, "cost", "report", "--source", "nowhere", "--json")
    assert code == 0 and json.loads(out)["sessionCount"] == 0


def test_show_says_where_with_whom_and_why_it_ended(demo: HermesDemo, capfd: pytest.CaptureFixture[str]) -> None:
    [(session, source, user, chat, reason)] = demo.sql(
        "SELECT id, source, user_id, chat_id, end_reason FROM sessions WHERE user_id IS NOT NULL"
        " AND chat_id IS NOT NULL AND end_reason IS NOT NULL ORDER BY id LIMIT 1"
    )
    [(child, parent)] = demo.sql(
        "SELECT c.id, p.id FROM sessions c JOIN sessions p ON p.id = c.parent_session_id"
        " WHERE p.end_reason = 'compression' ORDER BY c.id LIMIT 1"
    )
    out = run(demo.home, capfd, "sessions", "show", "hermes", session)[1]
    for name, value in (("Source", source), ("User", user), ("Ended", reason)):
        assert f"{name}: {value}" in out.replace("*", "").replace("\\", ""), out[:800]
    [told] = [line for line in out.splitlines() if "Chat" in line][:1]
    assert chat.lstrip("-") in told.replace("\\", "")
    out = run(demo.home, capfd, "sessions", "show", "hermes", child)[1].replace("\\", "").replace("*", "")
    assert f"Parent: {parent}" in out


def test_a_system_prompt_alone_as_text(demo: HermesDemo, capfd: pytest.CaptureFixture[str]) -> None:
    [(session,)] = demo.sql("SELECT id FROM sessions ORDER BY id LIMIT 1")
    show = ("sessions", "show", "hermes", session, "--system-prompt")
    assert run(demo.home, capfd, *show) == (0, "", "hermes-tui: no system prompt is kept for this session\n")
    demo.sql("UPDATE sessions SET system_prompt = ? WHERE id = ?", PROMPT, session)
    assert run(demo.home, capfd, *show)[:2] == (0, "You are Hermes.\nBe brief.\u2407\n")
    spender = Spender(demo.home)
    spender.session("one", {"input": 1})
    code, _, err = run(demo.home, capfd, "sessions", "show", "claude", "one", "--system-prompt")
    assert code == 6 and "only Hermes keeps system prompts" in err
