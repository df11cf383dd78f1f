"""Parts of long sessions that are read alone: by all of them one has the session, and each takes little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from long_talks import TALKS, TURN, Talk
from session_adapters import transcript
from session_adapters.growing import jsonl_adapter
from session_adapters.growing.jsonl_adapter import JsonlAdapter
from session_adapters.model import Message
from session_adapters.reading import bounds
from session_adapters.reading.files import METER
from session_adapters.transcript import Transcript, part_of
from support import peak_of

PART = 20_000
FILLER = 300

MakeTalk = Callable[..., Talk]


@pytest.fixture(params=TALKS)
def talk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """A session of 150 turns, of which a part has some ten."""
    for module in (transcript, jsonl_adapter):
        monkeypatch.setattr(module, "PART", PART)
    monkeypatch.setattr(JsonlAdapter, "page", PART)
    made = TALKS[request.param](tmp_path, failing={3, 70}, filler=FILLER)
    made.add(150)
    return made


def prompts(messages: list[Message]) -> list[str]:
    return [one.content for one in messages if one.is_prompt]


def down(part: Transcript | None) -> Iterator[Transcript]:
    """The part and all below it."""
    while part is not None:
        yield part
        part = part.part(1)


def up(part: Transcript | None) -> Iterator[Transcript]:
    """The part and all above it."""
    while part is not None:
        yield part
        part = part.part(-1)


# What a part is ----------------------------------------------------------------------------------------------


def test_a_part_has_as_much_as_fits_and_is_cut_where_a_turn_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "PART", 10 * 2_000)
    sizes = [2_000 - 1_200] * 30
    turns = {0, 4, 8, 18, 19}

    def part(at: int, step: int) -> range:
        return part_of(len(sizes), at, step, sizes.__getitem__, turns.__contains__)

    assert [part(0, 1), part(8, 1), part(19, 1), part(29, 1)] == [
        range(8), range(8, 18), range(19, 29), range(29, 30)
    ]  # fmt: skip
    assert [part(30, -1), part(20, -1), part(18, -1), part(4, -1)] == [
        range(20, 30), range(18, 20), range(8, 18), range(4)
    ]  # fmt: skip
    assert part(30, 1) == range(30, 30) and part(0, -1) == range(0)
    sizes[5] = 1 << 30  # alone, as nothing else has room beside it
    assert [part(4, 1), part(5, 1), part(6, -1)] == [range(4, 5), range(5, 6), range(5, 6)]


def test_only_what_fits_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "PART", 10 * 1_000)
    asked: set[int] = set()

    def size(item: int) -> int:
        asked.add(item)
        return 1_000

    def starts(item: int) -> bool:
        asked.add(item)
        return False

    part_of(1_000_000, 500_000, 1, size, starts)
    part_of(1_000_000, 500_000, -1, size, starts)
    assert min(asked) > 500_000 - 12 and max(asked) < 500_000 + 12


# Every agent -------------------------------------------------------------------------------------------------


def test_all_parts_are_the_session(talk: Talk) -> None:
    whole, end = talk.whole(), talk.open()
    assert len(whole) >= 150 * (TURN - 1) and len(prompts(whole)) == 150
    below = list(down(end.part(0)))
    assert len(below) > 5 and below[0].complete and below[0].begins == 0.0 and not below[-1].is_cut
    assert all(one.is_cut for one in below[:-1]) and not any(one.complete for one in below[1:])
    assert [one.begins for one in below] == sorted(one.begins for one in below)
    assert [message for one in below for message in one.messages] == whole
    above = list(up(below[-1].part(-1)))
    assert above[-1].complete and not any(one.complete for one in above[:-1]) and all(one.is_cut for one in above)
    assert [message for one in reversed(above) for message in one.messages] + below[-1].messages == whole
    assert max(len(one.messages) for one in [*below, *above]) < len(whole) / 4
    assert below[0].part(-1) is None and below[-1].part(1) is None


def test_a_slow_machine_leaves_nothing_out(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor that needs 0.4 s from one look at its clock to the next."""
    looks, whole = count(), talk.whole()
    monkeypatch.setattr(bounds, "time", SimpleNamespace(thread_time=lambda: 0.4 * next(looks)))
    opened = talk.open()
    assert opened.messages == whole[-len(opened.messages) :] and not opened.problems
    assert talk.whole() == whole
    assert [message for part in down(opened.part(0)) for message in part.messages] == whole


