"""A bit of a cache or of the index that flipped by itself changes no answer, and what was damaged is written anew."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.sessions.checksummed_file import read_part, read_parts, write_parts
from hermes_tui.sessions.index.service import index_file
from hermes_tui.sessions.index.writing import worker
from hermes_tui.sessions.manager import SessionManager
from indexing import indexer_variables
from session_adapters.base import Environment
from spending import Spender
from support import STORES

MAGIC = b"magic 1\n"


def flipped(content: bytes, bit: int) -> bytes:
    """The same with one bit the other way round."""
    return content[: bit // 8] + bytes([content[bit // 8] ^ 1 << bit % 8]) + content[bit // 8 + 1 :]


def test_every_bit_of_a_file_counts(tmp_path: Path) -> None:
    """A part is read as it was written or not at all, whichever bit it is."""
    path, parts = tmp_path / "cache", [b"", b"first", b"second " * 9]
    write_parts(path, MAGIC, parts)
    content = path.read_bytes()
    for bit in range(8 * len(content)):
        path.write_bytes(flipped(content, bit))
        read = [read_part(path, MAGIC, number) for number in range(len(parts))]
        assert None in read, bit
        assert all(one in (None, part) for one, part in zip(read, parts, strict=True)), bit


def answers(home: Path, cache: Path) -> tuple[Any, ...]:
    """What a new process shows first, lists and adds up."""
    manager = SessionManager(Environment(home=home), cache_dir=cache, indexed=False)
    first = {one.unified_id for one in manager.catalogue.saved().sessions}
    total = manager.total_cost()
    rows = manager.list(limit=None, sort="turns")
    manager.catalogue.close()
    assert first in (set(), {one.unified_id for one in rows})
    return total, rows


def parts(path: Path) -> list[bytes | None]:
    """The parts of the cache as they can be read: sums, picture, entries."""
    magic = path.read_bytes().partition(b"\n")[0] + b"\n"
    found = list(read_parts(path, magic))
    return found if len(found) > 2 else [None]


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a home of three sessions and the cache of it."""
    folder = tmp_path_factory.mktemp("cached")
    spender = Spender(folder / "home")
    for number in range(3):
        spender.session(f"s{number}", *[{"input": 100 * number, "output": 7}] * (number + 1))
    for _ in range(2):
        answers(folder / "home", folder / "cache")
    assert all(None not in parts(path) for path in (folder / "cache").iterdir())
    return folder


@given(data=st.data())
@examples(20)
def test_a_cache_with_a_flipped_bit(
    data: st.DataObject, cached: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The answers are those without a cache, and what no answer asked for is made anew with the next change."""
    home, cache = cached / "home", tmp_path_factory.mktemp("flipped") / "cache"
    shutil.copytree(cached / "cache", cache)
    (path,) = cache.iterdir()
    content = path.read_bytes()
    damaged = flipped(content, data.draw(st.integers(0, 8 * len(content) - 1)))
    path.write_bytes(damaged)
    expected = answers(home, cache.with_name("empty"))
    assert answers(home, cache) == expected
    written_to = next(home.rglob("s1.jsonl"))
    status = written_to.stat()
    os.utime(written_to, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000_000))
    try:
        assert answers(home, cache) == expected
    finally:
        os.utime(written_to, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.read_bytes() != damaged
    assert None not in parts(path)


ASKED = ("the", "fix", '"unit tests" OR login', "tool:bash", "role:user", "-the", "te*")
"""Each has answers in the stores below; some are looked up in several tables."""


def found(home: Path, cache: Path, *, indexed: bool = True) -> tuple[list[Any], list[str]]:
    """What a new process finds, and what it says of the index."""
    manager = SessionManager(Environment(home=home), cache_dir=cache, indexed=indexed)
    outcomes = [manager.discover(asked, limit=None, windows=False) for asked in ASKED]
    manager.index.close()
    manager.catalogue.close()
    results = [
        [(one.unified_id, one.message_id, one.match_field, one.match_count, one.snippet) for one in outcome.results]
        for outcome in outcomes
    ]
    return results, [str(outcome.coverage) for outcome in outcomes]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a home of two agents, its caches, and its index."""
    folder = tmp_path_factory.mktemp("searched")
    shutil.copytree(STORES / "claude" / "home", folder / "home")
    shutil.copytree(STORES / "codex" / "home" / ".codex", folder / "home" / ".codex")
    environment = Environment(home=folder / "home")
    answers(folder / "home", folder / "cache")
    heal(environment, index_file(environment, folder / "cache"))
    assert len(list((folder / "cache").iterdir())) >= 3
    return folder


def heal(environment: Environment, path: Path) -> None:
    """One indexing."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in indexer_variables(environment).items():
            patch.setenv(name, value)
        assert worker.work(path) == worker.WorkerExit.DONE


@given(data=st.data())
@examples(6)
def test_every_answer_is_right_whichever_bit_flipped(
    data: st.DataObject, searched: Path, expected: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In the index, its seal or the cache of the list. A page that no answer needed is noticed later; one
    indexing after an answer had to do without the index, it is whole again."""
    environment = Environment(home=searched / "home")
    cache = tmp_path_factory.mktemp("anywhere") / "cache"
    shutil.copytree(searched / "cache", cache)
    files = sorted(path for path in cache.iterdir() if path.stat().st_size)
    path = data.draw(st.sampled_from(files))
    status, content = path.stat(), path.read_bytes()
    path.write_bytes(flipped(content, data.draw(st.integers(0, 8 * len(content) - 1))))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # nothing else tells of it
    is_noticed = False
    for _ in range(3):
        results, covered = found(searched / "home", cache)
        for one, said, (by_reading, by_index) in zip(results, covered, expected, strict=True):
            assert one == by_index if said == "indexed 100 %" else one in (by_reading, by_index)
        is_whole = set(covered) == {"indexed 100 %"}
        assert is_whole or not is_noticed, (path.name, covered)
        is_noticed = not is_whole
        heal(environment, index_file(environment, cache))


@pytest.fixture(scope="module")
def expected(searched: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Of each query the answer by reading alone, and that of a sound index: the same conversations, in an order of
    their own, since only an index knows how rare a word is."""
    by_reading, covered = found(searched / "home", tmp_path_factory.mktemp("none"), indexed=False)
    assert all(by_reading)
    assert "indexed 100 %" not in covered
    by_index, covered = found(searched / "home", searched / "cache")
    assert set(covered) == {"indexed 100 %"}
    for one, other in zip(by_reading, by_index, strict=True):
        assert sorted((row[0], row[3]) for row in one) == sorted((row[0], row[3]) for row in other)
    return list(zip(by_reading, by_index, strict=True))
