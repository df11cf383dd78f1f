"""All branches of a long conversation, which are gone through part by part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from long_talks import TALKS, TURN
from plain_trees import records
from session_adapters import transcript
from session_adapters.transcript import Transcript
from support import peak_of

TURNS = 900
FAILING = {3, 700}


@pytest.fixture(params=["pi", "omp"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Transcript:
    """A session of which nearly all is on the branch that was left."""
    talk = TALKS[request.param](tmp_path, failing=FAILING, filler=300)
    talk.add(TURNS)
    message = {"role": "user", "content": "Once more, from there"}
    entry = {"type": "message", "id": "beef0001", "parentId": f"{10 * TURN + 3:08x}", "message": message}
    with Path(talk.open().path).open("a") as file:
        file.write(json.dumps(entry) + "\n")
    return talk.open()


def test_each_message_comes_once_in_the_order_of_the_file(opened: Transcript) -> None:
    parts = [(share, list(messages)) for share, messages in opened.every_branch()]
    found = [message for _, messages in parts for message in messages]
    assert [one.id for one in found] == [one["id"] for one in records(Path(opened.path)) if "parentId" in one]
    assert len(parts) > 2 and [share for share, _ in parts] == sorted(share for share, _ in parts)
    assert parts[-1][0] == 1.0 and all(messages[0].is_prompt for _, messages in parts)
    calls = [call for one in found for call in one.tool_calls]
    assert len(calls) == TURNS and all(call.output for call in calls)
    assert [at for at, call in enumerate(calls) if call.is_error] == sorted(FAILING)
    assert all(one.tool_result.linked for one in found if one.tool_result is not None)


def test_they_take_no_more_than_a_part(opened: Transcript) -> None:
    def all_of_it() -> None:
        for _, messages in opened.every_branch():
            del messages

    kept = peak_of(lambda: [messages for _, messages in opened.every_branch()])
    assert peak_of(all_of_it) < kept / 2 < 5 * transcript.PART


def test_which_there_are_is_told_without_an_object_for_each_node(opened: Transcript) -> None:
    """Asked once a second while such a session grows and is open."""
    left, shown = opened.branches
    assert (left.shown, shown.shown) == (False, True)
    assert (left.leaf_id, shown.leaf_id) == (f"{TURNS * TURN - 1:08x}", "beef0001")
    assert left.preview.startswith("Prompt 11") and shown.preview == "Once more, from there"
    assert opened.branch_of(f"{20 * TURN:08x}") == left.leaf_id
    opened.switch(left.leaf_id)
    assert peak_of(lambda: opened.branches) < 60 * TURNS * TURN
