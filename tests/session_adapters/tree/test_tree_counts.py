"""What a list counts of an entry equals what could be counted of the messages that it shows as."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from session_adapters.openclaw.rules import ClawCounts
from session_adapters.session_counts import SessionFold
from session_adapters.tree.messages import entry_seconds, entry_time
from session_adapters.tree.records import TreeEntry
from session_adapters.tree.summary import TreeCounts
from support import STORES

TYPES = (
    "message", "compaction", "branch_summary", "custom_message", "reset_boundary", "reset", "session_init",
    "model_change", "label", "custom", "something_new", "",
)  # fmt: skip
ROLES = ("user", "assistant", "toolResult", "bashExecution", "system", "compactionSummary", "later", "User", "")
TEXTS = ("", "hello", "Read HEARTBEAT.md now", "[Sat 2026-11-21 08:59 UTC] Read HEARTBEAT.md", "\ud800")

blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "toolCall", "image", "other"])},
    optional={"text": st.sampled_from(TEXTS), "thinking": st.just("hm"), "id": st.just("c1"), "name": st.just("sh")},
)
contents = st.one_of(st.none(), st.sampled_from(TEXTS), st.lists(st.one_of(blocks, st.just("bare"), st.just(5))))
times = st.sampled_from([None, 0, 1_770_000_000_123, "2026-03-01T12:00:00.123456Z", "nonsense", 1e300, True, -5])
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(ROLES), "content": contents, "timestamp": times},
    optional={
        "stopReason": st.sampled_from(["stop", "error", "aborted"]),
        "errorMessage": st.just("no"),
        "model": st.just("m-1"),
        "provider": st.sampled_from(["openclaw", "other"]),
        "provenance": st.sampled_from([{"kind": "internal_system"}, {"kind": "user"}, "odd"]),
        "details": st.sampled_from([{"exitCode": 1}, {"status": "failed"}, 3]),
    },
)
entries = st.fixed_dictionaries(
    {"type": st.sampled_from(TYPES), "id": st.just("e1"), "timestamp": times},
    optional={
        "message": messages,
        "role": st.sampled_from(ROLES),
        "content": contents,
        "toolCalls": st.lists(blocks, max_size=2),
        "summary": st.sampled_from(TEXTS),
        "usage": st.just({"input": 5}),
        "customType": st.sampled_from(["run-failed-before-reply", "other"]),
        "model": st.just("m-2"),
    },
)


def compare(entry: TreeEntry) -> None:
    """A conversation of that entry alone has as many messages, calls and turns as the entry shows."""
    for counts in (TreeCounts(), ClawCounts()):
        shown = () if counts.take(entry) is None else counts.show(entry, "e1").messages
        fold = SessionFold()
        fold.add(shown)
        found = counts.summary("pi", "one")
        assert (found.message_count, found.tool_call_count) == (len(shown), fold.tool_calls)
        assert (found.turn_count, found.error) == (fold.turns, fold.failed)


@examples(50)
@given(entries)
def test_made_up_entries(fields: dict[str, Any]) -> None:
    entry = msgspec.convert(fields, TreeEntry)
    compare(entry)
    moment = entry_time(entry)
    seconds = entry_seconds(entry)
    assert (moment is None) == (seconds is None)
    assert moment is None or abs(moment.timestamp() - (seconds or 0)) < 1e-6


def test_entries_of_the_stores() -> None:
    seen = 0
    for path in [path for agent in ("pi", "omp", "openclaw") for path in sorted((STORES / agent).rglob("*.jsonl"))]:
        for line in path.read_bytes().split(b"\n"):
            try:
                entry = msgspec.json.decode(line, type=TreeEntry)
            except msgspec.MsgspecError:
                continue  # damaged on purpose, or empty
            compare(entry)
            seen += 1
    assert seen > 250


steps = st.tuples(
    st.sampled_from(["user", "assistant", "toolResult", "label", "model_change"]),
    st.sampled_from(["on", "on", "on", "on", "back", "again", "root"]),
    st.integers(0, 20),
    st.booleans(),
)


def _entry(number: int, known: list[str], step: tuple[str, str, int, bool]) -> TreeEntry:
    role, way, back, _ = step
    one = known[max(0, len(known) - 1 - back)] if known else None
    fields: dict[str, Any] = {"type": "message", "id": f"e{number}", "timestamp": 1_770_000_000_000 + number}
    if role in ("label", "model_change"):
        fields |= {"type": role, "targetId": one, "label": "here", "modelId": f"m-{number % 3}"}
    else:
        fields["message"] = {"role": role, "content": f"text {number}", "model": "m-1", "usage": {"input": number}}
    fields["parentId"] = {"on": known[-1] if known else None, "back": one, "root": None}.get(way)
    if way == "again" and one is not None:
        fields |= {"id": one, "parentId": known[-1]}
    return msgspec.convert(fields, TreeEntry)


@examples(300)
@given(st.lists(steps, max_size=40))
def test_entries_that_were_let_go_of(steps: list[tuple[str, str, int, bool]]) -> None:
    """Either nothing is told, or the same as of all entries."""
    header = msgspec.convert({"type": "session", "id": "one", "version": 3}, TreeEntry)
    whole, counts, known = TreeCounts(), TreeCounts(), list[str]()
    whole.take(header)
    counts.take(header)
    for number, step in enumerate(steps):
        entry = _entry(number, known, step)
        whole.take(entry)
        counts.take(entry)
        known.append(entry.id or "")
        if step[-1]:
            if counts.goes_elsewhere:
                assert any(way != "on" for _, way, _, _ in steps)
                return
            counts.let_go()
    if not counts.goes_elsewhere:
        assert counts.summary("pi", "one") == whole.summary("pi", "one")
        assert list(map(list, counts.calls)) == list(map(list, whole.calls))
