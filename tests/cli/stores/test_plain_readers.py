"""The plain readers, by which the command line is measured, beside what reference readers noted of the samples."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from plain_all import READERS
from plain_session import Plain
from support import STORES

_NOTES = {
    ("claude", "home"): "expected.json",
    ("claude", "older/home"): "expected.older.json",
    ("codex", "home"): "expected.json",
    ("codex", "older/home"): "expected.older.json",
    ("codex", "public/home"): "expected.public.json",
    ("copilot", "home"): "expected.json",
    ("gemini", "home"): "expected.json",
    ("gemini", "older/home"): "expected.older.json",
    **{("omp", home): "expected.json" for home in ("home", "home-hard")},
    ("openclaw", "home"): "expected.json",
    **{("opencode", home): "expected.json" for home in ("home", "home-json-1.1", "home-sqlite-1.2")},
    **{("pi", home): "expected.json" for home in ("home", "home-hard")},
}


def _noted(agent: str, home: str) -> dict[str, dict[str, Any]]:
    """By session id or key."""
    value = json.loads((STORES / agent / _NOTES[agent, home]).read_text())
    value = value[home] if isinstance(value, dict) and home in value else value
    rows = list(value.values()) if isinstance(value, dict) else value
    keys = list(value) if isinstance(value, dict) else [row["id"] for row in value]
    named = [(row.get("key") or row.get("id") or key, row) for key, row in zip(keys, rows, strict=True)]
    return {name: row for name, row in named if isinstance(row, dict)}


def _written(agent: str, row: dict[str, Any]) -> int | None:
    """Tokens that the model wrote for this session alone, where that was noted. Copilot's notes leave out the call
    that wrote a summary, and count a sub-agent with its parent."""
    unlike = (
        agent == "opencode" or row.get("of_which_subagent_requests") or (agent == "copilot" and row["compactions"])
    )
    for name in ("tokens_owned", "usageNotSeenInEarlierFile", "tokens"):
        if isinstance(row.get(name), dict) and not unlike:
            tokens = row[name]
            return int(tokens["output"] + (tokens.get("thoughts", 0) if agent == "gemini" else 0))
    return None


@pytest.mark.parametrize(("agent", "home"), _NOTES)
def test_plain_readers_say_what_was_noted(agent: str, home: str) -> None:
    plain = {one.session_id: one for one in READERS[agent](STORES / agent / home)}
    noted = _noted(agent, home)
    both = plain.keys() & noted.keys()
    assert both
    for name in both:
        one, row = plain[name], noted[name]
        pairs = [*_facts(agent, one, row)]
        assert pairs
        for field, value, note in pairs:
            assert value == note, (name, field)


def _facts(agent: str, one: Plain, row: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for field, value in (("cwd", one.cwd), ("branch", one.branch), ("archived", one.archived)):
        if row.get(field) is not None:
            yield field, value, row[field]
    texts = [said.text for said in one.said if said.role == "user" and said.text]
    for name in ("user_prompts", "user_prompts_logged", "user_prompts_in_file"):  # long ones were cut
        yield from ((name, any(text.startswith(prompt) for text in texts), True) for prompt in row.get(name, ()))
    written = _written(agent, row)
    if written is not None:
        yield "tokens", one.tokens[1], written
    roles = Counter(said.role for said in one.said)
    for role, count in (row.get("activeRoles") or (row["roles"] if agent == "opencode" else {})).items():
        yield role, roles[{"toolResult": "tool"}.get(role, role)], count
