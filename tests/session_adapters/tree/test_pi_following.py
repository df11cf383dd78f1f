"""Pi's branches and how to switch them, and sessions that grow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plain_trees import records
from session_adapters.base import Environment
from session_adapters.growing.jsonl_adapter import JsonlTranscript
from session_adapters.pi import PiAdapter
from session_adapters.tree.builder import TreeBuilder
from session_adapters.tree.transcript import TreeTranscript
from support import STORES
from tree_store import PI_BRANCHED, Samples, both, opened, sample_pi

SAMPLES = Samples("pi")


# Branches ----------------------------------------------------------------------------------------------------


def test_branches_and_switching() -> None:
    transcript = opened(sample_pi("home"), PI_BRANCHED)
    found = records(STORES / "pi" / "home" / SAMPLES.entry("home", PI_BRANCHED)["file"])
    said = [node for node in found if node["type"] == "message"]
    parents = {node["parentId"] for node in found[1:]}
    leaves = [node["id"] for node in said if node["id"] not in parents]
    assert [branch.leaf_id for branch in transcript.branches] == leaves
    assert [branch.active for branch in transcript.branches] == [False, False, True]
    assert [branch.preview for branch in transcript.branches] == [
        "what about pears? list again",
        "alternative branch: list with care",
        "third branch from pears: short answer",
    ]
    assert transcript.branches[0].label == "checkpoint-1"
    nodes = {node["id"]: node for node in found[1:]}
    for branch in transcript.branches:
        before = list(transcript.messages)
        change = transcript.switch(branch.leaf_id)
        ids = []
        at: str | None = branch.leaf_id
        while at is not None:
            if nodes[at]["type"] in ("message", "branch_summary", "custom_message"):
                ids.append(at)
            at = nodes[at]["parentId"]
        ours = [message.id for message in transcript.messages if message.id in nodes and message.kind != "compaction"]
        assert ours == ids[::-1]
        if change.first is not None and not change.rewritten:
            assert transcript.messages[: change.first] == before[: change.first]
            assert transcript.messages[change.first : change.first + 1] != before[change.first : change.first + 1]
        assert [one.shown for one in transcript.branches] == [one == branch.leaf_id for one in leaves]
    with pytest.raises(LookupError):
        transcript.switch("../../etc/passwd")


def test_a_conversation_of_one_line_has_no_branches(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"{}\n")
    transcript = JsonlTranscript("any", "x", str(path), TreeBuilder)
    assert transcript.branches == ()
    with pytest.raises(LookupError):
        transcript.switch("x")


@pytest.mark.parametrize(("home", "session_id"), SAMPLES.real)
def test_branch_counts(home: str, session_id: str) -> None:
    entry = SAMPLES.entry(home, session_id)
    summary, session = both(sample_pi(home), session_id)
    transcript = opened(sample_pi(home), session_id)
    # `branchPoints` counts places with several children; a place with n children makes n - 1 further branches.
    # The orphan in home-hard hangs on nothing, so it is no child of any place and one branch more.
    orphans = 1 if session_id.startswith("960d5a8f") else 0
    assert summary.raw["branches"] == entry["branchPoints"] + 1 + orphans == len(session.raw["leaves"])
    assert len(transcript.branches) == (summary.raw["branches"] if summary.raw["branches"] > 1 else 0)
    assert transcript.file.tree.fork_points() == entry["branchPoints"]
    assert len(session.raw["tree"]) == entry["entries"]


# Following ---------------------------------------------------------------------------------------------------


def _growing(tmp_path: Path, lines: list[bytes], page: int = 1 << 20) -> Iterator[tuple[TreeTranscript, int | None]]:
    """Write a session line by line; after each, what `refresh` said."""
    path = tmp_path / "2026-11-21T08-32-40-445Z_grow.jsonl"
    path.write_bytes(lines[0] + b"\n")
    transcript = TreeTranscript("pi", "grow", str(path), lambda: [str(path)], page=page)
    for line in lines[1:]:
        before = list(transcript.messages)
        with path.open("ab") as file:
            file.write(line[: len(line) // 2])
        assert transcript.refresh() == (None, False, False), "half a line is no change"
        with path.open("ab") as file:
            file.write(line[len(line) // 2 :] + b"\n")
        change = transcript.refresh()
        if change.first is None:
            assert transcript.messages == before
        elif not change.rewritten:
            assert transcript.messages[: change.first] == before[: change.first]
        yield transcript, change.first
        fresh = TreeTranscript("pi", "grow", str(path), lambda: [str(path)])
        if transcript.complete:
            assert transcript.messages == fresh.messages
        else:
            assert transcript.messages == fresh.messages[len(fresh.messages) - len(transcript.messages) :]


@pytest.mark.parametrize(
    "entry", [*SAMPLES.expected["home"], *SAMPLES.expected["home-hard"]], ids=lambda entry: str(entry["id"])
)
def test_following_line_by_line(entry: dict[str, Any], tmp_path: Path) -> None:
    root = next(home for home in ("home", "home-hard") if (STORES / "pi" / home / entry["file"]).is_file())
    lines = [line for line in (STORES / "pi" / root / entry["file"]).read_bytes().split(b"\n") if line.endswith(b"}")]
    jumps = 0
    for transcript, first in _growing(tmp_path, lines):
        jumps += first is not None and first < len(transcript.messages) - 2
    assert jumps > 0 or entry["branchPoints"] < 2


def test_following_and_paging_with_small_pages(tmp_path: Path) -> None:
    lines = (STORES / "pi" / "home" / SAMPLES.entry("home", PI_BRANCHED)["file"]).read_bytes().splitlines()
    *_, (transcript, _) = _growing(tmp_path, lines, page=2500)
    path = transcript.path
    paged = TreeTranscript("pi", "grow", path, lambda: [path], page=2500)
    assert not paged.complete
    assert paged.messages
    steps = 0
    while not paged.complete:
        known = list(paged.messages)
        added = paged.earlier()
        assert [message.id for message in paged.messages[added:]] == [message.id for message in known]
        steps += 1
    assert steps > 1
    whole = TreeTranscript("pi", "grow", path, lambda: [path])
    assert paged.messages == whole.messages
    assert [branch.first for branch in paged.branches] == [branch.first for branch in whole.branches]


def test_a_result_finds_its_call_across_pages(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "x" * 3000}}
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "read it"},
        {"role": "assistant", "content": [call]},
        {"role": "toolResult", "toolCallId": "c", "toolName": "read", "content": "y" * 3000, "isError": False},
    ]
    with path.open("w") as file:
        file.write('{"type":"session","version":3,"id":"x","cwd":"/"}\n')
        for number, message in enumerate(said):
            parent = str(number - 1) if number else None
            record = {"type": "message", "id": str(number), "parentId": parent, "message": message}
            file.write(json.dumps(record) + "\n")
    transcript = TreeTranscript("pi", "x", str(path), lambda: [str(path)], page=1000)
    (result,) = [message.tool_result for message in transcript.messages]
    assert result is not None
    assert not result.linked
    while not transcript.complete:
        assert transcript.earlier()
    result = transcript.messages[2].tool_result
    assert result is not None
    assert result.linked
    assert transcript.messages[1].tool_calls[0].output == "y" * 3000


def test_a_file_that_pi_rewrites_in_place_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    old: list[dict[str, Any]] = [
        {"type": "session", "id": "x", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"},
        {"type": "message", "timestamp": "2026-01-01T00:00:01Z", "message": {"role": "user", "content": "one"}},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in old))
    transcript = TreeTranscript("pi", "x", str(path), lambda: [str(path)])
    new = [{**old[0], "version": 3}, {**old[1], "id": "abcd1234", "parentId": None}]
    path.write_text("".join(json.dumps(line) + "\n" for line in new))
    assert transcript.refresh().rewritten
    assert [message.id for message in transcript.messages] == ["abcd1234"]
    path.unlink()
    assert transcript.refresh().gone
    assert [message.content for message in transcript.messages] == ["one"]


def test_a_pinned_branch_stays_while_the_agent_goes_on_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    def say(node: str, parent: str | None, role: str = "user") -> None:
        record = {"type": "message", "id": node, "parentId": parent, "message": {"role": role, "content": node}}
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    path.write_text('{"type":"session","version":3,"id":"x","cwd":"/"}\n')
    for node, parent in (("ask", None), ("left", "ask"), ("right", "ask")):
        say(node, parent)
    transcript = TreeTranscript("pi", "x", str(path), lambda: [str(path)])
    assert [message.content for message in transcript.messages] == ["ask", "right"]
    assert transcript.switch("left") == (1, False, False)
    say("right2", "right")
    assert transcript.refresh() == (None, False, False)
    assert [message.content for message in transcript.messages] == ["ask", "left"]
    say("left2", "left")
    assert transcript.refresh().first == 2
    assert [message.content for message in transcript.messages] == ["ask", "left", "left2"]
    assert [(one.leaf_id, one.first, one.active, one.shown) for one in transcript.branches] == [
        ("right2", 1, False, False),
        ("left2", 1, True, True),
    ]


def test_a_branch_in_a_second_file_of_the_document_s_layout(tmp_path: Path) -> None:
    folder = tmp_path / ".pi" / "agent" / "sessions" / "doc"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text(
        '{"id":"1","parentId":null,"role":"user","content":"q","timestamp":"2026-01-01"}\n'
    )
    transcript = opened(PiAdapter(Environment(home=tmp_path)), "doc")
    (folder / "b.jsonl").write_text(
        '{"id":"2","parentId":"1","role":"assistant","content":"a","timestamp":"2026-01-02"}\n'
    )
    assert transcript.refresh().rewritten
    assert [message.content for message in transcript.messages] == ["q", "a"]