def test_a_part_is_read_on_in_both_directions(talk: Talk) -> None:
    whole, first = talk.whole(), talk.open().part(0)
    assert first is not None
    middle = first.part(1)
    assert middle is not None and middle.is_cut and not middle.complete
    for _ in range(3):
        assert middle.earlier() or middle.complete
    assert middle.complete and middle.is_cut
    seen = [len(middle.messages)]
    while middle.is_cut:
        change = middle.refresh()
        # A result may be of a call that was the last of the part.
        assert change.first in (seen[-1], seen[-1] - 1) and not change.rewritten and not change.gone
        seen.append(len(middle.messages))
    assert middle.messages == whole and len(seen) > 4
    assert middle.refresh().first is None and middle.messages == whole


def test_what_is_said_meanwhile_is_in_the_last_parts(talk: Talk) -> None:
    end = talk.open()
    found: list[Message] = []
    for part in down(end.part(0)):
        found += part.messages
        if talk.turns < 200:
            talk.add(10)
    end.refresh()
    assert found == talk.whole() and len(prompts(found)) == 200
    last = end.part(-1)
    above = [] if end.complete else [message for one in reversed(list(up(last))) for message in one.messages]
    assert [*above, *end.messages] == found


def test_who_lets_go_of_parts_gets_the_same(talk: Talk) -> None:
    """Also of what is said while one goes down through them, and back up."""
    end = talk.open()
    found: list[Message] = []
    part = end.part(0)
    while part is not None:
        found += part.messages
        if talk.turns < 170:
            talk.add(10)
        last, following = part.messages, part
        part.let_go()
        assert not part.messages
        part = part.part(1)
    assert found == talk.whole() and len(prompts(found)) == 170
    back = list(reversed(last))
    part = following.part(-1)
    while part is not None:
        back += reversed(part.messages)
        part.let_go()
        part = part.part(-1)
    assert list(reversed(back)) == found


def test_the_newest_is_followed_from_a_part(talk: Talk) -> None:
    part = talk.open().part(0)
    assert part is not None
    talk.add(1)
    while part.is_cut:
        part.refresh()
    talk.add(1)
    change = part.refresh()
    assert change.first is not None and part.messages == talk.whole() and len(prompts(part.messages)) == 152


def test_an_end_is_followed_whether_little_or_much_is_said(talk: Talk) -> None:
    end = talk.open()
    for more in (1, 0, 3, 140, 1, 60):
        talk.add(more)
        change = end.refresh()
        assert (change.first is None) == (not more) and not change.rewritten and not change.gone
        whole = talk.whole()
        assert end.messages == whole[-len(end.messages) :]
        assert end.complete == (len(end.messages) == len(whole))
        assert sum(one.is_prompt for one in end.messages) > more


# What a part takes -------------------------------------------------------------------------------------------


