"""A file that grows is summed up again without reading what was read, and comes to the same as all of it."""

from __future__ import annotations

import gc
import shutil
import tracemalloc
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from chances import chance
from claude_lines import ClaudeHome
from sample_homes import HOMES, case, made_long, quiet
from session_adapters.base import Adapter, Environment, Source
from session_adapters.model import Problem, SessionSummary
from session_adapters.reading.files import METER
from session_adapters.registry import adapter_class
from session_adapters.usage import Usage, unpacked
from support import STORES

STEPS = 6
"""In which each file is written."""
AGENTS = ("claude", "codex", "copilot", "gemini", "omp", "pi")
GROWING = [
    name
    for name in HOMES
    if name.startswith(AGENTS) and any(path.is_file() for path in (STORES / name).rglob("*.jsonl"))
]
"""Homes with files of lines that are added to."""
Said = tuple[Sequence[SessionSummary], Sequence[Usage], Sequence[Problem]]


def counted(adapter: Adapter, source: Source) -> Said:
    """What reading all of it says."""
    problems: list[Problem] = []
    summaries = adapter.summaries(source, problems.append, exact=True)
    return list(summaries), list(adapter.usage(source, quiet)), problems


@pytest.mark.parametrize(("name", "long"), [case(name, long) for name in GROWING for long in (False, True)])
def test_growing_in_steps(name: str, long: bool, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(STORES / name, home, symlinks=True)
    dice = chance(GROWING.index(name))
    adapter = adapter_class(name.partition("/")[0])(Environment(home=home, variables={}, proc=tmp_path / "proc"))
    sources = [
        one for one in adapter.sources(quiet) if Path(one.path).suffix == ".jsonl" and Path(one.path).is_file()
    ]
    for source in sources:
        path = Path(source.path)
        if long and path.stat().st_size < 1 << 16:
            made_long(path)
        data = path.read_bytes()
        counter = adapter.counter(source)
        if counter is None:
            continue
        ends = [number + 1 for number, byte in enumerate(data) if byte == 10]
        steps = sorted(dice.choice(ends) for _ in range(STEPS)) if ends else []
        torn = [dice.randrange(len(data)) for _ in range(2)] if data else []
        path.write_bytes(b"")
        for start, stop in pairwise([0, *sorted([*steps, *torn]), len(data)]):
            with path.open("ab") as file:
                file.write(data[start:stop])
            now = replace(source, size=stop)
            problems: list[Problem] = []
            summaries, calls = counter(now, problems.append)
            assert (list(summaries), list(unpacked(calls)), problems) == counted(adapter, now), (path, start, stop)


@pytest.mark.parametrize("agent", AGENTS)
def test_of_what_was_read_nothing_is_read_again(agent: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(STORES / next(name for name in GROWING if name.startswith(f"{agent}/")), home, symlinks=True)
    adapter = adapter_class(agent)(Environment(home=home, variables={}, proc=tmp_path / "proc"))
    sources = [one for one in adapter.sources(quiet) if one.path.endswith(".jsonl") and Path(one.path).is_file()]
    source = max(sources, key=lambda one: one.size)
    path = Path(source.path)
    while path.stat().st_size < 1 << 18:
        made_long(path)
    *most, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(most))
    counter = adapter.counter(source)
    assert counter is not None
    size = path.stat().st_size
    METER.reset()
    counter(replace(source, size=size), quiet)
    assert METER.bytes >= size
    with path.open("ab") as file:
        file.write(last)
    METER.reset()
    counter(replace(source, size=size + len(last)), quiet)
    assert METER.bytes < len(last) + (64 << 10)


@pytest.mark.parametrize(
    "name", ("claude/older/home", "codex/home", "copilot/home", "gemini/home", "omp/home", "pi/home")
)
def test_of_texts_that_were_handed_over_little_stays(name: str, tmp_path: Path) -> None:
    """The indexer keeps the readers of sessions that grow for weeks."""
    home = tmp_path / "home"
    shutil.copytree(STORES / name, home, symlinks=True)
    adapter = adapter_class(name.partition("/")[0])(Environment(home=home, variables={}, proc=tmp_path / "proc"))
    sources = [one for one in adapter.sources(quiet) if one.path.endswith(".jsonl") and Path(one.path).is_file()]
    path = Path(max(sources, key=lambda one: one.size).path)
    while len(lines := path.read_bytes().splitlines(keepends=True)) < 1200:
        made_long(path)
    kept: list[int] = []
    for count in (len(lines) // 4, len(lines)):
        path.write_bytes(b"".join(lines[:count]))
        (source,) = (one for one in adapter.sources(quiet) if one.path == str(path))
        reader = adapter.text_reader(source)
        assert reader is not None
        tracemalloc.start()
        try:
            assert sum(1 for _ in reader.read()) > count / 8
            gc.collect()
            kept.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
    assert kept[1] - kept[0] < 64 * (len(lines) * 3 // 4)


def test_a_file_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    """Another file in its place, a shorter one, another text of the same length."""
    home = ClaudeHome(tmp_path)
    path = home.session("findable", turns=3)
    adapter = adapter_class("claude")(Environment(home=tmp_path, variables={}, proc=tmp_path / "proc"))

    def says(expected: str) -> None:
        (source,) = adapter.sources(quiet)
        assert counter is not None
        summaries, calls = counter(source, quiet)
        assert calls is not None
        assert (list(summaries), list(unpacked(calls)), []) == counted(adapter, source)
        assert summaries[0].title == expected

    (source,) = adapter.sources(quiet)
    counter = adapter.counter(source)
    says("findable")
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"findable", b"otherone"))
    path.write_bytes(path.read_bytes() + whole.splitlines(keepends=True)[-1].replace(b"Answer", b"Repeat"))
    says("otherone")
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    says("findable")
    path.unlink()
    path.write_bytes(whole.replace(b"findable", b"some new title"))
    says("some new title")


@pytest.mark.parametrize("agent", ("cursor", "openclaw", "opencode"))
def test_a_database_comes_to_the_same(agent: str, tmp_path: Path) -> None:
    counted = 0
    for name in (name for name in HOMES if name.startswith(f"{agent}/")):
        home = tmp_path / name
        shutil.copytree(STORES / name, home, symlinks=True)
        adapter = adapter_class(agent)(Environment(home=home, variables={}, proc=tmp_path / "proc"))
        for source in adapter.sources(quiet):
            if (counter := adapter.counter(source)) is not None:
                counted += 1
                for _ in range(2):
                    assert list(counter(source, quiet)[0]) == list(adapter.summaries(source, quiet, exact=True))
    assert counted
