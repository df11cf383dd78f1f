"""Where a session stands is told by its end alone as by all that is shown of it."""

from __future__ import annotations

import shutil
from copy import copy
from pathlib import Path

import pytest
from msgspec.structs import replace

from chances import chance
from long_talks import TALKS
from sample_homes import HOMES, case, made_long, quiet
from session_adapters.activity import Activity
from session_adapters.base import Adapter, Environment, SessionMissing, SessionUnreadable, Source
from session_adapters.codex.adapter import CodexAdapter
from session_adapters.cursor.adapter import CursorAdapter
from session_adapters.growing import jsonl_adapter
from session_adapters.hector.adapter import HectorAdapter
from session_adapters.hermes.adapter import HermesAdapter
from session_adapters.openclaw import adapter as openclaw_adapter
from session_adapters.opencode import adapter as opencode_adapter
from session_adapters.reading.files import METER
from session_adapters.registry import adapter_class
from session_adapters.tree import end
from support import STORES

CUTS = 12
"""Places behind which each file is cut."""


def at_end(adapter: Adapter, source: Source, session_id: str) -> Activity:
    """As who looks for what needs a person asks."""
    opened = adapter.open_end(source, session_id)
    if opened.activity.since is None and not opened.complete:
        opened = adapter.open(source, session_id)
    return opened.activity


def in_databases(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Of an end there so many messages are read."""
    for module in (openclaw_adapter, opencode_adapter):
        monkeypatch.setattr(module, "END_MESSAGES", size)
    for kind in (CursorAdapter, HectorAdapter, HermesAdapter):
        monkeypatch.setattr(kind.open_end, "__defaults__", (size,))


@pytest.fixture(params=[200, 4000])
def short(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes that an end has: fewer than a line, and a few lines."""
    monkeypatch.setattr(jsonl_adapter, "AROUND", request.param)
    for module in (end, openclaw_adapter):
        monkeypatch.setattr(module, "END", request.param)
    in_databases(monkeypatch, 1 if request.param == 200 else 3)
    return int(request.param)


@pytest.mark.parametrize(("name", "long"), [case(name, long) for name in HOMES for long in (False, True)])
def test_the_end_tells_what_all_of_it_tells(name: str, long: bool, short: int, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(STORES / name, home, symlinks=True)
    adapter = adapter_class(name.partition("/")[0])(Environment(home=home, variables={}, proc=tmp_path / "proc"))
    dice = chance(HOMES.index(name))
    for source in list(adapter.sources(quiet)):
        path = Path(source.path)
        lines = path.suffix == ".jsonl" and path.is_file()
        if long and not lines:
            continue
        if long and path.stat().st_size < 1 << 16:
            made_long(path)
        data = path.read_bytes() if lines else b""
        ends = [number + 1 for number, byte in enumerate(data) if byte == 10]
        for stop in [len(data), *sorted(dice.sample(ends, min(CUTS, len(ends))), reverse=True)]:
            if lines:
                path.write_bytes(data[:stop])
                source = replace(source, size=stop)
            for session_id in adapter.session_ids(source, quiet):
                try:
                    whole = adapter.open(source, session_id).activity
                except (SessionMissing, SessionUnreadable):
                    continue
                assert at_end(adapter, source, session_id) == whole, (path, session_id, stop)


@pytest.mark.parametrize("name", [name for name in HOMES if name.startswith("codex/")])
def test_what_is_said_in_a_turn_longer_than_a_page_is_not_its_last_word(name: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(STORES / name, home, symlinks=True)
    adapter = CodexAdapter(Environment(home=home, variables={}, proc=tmp_path / "proc"))
    narrow = copy(adapter)
    narrow.page = 1
    found = set()
    for source in list(adapter.sources(quiet)):
        path = Path(source.path)
        data = path.read_bytes()
        for stop in [number + 1 for number, byte in enumerate(data) if byte == 10]:
            path.write_bytes(data[:stop])
            for session_id in adapter.session_ids(source, quiet):
                whole, last = (one.open(source, session_id).activity for one in (adapter, narrow))
                if last.step == "done" or whole.record == "a turn that is not complete":
                    assert last.since is None or (last.step, stop) == (whole.step, stop)
                    found.add(whole.record)
    assert found


@pytest.mark.parametrize("kind", TALKS)
@pytest.mark.parametrize("size", [1, 2, 5, 20])
def test_of_a_long_session_too(kind: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_databases(monkeypatch, size)
    talk = TALKS[kind](tmp_path, failing=[299, 301], filler=200)
    for turns in (300, 1, 1):
        talk.add(turns)
        source = talk.adapter.find(talk.session_id)
        assert source is not None
        assert at_end(talk.adapter, source, talk.session_id) == talk.open().activity


@pytest.mark.parametrize("kind", [kind for kind in TALKS if kind in ("claude", "omp", "openclaw files", "pi")])
def test_of_a_long_file_the_end_is_read(kind: str, tmp_path: Path) -> None:
    talk = TALKS[kind](tmp_path, filler=200)
    talk.add(1500)
    source = talk.adapter.find(talk.session_id)
    assert source is not None
    METER.reset()
    at_end(talk.adapter, source, talk.session_id)
    assert METER.bytes < 256 << 10 < source.size