@pytest.fixture
def rows_read() -> Iterator[list[int]]:
    """Rows that any statement gave, in one number."""
    rows = [0]

    def hook(connection: apsw.Connection) -> None:
        def count(cursor: apsw.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
            rows[0] += 1
            return row

        def statement(cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
            cursor.row_trace = count
            return True

        connection.exec_trace = statement

    apsw.connection_hooks.append(hook)
    yield rows
    apsw.connection_hooks.remove(hook)


@pytest.mark.parametrize("agent", ["cursor", "hector", "hermes", "opencode"])
def test_following_an_end_looks_at_no_more_rows_however_long_the_session_is(
    agent: str, tmp_path: Path, rows_read: list[int]
) -> None:
    """Of OpenClaw's, numbers and sizes of all events are looked at."""
    talk = TALKS[agent](tmp_path)

    def taken(turns: int) -> int:
        talk.add(turns)
        end = talk.open()
        talk.add(1)
        before = rows_read[0]
        assert end.refresh().first is not None
        return rows_read[0] - before

    short, long = taken(300), taken(1000)
    assert 0 < long <= short + 10


@pytest.mark.parametrize("agent", ["hector", "opencode"])
def test_who_goes_through_a_session_lists_it_anew_only_where_it_has_changed(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_read: list[int]
) -> None:
    monkeypatch.setattr(transcript, "PART", 4 * PART)
    talk = TALKS[agent](tmp_path, filler=FILLER)
    talk.add(600)
    whole, before = talk.whole(), rows_read[0]
    parts = 0
    seen: list[Message] = []
    for _, messages in talk.open().whole():
        seen += messages
        parts += 1
    assert seen == whole and parts > 10
    assert len(whole) < rows_read[0] - before < 12 * len(whole)


@pytest.fixture
def texts_read() -> Iterator[list[int]]:
    """Bytes of all texts that any statement gave, in one number."""
    total = [0]

    def hook(connection: apsw.Connection) -> None:
        def count(cursor: apsw.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
            total[0] += sum(len(value) for value in row if isinstance(value, bytes | str) and len(value) > FILLER)
            return row

        def statement(cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
            cursor.row_trace = count  # the connection's own is that of the limits
            return True

        connection.exec_trace = statement

    apsw.connection_hooks.append(hook)
    yield total
    apsw.connection_hooks.remove(hook)


@pytest.mark.parametrize("agent", TALKS)
def test_a_part_takes_the_same_however_long_the_session_is(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts_read: list[int]
) -> None:
    for module in (transcript, jsonl_adapter):
        monkeypatch.setattr(module, "PART", PART)
    monkeypatch.setattr(JsonlAdapter, "page", PART)
    talk = TALKS[agent](tmp_path, filler=10 * FILLER)

    def taken(step: int) -> int:
        end = talk.open()
        if step > 0:
            part = end.part(0)
            assert part is not None
            end = part
        before = texts_read[0] + METER.bytes
        assert end.part(step) is not None
        return texts_read[0] + METER.bytes - before

    talk.add(400)
    short = [taken(step) for step in (-1, 0, 1)]
    talk.add(500)
    long = [taken(step) for step in (-1, 0, 1)]
    for one, other in zip(short, long, strict=True):
        assert 5 * FILLER < one < 10 * PART and other > 5 * FILLER
        # A chat of Cursor's names all its messages in one root.
        assert other < one + (PART if agent != "cursor" else 900 * TURN * 70)


@pytest.mark.parametrize("agent", ["hector", "hermes", "opencode"])
def test_a_page_takes_no_more_where_the_session_is_long(agent: str, tmp_path: Path) -> None:
    """What comes before it is not listed, neither to show the end nor to go back from there."""
    talk = TALKS[agent](tmp_path)

    def peak(turns: int) -> int:
        """Of the first look after the session has grown by so many."""
        talk.add(turns)
        more: list[int] = []
        taken = peak_of(lambda: more.append(talk.open().earlier()))
        assert more[0]
        return taken

    peak(100)  # what is made once
    # The least of three, each after it has grown: tracemalloc counts what other threads take meanwhile, too.
    short = min(peak(100) for _ in range(3))
    assert min(peak(400) for _ in range(3)) < 1.2 * short


@pytest.mark.parametrize("agent", ["hector", "hermes", "openclaw", "opencode"])
def test_a_jump_to_the_top_holds_no_object_for_each_message(agent: str, tmp_path: Path) -> None:
    """Of seven thousand that took 3 MB for a moment, room that is not given back where it lies between others."""
    talk = TALKS[agent](tmp_path, filler=FILLER)

    def peak(turns: int) -> int:
        talk.add(turns)
        end, parts = talk.open(), list[Transcript | None]()
        taken = peak_of(lambda: parts.append(end.part(0)))
        assert parts[0] is not None
        return taken

    peak(600)  # what is made once
    short, messages = peak(1), len(talk.whole())
    assert (peak(1200) - short) / (len(talk.whole()) - messages) < 150


@pytest.mark.parametrize("agent", ["hector", "hermes", "opencode"])
def test_a_part_is_let_go_of_before_the_next_is_read(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An outline or all edits of a long session held two at once."""
    for module in (transcript, jsonl_adapter):
        monkeypatch.setattr(module, "PART", 20 * PART)
    talk = TALKS[agent](tmp_path, filler=FILLER)
    talk.add(600)
    seen = 0

    def all_of_it() -> None:
        nonlocal seen
        for _, messages in talk.open().whole():
            seen += len(messages)
            del messages

    peak_of(lambda: talk.open().part(0))  # what is made once
    one, every = peak_of(lambda: talk.open().part(0)), peak_of(all_of_it)
    assert seen == len(talk.whole())
    assert every < 1.3 * one
