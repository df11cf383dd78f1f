"""No answer is over its budget, none shows a secret or a control character, each is what its schema says."""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import chances
from hermes_tui.mcp.budget import LEAST_BYTES, MOST_BYTES, encoded, pages, shortened
from hermes_tui.mcp.schemas import TOOLS
from hermes_tui.mcp.scope import Scope
from hermes_tui.mcp.tools import AgentTools
from hermes_tui.redact.redactor import Redactor
from hermes_tui.sessions.manager import SessionManager
from indexing import build
from secret_samples import SECRETS
from session_adapters.base import Environment
from session_adapters.registry import BUILT_IN
from support import STORES
from tiny_home import START, TinyHome
from typed_queries import made

QUERIES = 800 * chances.TIMES
SCHEMAS = {one.name: jsonschema.Draft202012Validator(one.output_schema) for one in TOOLS}


def faults(tool: str, answer: dict[str, Any], budget: int) -> Iterator[str]:
    """What is wrong with an answer."""
    data = encoded(answer)
    if len(data) > budget:
        yield f"{len(data)} bytes of {budget}"
    for error in SCHEMAS[tool].iter_errors(answer):
        yield str(error)[:300]
    for char in set(data.decode()):
        if unicodedata.category(char) in ("Cc", "Cs"):
            yield f"U+{ord(char):04X}"
    for text in texts(json.loads(data)):
        if re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text):
            yield f"control character in {text[:80]!r}"


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


def plant(home: Path) -> set[str]:
    """Put the labelled secrets behind texts of the sample stores; those that `--redact` masks there."""
    samples = itertools.cycle(SECRETS)
    planted: set[str] = set()

    def text(value: str) -> str:
        sample = next(samples)
        more = f"{value}\nneedle {sample.text}\n"
        masked = Redactor().text(more)
        planted.update(secret for secret in sample.secrets if secret not in masked)
        return more

    def grown(value: Any) -> Any:
        if isinstance(value, dict):
            found = {key: grown(one) for key, one in value.items()}
            for key in ("text", "content", "message"):
                if isinstance(one := value.get(key), str) and len(one) > 20 and one[0].isalpha():
                    found[key] = text(one)
            return found
        return [grown(one) for one in value] if isinstance(value, list) else value

    for path in sorted(home.rglob("*.jsonl")):
        lines = path.read_bytes().splitlines()
        for at, line in enumerate(lines):
            with suppress(ValueError):
                lines[at] = json.dumps(grown(json.loads(line))).encode()
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    with closing(sqlite3.connect(home / ".hermes" / "state.db")) as connection, connection:
        said = "SELECT id, content FROM messages WHERE length(content) > 20 AND instr(content, char(0)) = 0"
        for number, content in connection.execute(said).fetchall():
            connection.execute("UPDATE messages SET content = ? WHERE id = ?", (text(content), number))
    return planted


@pytest.fixture(scope="module")
def every_store(tmp_path_factory: pytest.TempPathFactory) -> tuple[SessionManager, set[str]]:
    """All sample stores in one home, indexed, and the secrets planted in them."""
    place = tmp_path_factory.mktemp("every")
    home = place / "home"
    for agent in sorted(BUILT_IN):
        shutil.copytree(STORES / agent / "home", home, symlinks=True, dirs_exist_ok=True)
    for path in home.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | 0o200)
    planted = plant(home)
    manager = SessionManager(Environment(home=home), cache_dir=place / "cache")
    manager.catalogue.refresh()
    build(manager.environment, manager.index.path)
    return manager, planted


