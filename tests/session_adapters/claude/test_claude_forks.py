"""Claude Code's forks of forks, and helpers inside the main file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claude_samples import SAMPLES, adapter, got, listed, never, place, prompt, raw_lines, reply
from session_adapters.model import TokenUsage
from support import STORES

FOLDER = ".claude/projects/-home-dev-shop"
PARENTS = {"2.1.329": ("home", "e83ad329", "c9a5af63"), "2.0.72": ("older", "bd25225a", "b9dc33d7")}
"""By version: a sample, a session in it, and its fork."""


def records_of(version: str, number: int) -> list[dict[str, Any]]:
    sample, *names = PARENTS[version]
    (path,) = (SAMPLES[sample] / FOLDER).glob(f"{names[number]}*.jsonl")
    return raw_lines(path)


def forked(records: list[dict[str, Any]], name: str, minute: int) -> list[dict[str, Any]]:
    """What `claude -p --resume <parent> --fork-session` makes of the parent's records: see the sample c9a5af63."""
    at = f"2026-11-21T09:{minute:02}:00"
    copied = [record | {"sessionId": name} for record in records if record.get("uuid")]
    return [
        {"type": "queue-operation", "operation": "enqueue", "timestamp": f"{at}.000Z", "sessionId": name},
        *copied,
        prompt(f"Asked in {name}", uuid=f"p-{name}", sessionId=name, timestamp=f"{at}.100Z", version="2.1.329"),
        reply(f"msg_{name}_{minute:012}", "done", uuid=f"r-{name}", sessionId=name, timestamp=f"{at}.200Z", out=5),
    ]


