"""Nothing is missed and nothing is found that is not there: every store, with the index full, half made and absent,
against a plain reader.

`make test-long` asks for some twenty times as many words, paths, identifiers and bits of code and of Chinese of each
store.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from chances import TIMES, chance
from claude_lines import ClaudeHome
from corpus.make_corpus import make_corpus
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.index.schema import open_writer
from hermes_tui.sessions.index.source_state import Level
from hermes_tui.sessions.index.writing import writer
from hermes_tui.sessions.index.writing.indexer import Indexer
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.query.query import parse
from hermes_tui.sessions.search.engine import Hunt
from hermes_tui.sessions.search.model import Outcome, SearchOptions
from indexing import build, homes_sources
from naive_search import claude_said, codex_said, folded, hermes_said, pieces, strings, who_said
from session_adapters.base import Environment
from session_adapters.model import ToolCall
from session_adapters.registry import BUILT_IN
from support import STORES

HOMES = sorted(
    path.relative_to(STORES)
    for agent in sorted(BUILT_IN)
    for path in (STORES / agent).rglob("*")
    if path.is_dir()
    and not any(part.startswith(".") for part in path.relative_to(STORES).parts)
    and (path.name == "home" or path.name.startswith("home-") or path.parent.name == "old_versions")
)
SAMPLES = 5 if TIMES == 1 else 12 * TIMES
"""Words that are looked for in each store; `pieces` gives fewer where there are no more."""
LARGE_SAMPLES = 3 if TIMES == 1 else 5 * TIMES
"""The same of the corpus, each search of which reads a hundred times as much."""


def manager_of(home: Path) -> SessionManager:
    return SessionManager(Environment(home=home), cache_dir=home.parent / f"{home.name}-cache")


def found(manager: SessionManager, asked: str, index: SearchIndex | None) -> set[str]:
    """Every session that the query finds, whichever conversation it is part of."""
    query = parse(asked)
    hunt = Hunt(manager.searches.stores(query, SearchOptions(), refresh=False), query, index)
    sessions = {one.summary.unified_id for one in hunt.run()}
    assert hunt.complete
    assert not [one for one in hunt.problems if "the adapter failed" in one.reason]
    return sessions


def stopped(environment: Environment, path: Path, level: Level, share: float) -> None:
    """An index whose indexer was stopped when it had that share of the sources at that level."""
    sources = homes_sources(environment)

    def stop() -> bool:
        done = connection.execute("SELECT count(*) FROM source WHERE level >= ?", (level,)).get
        return bool(done >= share * len(sources))

    with pytest.MonkeyPatch.context() as patch:
        for name in ("FIRST_BATCH", "BATCH"):
            patch.setattr(writer, name, max(200, sum(source.size for source in sources) // 500))
        connection = open_writer(path)
        assert Indexer(connection, Adapters(lambda: environment), stop=stop).run() == (share > 1)
        connection.close()


def indexes(home: Path, folder: Path) -> Iterator[tuple[str, SearchIndex | None]]:
    """None; one that was stopped while it took in what was said; that one after it went on, and was stopped while it
    took in the rest; and when it was left to finish."""
    environment = Environment(home=home)
    yield "absent", None
    path = folder / "i.db"
    for name, level, share in (("said", Level.PROSE, 0.5), ("rest", Level.ALL, 0.5), ("full", Level.ALL, 2)):
        stopped(environment, path, level, share)
        index = SearchIndex(path)
        yield name, index
        index.close()


def compare(
    home: Path, manager: SessionManager, said: dict[str, list[str]], folder: Path, samples: int = SAMPLES
) -> None:
    """Look for everything in every state of the index."""
    manager.catalogue.refresh()
    plain = {key: [folded(text) for text in texts] for key, texts in said.items()}
    chosen = {f'"{piece}"': who_said(piece, plain) for piece in pieces(said, samples, seed=1)}
    chosen |= who_called(manager, seed=1)
    for name, index in indexes(home, folder):
        for asked, expected in chosen.items():
            assert found(manager, asked, index) == expected, (asked, name)


def who_called(manager: SessionManager, seed: int) -> dict[str, set[str]]:
    """Queries for tools and files, and the sessions that have a message to which they apply."""
    dice = chance(seed)
    about: list[tuple[str, str, set[str], set[str]]] = []
    """Session, role, tools and files of every message with a call."""
    for one in manager.list(limit=None):
        calls: dict[str, ToolCall] = {}
        parts = manager.open(one.agent, one.session_id).every_branch()
        others = [message for _, messages in parts for message in messages]
        for message in (*manager.get(one.agent, one.session_id).messages, *others):
            calls |= {call.tool_call_id: call for call in message.tool_calls}
            mine = list(message.tool_calls)
            result = message.tool_result
            if result is not None:
                unknown = ToolCall(tool_call_id="", tool_name=result.tool_name)
                mine.append(calls.get(result.tool_call_id, unknown) if result.linked else unknown)
            if mine and message.visibility != "rewound":
                named = {path.lower() for call in mine for path in paths(call.input)}
                about.append((one.unified_id, message.role, {call.tool_name.lower() for call in mine}, named))
    everything = {one.unified_id for one in manager.list(limit=None)}
    tools = sorted({tool for _, _, some, _ in about for tool in some if re.fullmatch(r"[\w.-]+", tool)})
    files = sorted({file for _, _, _, some in about for file in some if re.fullmatch(r"[\w./-]+", file)})
    asked: dict[str, set[str]] = {}
    for tool in dice.sample(tools, min(3, len(tools))):
        part = tool[: dice.randrange(1, len(tool) + 1)]
        asked[f"tool:{part}"] = {key for key, _, some, _ in about if any(part in one for one in some)}
        asked[f"-tool:{tool}"] = everything - {key for key, _, some, _ in about if any(tool in one for one in some)}
        asked[f"tool:{tool} role:assistant"] = {
            key for key, role, some, _ in about if role == "assistant" and any(tool in one for one in some)
        }
    for file in dice.sample(files, min(3, len(files))):
        part = file[dice.randrange(len(file)) :]
        asked[f'file:"{part}"'] = {key for key, _, _, some in about if any(part in one for one in some)}
        asked[f'tool:a file:"{part}"'] = {
            key
            for key, _, some, named in about
            if any("a" in one for one in some) and any(part in one for one in named)
        }
    return asked


def paths(value: Any, named: bool = False) -> Iterator[str]:
    """Arguments that are named like a path, and files in patches."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, bool(re.search("path|file|dir|folder|cwd", key, re.IGNORECASE)))
    elif isinstance(value, list):
        for item in value:
            yield from paths(item, named)
    elif isinstance(value, str) and named and "\n" not in value:
        yield value
    elif isinstance(value, str):
        for line in value.splitlines():
            for start in (
                "*** Add File: ",
                "*** Update File: ",
                "*** Delete File: ",
                "*** Move to: ",
                "--- ",
                "+++ ",
            ):
                if line.startswith(start):
                    yield line.removeprefix(start).removeprefix("a/" if start == "--- " else "b/")


