"""A file of events that grows is searched by its new lines."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import chance, examples
from plain_copilot import HELPED_ID, IDS, Scribe, adapter, events_path, no_report, uuid
from sample_homes import made_long, quiet
from session_adapters.base import Adapter, Source
from session_adapters.copilot.adapter import CopilotAdapter
from session_adapters.copilot.builder import CopilotBuilder
from session_adapters.copilot.summary import survey_events
from session_adapters.reading.files import METER
from session_adapters.reading.searchable import Rewritten, Text, TextReader

LONG = 300
"""Turns: more than are read until messages are let go."""


def anew(reader: CopilotAdapter, source: Source) -> list[Text]:
    """What is searched where all of the file is read as the sessions in it."""
    return sorted(Adapter.texts(reader, source, quiet))


def only(reader: CopilotAdapter) -> Source:
    (source,) = reader.sources(quiet)
    return source


def helped(path: Path) -> bool:
    """Whether the summary of the file knows a helper."""
    survey = survey_events(str(path), "s", head=0, tail=0, exact=True)
    return any(survey.parts)


class Following:
    """Reads a file as the index does: on where it stopped, and anew where it has to be."""

    def __init__(self, reader: CopilotAdapter, path: Path) -> None:
        self.reader = reader
        self.path = path
        self.texts: TextReader | None = None
        self.found: dict[tuple[int, str], Text] = {}
        self.anew = 0
        """Times that what had been read was not enough."""
        self.in_vain: list[Text] = []
        """Given by readings that came to such an end."""

    def follow(self) -> None:
        """Read on, and compare."""
        source = only(self.reader)
        if self.texts is not None:
            kept = set(self.texts.unsettled)
            before = dict(self.found)
            given: list[Text] = []
            try:
                for number, text in self.texts.read():
                    self.found[number, text.message_id] = text
                    given.append(text)
            except Rewritten:
                self.anew += 1
                self.texts = None
                self.in_vain += given
            else:
                again = [key[1] for key in before if self.found[key] != before[key]]
                assert kept.issuperset(again)
        if self.texts is None:
            self.texts = self.reader.text_reader(source)
            if self.texts is not None:
                self.found = {(number, text.message_id): text for number, text in self.texts.read()}
        if self.texts is None:
            assert helped(self.path) or not anew(self.reader, source)
            self.found = {}
        else:
            assert not helped(self.path)
            assert sorted(self.found.values()) == anew(self.reader, source)
            session = self.reader.session(source, source.session_id)
            assert [message.id for message in session.messages] == list(self.ids(source))
            assert self.texts.lost == session.warnings

    def ids(self, source: Source) -> Sequence[str]:
        """Those of the texts, in their order."""
        return [text.message_id for text in self.reader.texts(source, quiet)]


# Sample sessions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("session_id", IDS)
def test_samples_grow(session_id: str, long: bool, tmp_path: Path) -> None:
    """By lines and by torn pieces: forks, a compaction, an error, a helper."""
    path = events_path(session_id, tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(events_path(session_id).read_bytes())
    if long:
        made_long(path)
    content = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(content) if byte == 10]
    dice = chance(IDS.index(session_id))
    stops = ends if not long else [*ends[:3], *dice.sample(ends, 12)]
    stops = sorted({*stops, *(dice.randrange(len(content)) for _ in range(10)), len(content)})
    path.write_bytes(b"")
    following = Following(adapter(tmp_path), path)
    begin = 0
    for stop in stops:
        with path.open("ab") as file:
            file.write(content[begin:stop])
        begin = stop
        following.follow()
    assert (following.texts is None) == (session_id == HELPED_ID)
    assert following.anew == (session_id == HELPED_ID)
    assert not following.in_vain


def test_an_event_more_costs_that_event(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    for number in range(LONG):
        scribe.turn(f"prompt {number}", f"answer {number}", f"call {number}")
    reader = adapter(tmp_path)
    following = reader.text_reader(only(reader))
    assert following is not None
    assert len(list(following.read())) == 2 * LONG
    assert len(following.unsettled) == 1
    before = scribe.path.stat().st_size
    scribe.add("user.message", content="one more")
    METER.reset()
    assert [text.prose for _, text in following.read()] == ["one more"]
    assert METER.bytes <= 2 * (scribe.path.stat().st_size - before) + 1000
    assert METER.opened == 1


def test_what_a_reading_holds_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for turns in (LONG, 4 * LONG):
        home = tmp_path / str(turns)
        scribe = Scribe(home)
        for number in range(turns):
            scribe.turn(f"prompt {number}", f"answer {number} " * 100, f"call {number}")
        reader = adapter(home)
        source = only(reader)
        gc.collect()
        tracemalloc.start()
        assert sum(1 for _ in reader.texts(source, no_report)) == 2 * turns
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.5


# Helpers -------------------------------------------------------------------------------------------------------


def line(kind: str, data: Any, **more: Any) -> bytes:
    return json.dumps({"type": kind, "data": data, "id": "x1", "timestamp": "2026-11-21T10:00:00Z", **more}).encode()


_TORN = line("user.message", {"content": "over several\\nlines"}, agentId="h").replace(rb"\\n", b"\n")
EVENTS = {
    "a prompt": line("user.message", {"content": "find it"}, agentId="h"),
    "by its call": line("assistant.message", {"content": "found", "parentToolCallId": "c1"}),
    "its start": line("subagent.started", {"toolCallId": "c1", "agentName": "explore"}),
    "its start, named": line("subagent.started", {"toolCallId": "c1"}, agentId="h"),
    "nothing to show": line("assistant.turn_end", {"turnId": "0"}, agentId="h"),
    "escaped": line("user.message", {"content": "find it"}, agentId="h").replace(b"agentId", rb"agent\u0049d"),
    "a start, escaped": line("subagent.started", {"toolCallId": "c1"}).replace(b"t.s", rb"t\u002es"),
    "behind half of another": line("user.message", {"content": "half"})[:30] + line("abort", {}, agentId="h"),
    "over several lines": _TORN,
}
"""Of helpers."""
OTHERS = {
    "of no type that is read": line("subagent.configured", {"toolCallId": "c1"}, agentId="h"),
    "no name": line("user.message", {"content": "mine"}, agentId=""),
    "nobody": line("user.message", {"content": "mine", "parentToolCallId": None}, agentId=None),
    "a start of nobody": line("subagent.started", {"agentName": "explore"}),
    "an argument": line("assistant.message", {"toolRequests": [{"toolCallId": "c", "arguments": {"agentId": "h"}}]}),
    "words": line("user.message", {"content": '"agentId": "h"'}),
    "half of one": line("user.message", {"content": "half"}, agentId="h")[:-5],
    "another form": line("user.message", ["content"], agentId="h"),
}


@pytest.mark.parametrize("turns", [2, LONG])
@pytest.mark.parametrize(("name", "event"), [*EVENTS.items(), *OTHERS.items()], ids=[*EVENTS, *OTHERS])
def test_a_helper_is_who_has_a_session(name: str, event: bytes, turns: int, tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    for number in range(turns):
        scribe.turn(f"prompt {number}", f"answer {number}", f"call {number}")
    following = Following(adapter(tmp_path), scribe.path)
    following.follow()
    assert following.texts is not None
    scribe.write(event + b"\n")
    assert helped(scribe.path) == (name in EVENTS)
    for number in range(3):
        following.follow()
        assert (following.texts is None) == (name in EVENTS)
        scribe.turn(f"later {number}", "answer", f"late {number}")
    assert following.anew == (name in EVENTS)
    assert not following.in_vain
    other = adapter(tmp_path)
    assert sorted(other.texts(only(other), quiet)) == anew(other, only(other))


def test_to_look_for_helpers_holds_no_line_that_is_too_long(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.turn("prompt", "answer")
    with scribe.path.open("r+b") as file:
        file.seek(1 << 33, 2)  # a hole
        file.write(b'"agentId"\n')
    scribe.turn("later", "answer")
    reader = adapter(tmp_path)
    source = only(reader)
    tracemalloc.start()
    following = reader.text_reader(source)
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()
    assert following is not None
    assert sorted(text for _, text in following.read()) == anew(reader, source)
    assert following.lost == 1


# What speaks of long before ------------------------------------------------------------------------------------


def called(scribe: Scribe, call: str) -> None:
    request = {"toolCallId": call, "name": "view", "arguments": {"path": f"/w/{call}"}}
    scribe.add("assistant.message", content="", toolRequests=[request])


def answered(scribe: Scribe, call: str) -> None:
    scribe.add("tool.execution_complete", toolCallId=call, success=True, result={"content": f"result of {call}"})


def recorded_twice(scribe: Scribe) -> None:
    """The second record waits for another reply, in whose place a notice is shown."""
    scribe.usage("reply")
    usage = {"model": "m", "inputTokens": 5, "outputTokens": 1, "apiCallId": "reply"}
    scribe.add("session.usage_record", usage={**usage, "accounting": {"usageId": "another"}})


def first(scribe: Scribe) -> None:
    """A call that has a result, one that has none; a reply without a record; a record without a reply."""
    scribe.add("user.message", content="go")
    called(scribe, "old")
    answered(scribe, "old")
    called(scribe, "late")
    scribe.reply("unrecorded", "reply")
    scribe.usage("hidden")
    scribe.add("assistant.turn_end", turnId="0")


SAME: dict[str, Callable[[Scribe], object]] = {
    "answered late": lambda scribe: answered(scribe, "late"),
    "recorded late": lambda scribe: scribe.usage("reply"),
    "recorded twice": recorded_twice,
    "called again": lambda scribe: called(scribe, "old"),
    "result of no call": lambda scribe: answered(scribe, "never"),
    "taken back without saying what": lambda scribe: scribe.add("session.snapshot_rewind", "", eventIds=[]),
}
"""For what is kept of those that is enough."""
ANEW: dict[str, Callable[[Scribe], object]] = {
    "answered twice": lambda scribe: answered(scribe, "old"),
    "replied late": lambda scribe: scribe.reply("here it is", "hidden"),
    "events taken back": lambda scribe: scribe.add("session.snapshot_rewind", eventIds=["0001-0002", "0001-0003"]),
    "all taken back": lambda scribe: scribe.add("session.snapshot_rewind", upToEventId="0001-0002"),
}
"""These change what was handed over, or would have to know all of it."""


@pytest.mark.parametrize("turns", [0, LONG])
@pytest.mark.parametrize("name", [*SAME, *ANEW])
def test_an_event_of_long_before(name: str, turns: int, tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    first(scribe)
    for number in range(turns):
        scribe.turn(f"prompt {number}", f"answer {number}", f"call {number}")
    following = Following(adapter(tmp_path), scribe.path)
    following.follow()
    scribe.add("user.message", content="and now")
    following.follow()
    assert following.anew == 0
    (SAME | ANEW)[name](scribe)
    following.follow()
    taken_back = name == "taken back without saying what"
    assert following.anew == (name in ANEW or taken_back)
    for number in range(3):  # what was read anew is gone on with
        scribe.turn(f"later {number}", "answer", f"late {number}")
        following.follow()
    scribe.usage("reply", 11)  # once more, and settled: shown if no reply waits for it
    scribe.add("assistant.turn_end", turnId="1")
    following.follow()
    assert following.anew == (name in ANEW or taken_back)


def test_damage_beyond_measure_is_read_anew(tmp_path: Path) -> None:
    """So many lines without a record are told of together where they are read at once."""
    scribe = Scribe(tmp_path)
    scribe.turn("prompt", "answer")
    following = Following(adapter(tmp_path), scribe.path)
    for count in (400, 400, 400, 1, 1):
        scribe.write(b"stray\n" * count)
        following_texts = following.texts
        source = only(following.reader)
        if following_texts is not None:
            try:
                list(following_texts.read())
            except Rewritten:
                following.texts = None
        following.texts = following.texts or following.reader.text_reader(source)
        assert (following.texts is None) == (scribe.path.read_bytes().count(b"stray") > 1000)
    scribe.turn("later", "answer")
    source = only(following.reader)
    assert sorted(following.reader.texts(source, quiet)) == anew(following.reader, source)


KINDS = (
    "ask",
    "say",
    "call",
    "answer",
    "record",
    "reply",
    "run",
    "end",
    "abort",
    "compact",
    "rewind",
    "rewind to",
    "again",
    "no id",
    "stray",
    "half",
    "glued",
    "over lines",
    "helper",
)
DRAWN = st.tuples(st.sampled_from(KINDS), st.integers(1, 6))
"""What is recorded, and of which event or call, counted from the last."""


def recorded(home: Path, drawn: Sequence[tuple[str, int]]) -> bytes:
    scribe, ids, calls, asked = Scribe(home), ["none"], ["c0"], ["a0"]
    for number, (kind, back) in enumerate(drawn, 1):
        old, call, ask = ids[-back:][0], calls[-back:][0], asked[-back:][0]
        match kind:
            case "ask":
                ids.append(scribe.add("user.message", content=f"prompt {number}"))
            case "say":
                ids.append(scribe.reply(f"answer {number}"))
            case "call":
                calls.append(call if back == 6 else f"c{number}")
                called(scribe, calls[-1])
                ids.append(f"{scribe.session_id[-4:]}-{scribe.count:04}")
            case "answer":
                answered(scribe, call)
            case "record":
                asked.append(ask if back > 3 else f"a{number}")
                accounting = {"sourceSessionId": scribe.session_id, "usageId": f"u{number // 2}"}
                usage = {"model": "m", "inputTokens": 5, "outputTokens": 1, "apiCallId": asked[-1]}
                scribe.add("session.usage_record", usage={**usage, "accounting": accounting})
            case "reply":
                asked.append(ask if back > 1 else f"a{number}")
                ids.append(scribe.reply(f"reply {number}", asked[-1]))
            case "run":
                calls.append(f"c{number}")
                scribe.add("tool.user_requested", toolCallId=calls[-1], toolName="bash", arguments={"command": "ls"})
            case "end":
                scribe.add("assistant.turn_end", turnId="0")
            case "abort":
                scribe.add("abort", reason="user")
            case "compact":
                ids.append(scribe.add("session.compaction_complete", success=True, summaryContent=f"sum {number}"))
            case "rewind" if back > 4:
                scribe.add("session.snapshot_rewind", eventIds=[old, ids[-1]])
            case "rewind to" if back > 4:
                scribe.add("session.snapshot_rewind", upToEventId=old)
            case "again":
                lines = scribe.path.read_bytes().splitlines(keepends=True)
                scribe.write(lines[-back:][0])
            case "no id":
                scribe.write(line("user.message", {"content": f"said {number}"}).replace(b"x1", b"") + b"\n")
            case "stray":
                scribe.write(b"stray\n")
            case "half":
                scribe.write(line("user.message", {"content": f"half {number}"}, agentId="h")[:-20] + b"\n")
            case "glued":
                one = line("user.message", {"content": "glued"}).replace(b"x1", b"g%d" % number)
                scribe.write(one[:40] + one + b"\n")
            case "over lines":
                text = json.dumps({"content": f"one {number}\ntwo"}).encode().replace(rb"\n", b"\n\n")
                scribe.write(b'{"type":"user.message","data":%b,"id":"o%d"}\n' % (text, number))
            case _ if back > 5:
                scribe.add("user.message", "h", content="a helper's")
    return scribe.path.read_bytes()


@given(
    drawn=st.lists(DRAWN, min_size=12, max_size=80),
    cuts=st.lists(st.floats(0, 1), max_size=6),
    torn=st.booleans(),
    each=st.booleans(),
)
@examples(150)
def test_any_file_is_searched_as_it_is_read_at_once(
    drawn: list[tuple[str, int]],
    cuts: list[float],
    torn: bool,
    each: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """With messages let go at each line, or now and then."""
    home = tmp_path_factory.mktemp("events")
    content = recorded(home, drawn)
    path = events_path(uuid(1), home)
    wanted = {*(int(cut * len(content)) for cut in cuts), len(content)}
    stops = sorted((wanted if torn else {content.rfind(b"\n", 0, stop) + 1 for stop in wanted}) - {0})
    with pytest.MonkeyPatch.context() as patched:
        if each:
            patched.setattr(CopilotBuilder, "take_full", lambda self: True)
        path.write_bytes(b"")
        following = Following(adapter(home), path)
        for begin, stop in zip([0, *stops], stops, strict=False):
            with path.open("ab") as file:
                file.write(content[begin:stop])
            following.follow()