def padded(records: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The same, made long as real ones are: 40 KB of messages before and behind what the copy is known by."""
    newest = max(record["timestamp"] for record in records if record.get("uuid"))
    notes = [
        {"type": "system", "subtype": "turn_duration", "uuid": f"{name}{n}", "timestamp": newest,
         "pad": "x" * 10_000}
        for n in range(4)
    ]  # fmt: skip
    return [*records, *notes]


def write(home: Path, name: str, records: list[dict[str, Any]]) -> None:
    path = home / FOLDER / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("long", [True, False])
@pytest.mark.parametrize("version", PARENTS)
def test_a_fork_belongs_to_the_session_it_shares_most_with(
    tmp_path: Path, version: str, long: bool, exact: bool
) -> None:
    stretch = padded if long else lambda records, name: records
    first, second = (stretch(records_of(version, number), f"pad{number}") for number in (0, 1))
    third = stretch(forked(second, "third", 1), "pad2")
    fourth = forked(third, "fourth", 2)
    sibling = forked(first, "a-sibling", 3)
    late = stretch([*third, prompt("on", uuid="x", timestamp="2026-11-21T09:05:00Z")], "pad3")
    names = {"first": first, "second": second, "third": late, "fourth": fourth, "a-sibling": sibling}
    for name, records in names.items():
        write(tmp_path, name, records)
    found = listed(adapter(tmp_path), exact=exact)
    assert {name: found[name].forked_from for name in names} == {
        "first": None, "second": "first", "third": "second", "fourth": "third", "a-sibling": "first",
    }  # fmt: skip
    assert {one.lineage_id for one in found.values()} == {None, "first"}
    for name, parent in (("third", second), ("fourth", third), ("a-sibling", first)):
        session = got(adapter(tmp_path), name)
        theirs = {r["message"]["id"] for r in parent if r.get("type") == "assistant"}
        mine = {m.id for m in session.messages if m.role == "assistant" and not m.inherited}
        assert mine == {m.id for m in session.messages if m.role == "assistant"} - theirs
        assert next(m.content for m in session.messages if m.is_prompt and not m.inherited) == f"Asked in {name}"
        assert session.tokens == TokenUsage(input_tokens=1, output_tokens=5)
        assert session.raw["inheritedTokens"] > 1000
    reader = adapter(tmp_path)
    calls = [call for source in reader.sources(never) for call in reader.usage(source, never)]
    own = [call.key for call in calls if not call.inherited]
    assert len(own) == len(set(own)), "each call is one session's"
    assert {call.key for call in calls} == set(own)


def test_pages_of_a_fork_know_what_is_copied(tmp_path: Path) -> None:
    write(tmp_path, "fork", forked(records_of("2.1.329", 0), "fork", 1))
    reader = type("Small", (type(adapter(tmp_path)),), {"page": 2_000})(adapter(tmp_path).environment)
    source = reader.find("fork")
    transcript = reader.open(source, "fork")
    assert not transcript.complete
    while transcript.earlier():
        pass
    assert transcript.messages == list(reader.session(source, "fork").messages)
    assert [m.content for m in transcript.messages if m.is_prompt and not m.inherited] == ["Asked in fork"]


def test_branches_of_a_branch_that_name_the_first(tmp_path: Path) -> None:
    """Copied records that keep the mark of an earlier `/branch` name the grandparent."""

    def said(name: str, minute: int, **more: Any) -> list[dict[str, Any]]:
        at = f"2026-11-21T09:{minute:02}:0"
        return [
            prompt(name, uuid=f"p-{name}", timestamp=f"{at}0.000Z", **more),
            reply(f"msg_{name:>012}", name, uuid=f"r-{name}", timestamp=f"{at}1.000Z", **more),
        ]

    from_a: dict[str, Any] = {"forkedFrom": {"sessionId": "a"}}
    write(tmp_path, "a", said("a", 1))
    write(tmp_path, "b", [*said("a", 1, **from_a), *said("b", 2)])
    write(tmp_path, "c", [*said("a", 1, **from_a), *said("b", 2, forkedFrom={"sessionId": "b"}), *said("c", 3)])
    assert {name: one.forked_from for name, one in listed(adapter(tmp_path)).items()} == {
        "a": None,
        "b": "a",
        "c": "b",
    }


def test_a_clock_that_was_set_back_makes_no_copies(tmp_path: Path) -> None:
    write(tmp_path, "s", [
        {"type": "queue-operation", "timestamp": "2026-11-21T09:00:00.000Z"},
        prompt("one", uuid="1", timestamp="2026-11-21T09:00:00.100Z"),
        reply("m1", "yes", uuid="2", timestamp="2026-11-21T08:00:00.000Z"),
    ])  # fmt: skip
    session = got(adapter(tmp_path), "s")
    assert not any(m.inherited for m in session.messages)
    assert (session.kind, session.tokens) == ("session", TokenUsage(input_tokens=1, output_tokens=1))


# Helpers inside the main file --------------------------------------------------------------------------------------

SIDE: dict[str, Any] = {"isSidechain": True, "version": "1.0.51"}


def with_helpers(pad: int = 0) -> list[dict[str, Any]]:
    """Two helpers at once, as 1.0.x wrote them: linked by `parentUuid` alone, and a third after them."""
    filler = [{"type": "summary", "summary": "x" * 10_000} for _ in range(pad)]
    main: dict[str, Any] = {"version": "1.0.51"}
    records = [
        prompt("Look twice", uuid="main-1", parentUuid=None, **main),
        reply("m1", "Two helpers", uuid="main-2", parentUuid="main-1", **main),
        *filler,
        prompt("find apples", uuid="aaaaaaaa-1", parentUuid=None, **SIDE),
        prompt("find pears", uuid="bbbbbbbb-1", parentUuid=None, **SIDE),
        reply("h1", "apples here", uuid="aaaaaaaa-2", parentUuid="aaaaaaaa-1", out=30, **SIDE),
        reply("h2", "pears there", uuid="bbbbbbbb-2", parentUuid="bbbbbbbb-1", out=7, **SIDE),
        reply("h3", "no more apples", uuid="aaaaaaaa-3", parentUuid="aaaaaaaa-2", out=2, **SIDE),
        *filler,
        prompt("find plums", uuid="cccccccc-1", parentUuid=None, **SIDE),
        reply("h4", "none", uuid="cccccccc-2", parentUuid="lost", out=1, **SIDE),
        reply("m2", "All done", uuid="main-3", parentUuid="main-2", out=2, **main),
        *filler,
    ]
    return [record | {"timestamp": f"2025-07-01T08:00:{n:02}.000Z"} for n, record in enumerate(records)]


HELPERS = {
    "s:aaaaaaaa": (["find apples", "apples here", "no more apples"], 32),
    "s:bbbbbbbb": (["find pears", "pears there"], 7),
    "s:cccccccc": (["find plums", "none"], 1),
}


@pytest.mark.parametrize("pad", [0, 8])
@pytest.mark.parametrize("exact", [True, False])
def test_inline_helpers_are_sessions_of_their_own(tmp_path: Path, pad: int, exact: bool) -> None:
    place(tmp_path, ".claude/projects/-p/s.jsonl", *with_helpers(pad))
    reader = adapter(tmp_path)
    found = listed(reader, exact=exact)
    assert set(found) == {"s", *HELPERS}
    for name, (texts, out) in HELPERS.items():
        summary, session = found[name], got(reader, name)
        source = reader.find(name)
        assert source is not None
        assert [m.content for m in session.messages] == texts
        assert [m.content for m in reader.open(source, name).messages] == texts
        assert (summary.kind, summary.parent_id, summary.title) == ("subagent", "s", texts[0])
        assert summary.tokens is not None
        assert (summary.tokens.output_tokens, summary.message_count) == (out, len(texts))
        assert reader.resume_command(summary) is None
        assert [text.prose for text in reader.texts(source, never, name)] == texts
        assert sum(call.output_tokens for call in reader.usage(source, never, [name])) == out
    main = got(reader, "s")
    assert [m.content for m in main.messages] == ["Look twice", "Two helpers", "All done"]
    assert main.tokens == found["s"].tokens == TokenUsage(input_tokens=2, output_tokens=3)
    source = reader.find("s")
    assert source is not None
    wanted = {text for texts, _ in HELPERS.values() for text in texts} | {m.content for m in main.messages}
    given = list(reader.texts(source, never))
    assert {text.prose for text in given} == wanted
    assert {(t.session_id, t.prose) for t in given if t.session_id != "s"} == {
        (name, text) for name, (texts, _) in HELPERS.items() for text in texts
    }
    calls = list(reader.usage(source, never))
    assert sum(call.output_tokens for call in calls) == 3 + sum(out for _, out in HELPERS.values())
    assert reader.text_reader(source) is None
    assert reader.find("s:nobody") == source
    with pytest.raises(LookupError):
        reader.session(source, "s:nobody")
    with pytest.raises(LookupError):
        reader.open(source, "s:nobody")


def test_side_records_without_links_are_one_helper(tmp_path: Path) -> None:
    place(
        tmp_path,
        ".claude/projects/-p/s.jsonl",
        prompt("go"),
        prompt("find it", isSidechain=True, uuid="12345678-9"),
        reply("h1", "found", isSidechain=True, parentUuid="lost"),
        reply("m1", "done"),
    )
    reader = adapter(tmp_path)
    assert set(listed(reader)) == {"s", "s:12345678"}
    assert [m.content for m in got(reader, "s:12345678").messages] == ["find it", "found"]


def test_no_record_of_a_sample_is_lost() -> None:
    """Every user and assistant line with a text is in some session's messages."""
    for name, home in SAMPLES.items():
        reader = adapter(home)
        sessions = [got(reader, one) for one in listed(reader)]
        said = "\n".join(m.content for session in sessions for m in session.messages)
        for path in (STORES / "claude" / home.relative_to(STORES / "claude")).rglob("projects/**/*.jsonl"):
            for record in raw_lines(path):
                content = record.get("message", record).get("content")
                if record.get("type") == "assistant" and isinstance(content, list):
                    for block in content:
                        assert block.get("type") != "text" or block["text"] in said, (name, path)