def shown(manager: SessionManager) -> dict[str, list[str]]:
    """The texts of every conversation and its branches as shown, which the adapters' tests compare with stores."""
    said: dict[str, list[str]] = {}
    for one in manager.list(limit=None):
        # Rows that agents of Hector's share are one result, of the other agent's: the title made of one of them, too.
        is_elsewhere = bool(one.raw.get("sharedMessages"))
        texts = said.setdefault(one.unified_id, [] if is_elsewhere else [one.title])
        parts = manager.open(one.agent, one.session_id).every_branch()
        others = [message for _, messages in parts for message in messages]
        for message in (*manager.get(one.agent, one.session_id).messages, *others):
            if message.visibility == "rewound" or (is_elsewhere and message.inherited):
                continue
            texts += [message.content, message.thinking or ""]
            for call in message.tool_calls:
                texts += [call.tool_name, *strings(call.input), *strings(call.output)]
            if message.tool_result is not None:
                texts += strings(message.tool_result.output)
                texts.append("" if message.tool_result.linked else message.tool_result.tool_name)
    return said


@pytest.mark.parametrize("relative", [one for one in HOMES if one.parts[0] != "hermes"], ids=str)
def test_every_store(relative: Path, store: Callable[..., Path], tmp_path: Path) -> None:
    home = store(*relative.parts)
    manager = manager_of(home)
    compare(home, manager, shown(manager), tmp_path / "index")


