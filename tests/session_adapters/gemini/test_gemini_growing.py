"""A log that grows is summed up by its last turns, whatever its new lines speak of."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest

from gemini_samples import adapter, asked, bare, call, gemini, header, line, never, place, response, user
from sample_homes import quiet
from session_adapters.reading.files import METER

LONG = 200
"""Turns: more than are kept."""


def turns(first: int, number: int) -> Iterable[bytes]:
    for at in range(first, first + number):
        yield line(**user(f"u{at}", f"prompt {at}"))
        yield line(**gemini(f"g{at}", f"answer {at}", toolCalls=[call(f"c{at}")]))
        yield line(**bare(f"r{at}", response(f"c{at}")))


OLD = {
    "said again": [line(**gemini("g3", "another answer"))],
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
        assert list(calls) == list(reader.usage(source, never)), name
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
