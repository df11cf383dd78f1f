"""Nothing is missed and nothing is found that is not there: every store, with the index full, half made and absent,
against a plain reader."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.query import parse
from hermes_tui.sessions.search.hunt import Hunt
from hermes_tui.sessions.search.model import SearchOptions
from naive_search import claude_said, codex_said, folded, hermes_said, pieces, strings, who_said
from session_adapters.base import Environment
from session_adapters.registry import BUILT_IN
from support import SHARED, STORES

HOMES = sorted(
    path.relative_to(STORES)
    for agent in sorted(BUILT_IN)
    for path in (STORES / agent).rglob("*")
    if path.is_dir()
    and not any(part.startswith(".") for part in path.relative_to(STORES).parts)
    and (path.name == "home" or path.name.startswith("home-") or path.parent.name == "old_versions")
)
SEEDS = (1, 2)


def manager_of(home: Path) -> SessionManager:
    return SessionManager(Environment(home=home), cache_dir=home.parent / f"{home.name}-cache")


def found(manager: SessionManager, piece: str, *, use_index: bool) -> set[str]:
    """Every session in which the piece is found, whichever conversation it is part of."""
    query = parse(f'"{piece}"')
    index = manager.index.index if use_index else None
    hunt = Hunt(manager.searches.stores(query, SearchOptions(), refresh=False), query, index)
    sessions = {one.summary.unified_id for one in hunt.run()}
    assert hunt.complete
    assert not [one for one in hunt.problems if "the adapter failed" in one.reason]
    return sessions


def compare(manager: SessionManager, said: dict[str, list[str]], number: int, *, use_index: bool) -> None:
    manager.catalogue.refresh()
    plain = {key: [folded(text) for text in texts] for key, texts in said.items()}
    for seed in SEEDS:
        for piece in pieces(said, number, seed):
            assert found(manager, piece, use_index=use_index) == who_said(piece, plain), piece


def shown(manager: SessionManager) -> dict[str, list[str]]:
    """The texts of every conversation as it is shown, which the adapters' own tests compare with their stores."""
    said: dict[str, list[str]] = {}
    for one in manager.list(limit=None):
        texts = said.setdefault(one.unified_id, [one.title])
        for message in manager.get(one.agent, one.session_id).messages:
            if message.visibility == "rewound":
                continue
            texts += [message.content, message.thinking or ""]
            for call in message.tool_calls:
                texts += [call.tool_name, *strings(call.input), *strings(call.output)]
            if message.tool_result is not None:
                texts += strings(message.tool_result.output)
                texts.append("" if message.tool_result.linked else message.tool_result.tool_name)
    return said


@pytest.mark.parametrize("relative", [one for one in HOMES if one.parts[0] != "hermes"], ids=str)
def test_every_store(relative: Path, store: Callable[..., Path]) -> None:
    manager = manager_of(store(*relative.parts))
    compare(manager, shown(manager), 12, use_index=False)


@pytest.mark.parametrize("relative", [one for one in HOMES if one.parts[0] == "hermes"], ids=str)
def test_hermes_by_sql(relative: Path, store: Callable[..., Path]) -> None:
    home = store(*relative.parts)
    manager = manager_of(home)
    said: dict[str, list[str]] = {}
    titles = {one.unified_id: [one.title] for one in manager.list(limit=None)}
    for database in sorted((home / ".hermes").rglob("state.db")):
        for key, texts in hermes_said(database).items():
            if f"hermes:{key}" in titles:
                said.setdefault(f"hermes:{key}", titles[f"hermes:{key}"].copy()).extend(texts)
    for key, title in titles.items():
        said.setdefault(key, title)
    leftovers = {one.unified_id for one in manager.list(limit=None) if not one.path.endswith("state.db")}
    for key in leftovers:
        said[key] = shown(manager)[key]
    compare(manager, said, 12, use_index=False)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hundred made-up sessions of Claude Code, Codex and Hermes."""
    home = tmp_path_factory.mktemp("corpus") / "home"
    made = (sys.executable, str(SHARED / "bench" / "make_corpus.py"), "--home", str(home), "--size", "S")
    subprocess.run(made, check=True, capture_output=True)
    return home


@pytest.fixture(scope="module")
def corpus_said(corpus: Path) -> dict[str, list[str]]:
    """What was said in it, by plain lines, and the titles."""
    said: dict[str, list[str]] = {}
    for one in manager_of(corpus).list(limit=None):
        texts = said.setdefault(one.unified_id, [one.title])
        if one.agent != "hermes":
            texts += (claude_said if one.agent == "claude" else codex_said)(Path(one.path))
    for key, rows in hermes_said(corpus / ".hermes" / "state.db").items():
        said[f"hermes:{key}"] += rows
    return said


@pytest.mark.timeout(600)
def test_the_corpus_without_an_index(corpus: Path, corpus_said: dict[str, list[str]]) -> None:
    compare(manager_of(corpus), corpus_said, 10, use_index=False)


@pytest.mark.timeout(600)
def test_the_corpus_with_an_index(corpus: Path, corpus_said: dict[str, list[str]]) -> None:
    """Full; then with half of the files changed since, so that they have to be read."""
    manager = manager_of(corpus)
    manager.index.poke(follow=False)
    assert manager.index.wait(300)
    assert manager.index.progress().state == "complete"
    compare(manager, corpus_said, 40, use_index=True)
    everything = manager.discover("needlezq1", limit=None)
    assert str(everything.coverage) == "indexed 100 %"
    for number, path in enumerate(sorted(corpus.rglob("*.jsonl"))):
        if number % 2:
            path.write_bytes(path.read_bytes() + b"\n")
    half = manager.discover("needlezq1", limit=None)
    assert 40 < int(str(half.coverage).split()[1]) < 60
    compare(manager, corpus_said, 5, use_index=True)
    manager.index.close()
