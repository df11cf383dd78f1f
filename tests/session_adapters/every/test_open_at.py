"""A session opened at one of its messages: what stands around it is as in the whole, and little more is read."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hermes_tui.sessions.search.excerpt import messages_around
from long_talks import TALKS
from session_adapters.growing import jsonl_adapter
from session_adapters.growing.jsonl_adapter import JsonlAdapter
from session_adapters.reading.files import METER

SIZE = 7
IN_LINES = ("claude",)
"""Whose messages tell where they are, and are settled soon."""


@pytest.mark.parametrize("agent", TALKS)
def test_what_is_around_a_message_is_as_in_the_whole(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JsonlAdapter, "page", 20_000)
    monkeypatch.setattr(jsonl_adapter, "AROUND", 2_000)
    talk = TALKS[agent](tmp_path, failing={3, 70}, filler=300)
    talk.add(150)
    METER.reset()
    whole = talk.whole()
    all_of_it = METER.bytes
    dice = random.Random(7)
    for place in [0, 1, SIZE, len(whole) - 1, len(whole) - SIZE, *dice.sample(range(len(whole)), 8)]:
        message_id = whole[place].id
        if not message_id:
            continue
        METER.reset()
        found, at = messages_around(talk.open_at(message_id, SIZE), message_id, SIZE)
        first, stop = max(0, place - SIZE), place + SIZE + 1
        assert found[at - (place - first) : at + SIZE + 1] == whole[first:stop], place
        assert (at == place) or at >= SIZE
        assert METER.bytes < all_of_it / 3 or agent not in IN_LINES, place


@pytest.mark.parametrize("agent", IN_LINES)
def test_a_name_that_is_nowhere_or_another_place_gives_the_end(agent: str, tmp_path: Path) -> None:
    talk = TALKS[agent](tmp_path)
    talk.add(20)
    for message_id in ("", "nowhere", "3", "@3", "999999999", "#4", "\ud800"):
        assert talk.open_at(message_id, SIZE).messages == talk.open().messages


@pytest.mark.parametrize("agent", IN_LINES)
def test_what_is_written_meanwhile_is_read_at_once(agent: str, tmp_path: Path) -> None:
    talk = TALKS[agent](tmp_path)
    talk.add(30)
    last = talk.whole()[-1].id
    talk.add(1)
    found, at = messages_around(talk.open_at(last, SIZE), last, SIZE)
    assert found[at:] == talk.whole()[-len(found[at:]) :] and len(found[at:]) > 1
