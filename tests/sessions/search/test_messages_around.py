"""The messages around one that is far above: as in the whole session, of which a part is read at a time."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from chances import TIMES, chance
from hermes_tui.errors import ValidationError
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.search.details import ends_of
from hermes_tui.sessions.search.excerpt import find_around, messages_around, window_around
from hermes_tui.sessions.search.model import Result
from indexing import build
from long_talks import TALKS, TURN, Talk
from session_adapters import transcript
from session_adapters.base import Environment
from session_adapters.growing import jsonl_adapter
from session_adapters.growing.jsonl_adapter import JsonlAdapter
from session_adapters.model import Message
from session_adapters.transcript import Transcript
from support import peak_of

PART = 20_000
SIZES = (0, 1, 7, 40)
"""Messages on each side; the last is more than a part has."""
PLACES = 8 * TIMES


@pytest.fixture(params=TALKS)
def talk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """A session of 150 turns, of which a part has some ten."""
    parts_of(PART, monkeypatch)
    made = TALKS[request.param](tmp_path, failing={3, 70}, filler=300)
    made.add(150)
    return made


def parts_of(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions are read so many bytes at a time."""
    for module in (transcript, jsonl_adapter):
        monkeypatch.setattr(module, "PART", size)
    monkeypatch.setattr(JsonlAdapter, "page", size)


def assert_as_in(whole: list[Message], place: int, size: int, opened: Transcript) -> None:
    found, at = messages_around(opened, whole[place].id, size)
    assert window_around(found, at, size) == window_around(whole, place, size), (place, size)
    first = max(0, place - size)
    assert found[at - (place - first) : at + size + 1] == whole[first : place + size + 1]


def test_they_are_as_in_the_whole(talk: Talk) -> None:
    whole, dice = talk.whole(), chance(1)
    edges = (0, 1, 6, 7, 8, len(whole) - 8, len(whole) - 7, len(whole) - 1)
    for size in SIZES:
        for place in (*edges, *(dice.randrange(len(whole)) for _ in range(PLACES))):
            assert_as_in(whole, place, size, talk.open())


def test_what_is_nowhere_is_said(talk: Talk) -> None:
    with pytest.raises(ValidationError, match=r"has no message 'nowhere'; .* name them"):
        messages_around(talk.open(), "nowhere", 3)


@pytest.mark.parametrize("agent", TALKS)
def test_they_take_no_more_than_two_parts(agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The preview of a search made 170,000 objects for a match at the top of 5,600 messages."""
    parts_of(transcript.PART // 4, monkeypatch)
    talk = TALKS[agent](tmp_path, filler=1000)
    talk.add(700)
    whole = talk.whole()
    found: list[object] = []
    taken = peak_of(lambda: found.append(messages_around(talk.open(), whole[3].id, 5)))
    assert taken < 2 * peak_of(lambda: found.append(talk.open().part(-1)))
    assert taken < peak_of(talk.whole) / 2


@pytest.mark.parametrize("agent", ["pi", "omp"])
def test_another_branch_is_marked_where_it_is_apart(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "PART", PART)
    talk = TALKS[agent](tmp_path, filler=300)
    talk.add(200)
    parting = 100 * TURN + 3
    message = {"role": "user", "content": "Once more, from there"}
    entry = {"type": "message", "id": "beef0001", "parentId": f"{parting:08x}", "message": message}
    with Path(talk.open().path).open("a") as file:
        file.write(json.dumps(entry) + "\n")
    left = talk.open()
    left.switch(f"{200 * TURN - 1:08x}")
    while left.earlier():
        pass
    shared = next(at for at, one in enumerate(left.messages) if one.id == f"{parting:08x}") + 1
    whole = [one if at < shared else replace(one, visibility="branch") for at, one in enumerate(left.messages)]
    for size in SIZES:
        for place in (shared, shared + 1, shared + 30, len(whole) - 1, *range(shared + 50, len(whole), 97)):
            assert_as_in(whole, place, size, talk.open())
    opened = talk.open()
    assert find_around(opened, f"{5 * TURN:08x}", 1) is not None and not opened.branches[0].shown


@pytest.mark.parametrize("agent", ["claude", "hermes", "opencode", "pi"])
def test_how_it_ended_is_told_though_nobody_spoke_for_long(agent: str, tmp_path: Path) -> None:
    """Work without a word is gone through part by part."""
    talk = TALKS[agent](tmp_path, filler=1000)
    talk.add(2)
    said = talk.said
    talk.said = lambda turn: ("", said(turn)[1] + "x" * 1000, "x" * 1000, "")  # type: ignore[method-assign]
    talk.add(1_000)
    begun, ended = ends_of(talk.open())
    assert [one.text[:8] for one in begun] == ["Prompt 0", "Answer 0", "Prompt 1"]
    assert [one.text[:8] for one in ended] == ["Answer 0", "Prompt 1", "Answer 1"]
    assert peak_of(lambda: ends_of(talk.open())) < 2 * peak_of(lambda: talk.open().part(-1)) < peak_of(talk.whole)


def test_a_match_in_the_title_alone_reads_the_ends(tmp_path: Path) -> None:
    """All of the session was read for it, to look where in it that is."""
    talk = TALKS["opencode"](tmp_path, filler=1000)
    talk.add(2_000)
    with closing(sqlite3.connect(talk.open().path)) as database, database:
        database.execute("UPDATE session SET title = 'Zebra crossing'")
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", prices={})
    manager.list("opencode")
    build(manager.environment, manager.index.path)
    results: list[Result] = []
    taken = peak_of(lambda: results.extend(manager.search("zebra crossing")))
    (found,) = results
    assert (found.title, found.match_field, found.window) == ("Zebra crossing", "title", None)
    assert found.start[0].text[:8] == "Prompt 0" and found.end[-1].text[:8] == "Answer 1"
    assert taken < 3 * peak_of(lambda: talk.open().part(-1)) < peak_of(talk.whole)