@pytest.mark.parametrize("relative", [one for one in HOMES if one.parts[0] == "hermes"], ids=str)
def test_hermes_by_sql(relative: Path, store: Callable[..., Path], tmp_path: Path) -> None:
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
    compare(home, manager, said, tmp_path / "index")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hundred made-up sessions of Claude Code, Codex and Hermes; in `make test-long` they are longer."""
    home = tmp_path_factory.mktemp("corpus")
    make_corpus(home, "short" if TIMES == 1 else "S")
    return home


@pytest.fixture(scope="module")
def corpus_said(corpus: Path) -> dict[str, list[str]]:
    """What was said in it, by plain lines, and the titles."""
    said: dict[str, list[str]] = {}
    for one in manager_of(corpus).list(limit=None):
        # Rows that agents of Hector's share are one result, of the other agent's: the title made of one of them, too.
        is_elsewhere = bool(one.raw.get("sharedMessages"))
        texts = said.setdefault(one.unified_id, [] if is_elsewhere else [one.title])
        if one.agent != "hermes":
            texts += (claude_said if one.agent == "claude" else codex_said)(Path(one.path))
    for key, rows in hermes_said(corpus / ".hermes" / "state.db").items():
        said[f"hermes:{key}"] += rows
    return said


@pytest.mark.timeout(600)
def test_the_corpus(corpus: Path, corpus_said: dict[str, list[str]], tmp_path: Path) -> None:
    compare(corpus, manager_of(corpus), corpus_said, tmp_path / "index", LARGE_SAMPLES)


def test_the_states_differ(store: Callable[..., Path], tmp_path: Path) -> None:
    """What the tests above look through are indexes of different coverage, in which something is missing."""
    home = store("claude", "home")
    sources = homes_sources(Environment(home=home))
    seen: dict[str, list[Level]] = {}
    for name, index in indexes(home, tmp_path / "index"):
        if index is not None:
            coverage = index.coverage(sources)
            seen[name] = [coverage.level(source) for source in sources]
    assert {Level.NOTHING, Level.PROSE} == set(seen["said"])
    assert {Level.PROSE, Level.ALL} == set(seen["rest"])
    assert {Level.ALL} == set(seen["full"])


@pytest.mark.timeout(600)
def test_files_that_changed_since(corpus: Path, corpus_said: dict[str, list[str]], tmp_path: Path) -> None:
    """Half of them, so that they have to be read."""
    home = tmp_path / "home"
    shutil.copytree(corpus, home)
    manager = manager_of(home)
    manager.index.poke(follow=False)
    assert manager.index.wait(300)
    assert manager.index.progress().state == "complete"
    everything = manager.discover("needlezq1", limit=None)
    assert str(everything.coverage) == "indexed 100 %"
    for number, path in enumerate(sorted(home.rglob("*.jsonl"))):
        if number % 2:
            path.write_bytes(path.read_bytes() + b"\n")
    half = manager.discover("needlezq1", limit=None)
    assert 40 < int(str(half.coverage).split()[1]) < 60
    plain = {key: [folded(text) for text in texts] for key, texts in corpus_said.items()}
    for piece in pieces(corpus_said, LARGE_SAMPLES, seed=2):
        assert found(manager, f'"{piece}"', manager.index.index) == who_said(piece, plain), piece
    manager.index.close()


def typed(said: dict[str, list[str]], tools: Sequence[str], number: int, seed: int) -> Iterator[str]:
    """Queries of every kind about what was said."""
    dice = chance(seed)
    texts: list[list[str]] = [
        words for one in said.values() for text in one if (words := re.findall(r"[^\W_]+", text))
    ]

    def word() -> str:
        return dice.choice(dice.choice(texts))

    def phrase() -> str:
        words = dice.choice(texts)
        at = dice.randrange(len(words))
        return f'"{" ".join(words[at : at + 2])}"'

    for _ in range(number):
        tool = dice.choice(tools)
        yield dice.choice(
            (
                *(word(), f"{word()} {word()}", phrase(), f"{word()} OR {word()}", f"{word()[:2]}*", f"tool:{tool}"),
                *(f"{word()} OR {phrase()} role:assistant", f"tool:{tool} OR {word()}", f"{word()} -{word()}"),
                *(f"-tool:{tool}", f"{word()} role:user", f"{word()} file:{word()}", "role:user"),
            )
        )


def named(outcome: Outcome) -> list[tuple[object, ...]]:
    """All that an answer says of what it found."""
    return [
        (one.unified_id, one.message_id, one.match_field, one.match_role, one.match_count, one.parts, one.snippet)
        for one in outcome.results
    ]


def same_messages(manager: SessionManager, said: dict[str, list[str]], number: int, *more: str) -> int:
    """The index changes nothing in an answer: not the sessions, not the messages, not their order, unless it said
    that there are too many to put all in order. How many answers said that."""
    build(manager.environment, manager.index.path)
    tools = [tool for tool in manager.index.index.tools() if tool.isalnum()] or ["bash"]
    cut = 0
    for asked in (*more, *typed(said, tools, number, seed=4)):
        for options in ({}, {"sort": "date"}, {"limit": 3}):
            with_index, without = (
                manager.discover(asked, use_index=use, windows=False, **options) for use in (True, False)
            )
            assert with_index.coverage.indexed == with_index.coverage.sources, (asked, options)
            assert with_index.total == without.total, (asked, options)
            if with_index.ranked == with_index.total:
                assert named(with_index) == named(without), (asked, options)
            else:
                cut += 1
                found = (manager.discover(asked, use_index=use, limit=None, windows=False) for use in (True, False))
                assert len({frozenset(one.unified_id for one in answer.results) for answer in found}) == 1, asked
    manager.index.close()
    return cut


@pytest.mark.parametrize("agent", sorted(BUILT_IN))
def test_the_index_names_the_messages_that_reading_does(agent: str, store: Callable[..., Path]) -> None:
    manager = manager_of(store(agent, "home"))
    assert same_messages(manager, shown(manager), SAMPLES // 3) < SAMPLES // 3


@pytest.mark.timeout(600)
def test_the_index_names_the_same_of_many(corpus: Path, corpus_said: dict[str, list[str]], tmp_path: Path) -> None:
    """More than are compared in full; `file` is in far more messages than are put in order."""
    manager = SessionManager(Environment(home=corpus), cache_dir=tmp_path / "cache")
    assert 0 < same_messages(manager, corpus_said, LARGE_SAMPLES, "file") < LARGE_SAMPLES + 3


def test_a_session_that_was_cut_is_named_with_the_index_as_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search by the index said nothing of it, nor did the list."""
    monkeypatch.setattr("session_adapters.transcript.TEXT_LIMIT", 1 << 20)
    made = ClaudeHome(tmp_path / "home")
    long = made.session("alpha beta", turns=20)
    made.session("alpha gamma")
    lines = long.read_bytes().splitlines(keepends=True)
    long.write_bytes(b"".join(line.replace(b"beta", b"beta " * 20_000) for line in lines))
    manager = SessionManager(Environment(home=made.home), cache_dir=tmp_path / "cache")

    def named(use_index: bool) -> set[str]:
        found = manager.discover("alpha", use_index=use_index, windows=False)
        assert found.total == 2 and bool(found.coverage.indexed) == use_index
        return {problem.path for problem in found.problems}

    build(manager.environment, manager.index.path)
    assert named(use_index=True) == named(use_index=False) == {str(long)}
    long.write_bytes(b"".join(lines))
    manager.catalogue.refresh()
    build(manager.environment, manager.index.path)
    assert named(use_index=True) == named(use_index=False) == set()
    for _ in range(20):
        made.say(long, "assistant", "beta " * 20_000)
    manager.catalogue.refresh()
    build(manager.environment, manager.index.path)
    assert named(use_index=True) == named(use_index=False) == {str(long)}
    manager.index.close()
