"""A log that grows is summed up and searched by its last turns, whatever its new lines speak of."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from gemini_samples import adapter, asked, bare, call, gemini, header, line, never, place, put, response, user
from sample_homes import quiet
from session_adapters.base import Source
from session_adapters.gemini import builder
from session_adapters.gemini.adapter import GeminiAdapter
from session_adapters.reading.files import METER
from session_adapters.reading.searchable import Rewritten, Text, texts_of
from session_adapters.usage import unpacked

LONG = 200
"""Turns: more than are kept."""
LATE = 7
"""The one whose call has no result."""


def turns(first: int, number: int) -> Iterable[bytes]:
    for at in range(first, first + number):
        yield line(**user(f"u{at}", f"prompt {at}"))
        yield line(**gemini(f"g{at}", f"answer {at}", toolCalls=[call(f"c{at}")]))
        if at != LATE:
            yield line(**bare(f"r{at}", response(f"c{at}")))


OLD = {
    "said again": [line(**gemini("g3", "another answer"))],
    "answered late": [line(**bare("late", response(f"c{LATE}")))],
    "taken back": [line(**{"$rewindTo": "u5"})],
    "all of it taken back": [line(**{"$rewindTo": "never"})],
    "replaced": [line(**{"$set": {"messages": [user("u1", "prompt 1"), gemini("g1", "answer 1")]}})],
    "resumed": [
        header("11111111-aaaa"),
        line(**{"$set": {"messages": [user("u1", "prompt 1"), bare("x", asked("c1")), bare("y", response("c1"))]}}),
    ],
}
"""Lines that change what was let go of."""
NEW = {
    "answered again": [line(**bare("late", response("c2")))],
    "the last taken back": [line(**{"$rewindTo": f"u{LONG - 2}"})],
    "the last said again": [line(**gemini(f"g{LONG - 1}", "another answer"))],
    "named": [line(**{"$set": {"summary": "A name"}})],
    "goes on": list(turns(LONG, 3)),
}


@pytest.mark.parametrize(("name", "more"), [*OLD.items(), *NEW.items()], ids=[*OLD, *NEW])
def test_it_comes_to_the_same_as_all_of_it(name: str, more: list[bytes], tmp_path: Path) -> None:
    path = place(tmp_path, header(), *turns(0, LONG))
    reader = adapter(tmp_path)
    (source,) = reader.sources(quiet)
    counter = reader.counter(source)
    assert counter is not None
    counter(source, never)
    for added in (more, list(turns(LONG + 3, 2)), list(turns(LONG + 5, 1))):
        with path.open("ab") as file:
            file.writelines(added)
        (source,) = reader.sources(quiet)
        METER.reset()
        summaries, calls = counter(source, never)
        read = METER.bytes
        assert list(summaries) == list(reader.summaries(source, never, exact=True)), name
        assert list(unpacked(calls)) == list(reader.usage(source, never)), name
        assert (read > source.size) == (name in OLD and added is more), name
    assert source.size > sum(map(len, chain(*OLD.values())))


@pytest.mark.parametrize(("name", "more"), [*OLD.items(), *NEW.items()], ids=[*OLD, *NEW])
def test_a_stream_of_it_is_all_of_it(name: str, more: list[bytes], tmp_path: Path) -> None:
    place(tmp_path, header(), *turns(0, LONG), *more, *turns(LONG + 3, LONG))
    reader = adapter(tmp_path)
    (source,) = reader.sources(quiet)
    (session_id,) = reader.session_ids(source, never)
    stream = reader.open(source, session_id).stream()
    assert stream is not None
    parts = [messages for _, messages in stream]
    session = reader.session(source, session_id)
    assert list(chain.from_iterable(parts)) == list(session.messages)
    if name in ("answered again", "named", "goes on"):
        assert max(len(part) for part in parts) < len(session.messages) / 3, "it is held a part at a time"


@pytest.mark.parametrize(("name", "more"), [*OLD.items(), *NEW.items()], ids=[*OLD, *NEW])
def test_what_is_searched_goes_on_where_it_stopped(name: str, more: list[bytes], tmp_path: Path) -> None:
    path = place(tmp_path, header(), *turns(0, LONG))
    reader = adapter(tmp_path)
    (source,) = reader.sources(quiet)
    texts = reader.text_reader(source)
    assert texts is not None
    found = {text.message_id: text for _, text in texts.read()}
    assert len(texts.unsettled) < len(found) / 3
    for added in (more, list(turns(LONG + 3, 2)), list(turns(LONG + 5, 1))):
        kept = set(texts.unsettled)
        with path.open("ab") as file:
            file.writelines(added)
        METER.reset()
        try:
            new = {text.message_id: text for _, text in texts.read()}
        except Rewritten:
            assert name in OLD and added is more
            texts = reader.text_reader(source)
            assert texts is not None
            found, new, kept = {}, {text.message_id: text for _, text in texts.read()}, set()
        else:
            assert METER.bytes < sum(map(len, added)) + 2_000
        assert found.keys() & new.keys() <= kept
        found |= new
        (source,) = reader.sources(quiet)
        assert sorted(found.values()) == sorted(reader.texts(source, never)) == sorted(_said(reader, source)), name


def _said(reader: GeminiAdapter, source: Source) -> list[Text]:
    (session_id,) = reader.session_ids(source, never)
    session = reader.session(source, session_id)
    return list(texts_of(session.session_id, session.messages))


KINDS = st.tuples(
    st.sampled_from(("ask", "say", "call", "answer", "again", "rewind", "replace", "name")), st.integers(1, 8)
)
"""What is recorded, and of which turn, counted from the last."""


def recorded(kinds: Iterable[tuple[str, int]]) -> list[bytes]:
    found, names, calls = [], ["u0"], ["c0"]
    for number, (kind, back) in enumerate(kinds, 1):
        old, old_call = names[-back:][0], calls[-back:][0]
        match kind:
            case "ask":
                found.append(line(**user(f"u{number}", f"prompt {number}")))
            case "say":
                found.append(line(**gemini(f"g{number}", f"answer {number}")))
            case "call":
                calls.append(f"c{number}")
                found.append(line(**gemini(f"g{number}", toolCalls=[call(calls[-1])])))
            case "answer":
                found.append(line(**bare(f"r{number}", response(old_call))))
            case "again":
                found.append(line(**gemini(old, f"said again {number}")))
            case "rewind":
                found.append(line(**{"$rewindTo": old}))
            case "replace":
                found.append(
                    put(user("u0", "prompt 0"), user(old, "replaced"), bare(f"x{number}", response(old_call)))
                )
            case _:
                found.append(line(**{"$set": {"summary": f"Name {number}"}}))
        names += [f"{kind[0]}{number}"] if kind in ("ask", "say") else []
    return found


@given(kinds=st.lists(KINDS, min_size=1, max_size=60), cuts=st.lists(st.integers(1, 60), max_size=4))
@examples(60)
def test_any_log_is_searched_as_it_is_read_at_once(
    kinds: list[tuple[str, int]], cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With three turns kept, and those before let go at each line."""
    home = tmp_path_factory.mktemp("log")
    begin, lines = [header(), line(**user("u0", "prompt 0"))], recorded(kinds)
    path = place(home, *begin)
    reader = adapter(home)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(builder, "KEPT", 3)
        patched.setattr(builder.GeminiBuilder, "take_full", lambda self: True)
        (source,) = reader.sources(quiet)
        texts = reader.text_reader(source)
        assert texts is not None
        found: dict[str, Text] = {}
        for cut in [*sorted(cuts), len(lines)]:
            path.write_bytes(b"".join((*begin, *lines[:cut])))
            kept = set(texts.unsettled)
            try:
                new = {text.message_id: text for _, text in texts.read()}
            except Rewritten:
                texts = reader.text_reader(source)
                assert texts is not None
                found, new = {}, {text.message_id: text for _, text in texts.read()}
            assert found.keys() & new.keys() <= kept
            found |= new
            (source,) = reader.sources(quiet)
            assert sorted(found.values()) == sorted(_said(reader, source))
            assert list(reader.texts(source, never)) == _said(reader, source)


def test_what_a_reading_holds_does_not_grow_with_the_log(tmp_path: Path) -> None:
    peaks = []
    for long in (LONG, 4 * LONG):
        place(tmp_path, header(), *turns(0, long))
        reader = adapter(tmp_path)
        (source,) = reader.sources(quiet)
        tracemalloc.start()
        number = sum(1 for _ in reader.texts(source, never))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert number > 3 * long
    assert peaks[1] < peaks[0] * 1.5