def test_no_answer_is_over_its_budget(
    every_store: tuple[SessionManager, set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    manager, planted = every_store
    monkeypatch.setattr(type(manager.index), "poke", lambda *args, **kwargs: None)
    chance = chances.chance(19)
    tools, bare = (AgentTools(manager, Scope(manager, ancestors=()), redact=redact) for redact in (True, False))
    sessions = [one.unified_id for one in manager.list(limit=None)]
    anchors: list[tuple[str, str]] = []
    words = sorted({word for one in manager.list(limit=None) for word in f"{one.title} {one.preview}".split()})
    answered = 0
    seen: set[str] = set()
    for number, query in enumerate(asked(chance, words)):
        budget = chance.choice((LEAST_BYTES, 1500, 3000, 6000, MOST_BYTES, chance.randint(LEAST_BYTES, MOST_BYTES)))
        arguments: dict[str, Any] = {"max_bytes": budget}
        tool = "session_search"
        match number % 10:
            case 7 if anchors:
                session, message = chance.choice(anchors)
                window = chance.choice((0, 1, 5, 10, 50))
                arguments |= {"session_id": session, "around_message_id": message, "window": window}
            case 8:
                arguments |= {"session_id": chance.choice(sessions)}
                tool = chance.choice(("session_overview", "session_search"))
            case 9:
                tool = chance.choice(("sessions_now", "session_search"))
            case _:
                arguments |= {"query": query, "limit": chance.choice((0, 1, 3, 10))}
        reply = tools.call(tool, arguments)
        if reply.error:
            assert len(reply.error) <= 700
            assert not reply.error.startswith("INTERNAL"), (reply.error, arguments)
            continue
        assert list(faults(tool, reply.answer, budget)) == [], arguments
        together = "\n".join(texts(reply.answer))
        assert [secret for secret in planted if secret in together] == [], arguments
        if number % 10 == 0:  # where they are not masked, many are
            together = "\n".join(texts(bare.call(tool, arguments).answer))
            seen.update(secret for secret in planted if secret in together)
        answered += 1
        for one in reply.answer.get("results", ()):
            anchors += [(one["session_id"], each["id"]) for each in one.get("messages", ()) if "id" in each]
    assert answered > QUERIES * 0.9
    assert len(seen) > 50


def asked(chance: random.Random, words: list[str]) -> Iterator[str]:
    """What people and programs type: words that are there, and what is random."""
    for number in range(QUERIES):
        yield made(chance) if number % 3 == 0 else " ".join(chance.choices(words, k=chance.randint(1, 2)))


def test_no_secret_is_in_any_answer(tiny_home: TinyHome, manager: SessionManager) -> None:
    """Those of the labelled set that `--redact` masks in the whole text are masked however the text is cut."""
    hidden: dict[str, tuple[str, ...]] = {}
    for number, sample in enumerate(SECRETS):
        name = f"s{number}"
        records = [
            {"title": sample.text[:100].replace("\n", " "), "at": START.isoformat()},
            {"role": "user", "text": f"needle {sample.text}", "at": START.isoformat()},
            {
                "role": "assistant",
                "text": f"{'word ' * (number % 60)}\n{sample.text}\nneedle",
                "at": START.isoformat(),
            },
        ]
        (tiny_home.store / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
        masked = Redactor().text(f"needle {sample.text}")
        hidden[f"tiny:{name}"] = tuple(secret for secret in sample.secrets if secret not in masked)
    assert sum(map(len, hidden.values())) > 200
    tools = AgentTools(manager, Scope(manager, ancestors=()))
    shown: list[str] = []
    for budget in (1_000, 2_500, 6_000, 24_000):
        for name in hidden:
            for tool, arguments in (
                ("session_search", {"query": f"needle id:{name}"}),
                ("session_search", {"session_id": name, "around_message_id": "#1", "window": 1}),
                ("session_overview", {"session_id": name}),
            ):
                reply = tools.call(tool, {**arguments, "max_bytes": budget})
                assert not reply.error, reply.error
                shown += texts(reply.answer)
    shown += texts(tools.call("session_search", {"limit": 50, "max_bytes": 24_000}).answer)
    for address, _ in tools.recent():
        shown.append(tools.read(address).answer["text"])
    manager.index.close()
    together = "\n".join(shown)
    assert "[masked:" in together
    assert [secret for secrets in hidden.values() for secret in secrets if secret in together] == []


def test_without_redaction_texts_are_as_they_stand(tiny_home: TinyHome, manager: SessionManager) -> None:
    key = "ghp_" + "Ab1" * 12
    tiny_home.add("s", title=f"Use {key}")
    for redact in (True, False):
        tools = AgentTools(manager, Scope(manager, ancestors=()), redact=redact)
        assert (key in str(tools.call("session_search", {}).answer)) is not redact
    manager.index.close()


def test_a_text_that_is_cut_says_how_much_is_missing() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("abcdef", 3) == "abc… [+3 characters]"
    assert shortened("abc", 0) == "[3 characters]"


def test_pages_end_at_lines_and_never_inside_a_character() -> None:
    text = "".join(f"{number} {'ä€😀' * (number % 50)}\n" for number in range(500)) + "€" * 5000
    for size in (100, 1000, 4097):
        parts = list(pages(text, size))
        assert "".join(parts) == text
        assert all(len(part.encode()) <= size for part in parts)


@pytest.mark.parametrize("length", [301, 5000])
def test_ids_that_are_too_long_are_not_handed_on(tmp_path: Path, length: int, manager: SessionManager) -> None:
    from hermes_tui.mcp.answers import browsed
    from hermes_tui.sessions.search.model import BrowsedSession, BrowsedSessions

    one = BrowsedSession(
        session_id="x" * length, agent="tiny", title="t", started_at=START, last_active=START, message_count=1
    )
    assert browsed(BrowsedSessions(results=(one,)), {}, 1000)["results"] == []
