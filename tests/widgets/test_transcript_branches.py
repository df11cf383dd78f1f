"""Going from branch to branch of a real tree, and seeing where they part."""

from __future__ import annotations

import pytest

from session_adapters.base import Environment
from session_adapters.pi import PiAdapter
from session_adapters.transcript import Transcript
from support import STORES
from transcripts import GrowingTranscript, PaneApp, settle, talk


def branched(least: int) -> Transcript:
    """A conversation of the sample store with at least that many branches."""
    adapter = PiAdapter(Environment(home=STORES / "pi" / "home"))
    for source in adapter.sources(lambda problem: None):
        for summary in adapter.summaries(source, lambda problem: None, exact=True):
            transcript = adapter.open(source, summary.session_id)
            if len(transcript.branches) >= least:
                return transcript
    raise AssertionError("the sample store has no such session")


async def test_b_shows_the_other_branch_and_comes_back() -> None:
    transcript = branched(2)
    count = len(transcript.branches)
    app = PaneApp(transcript)
    async with app.run_test(size=(80, 40)) as pilot:
        await settle(pilot)
        pane = app.pane
        shown = [message.id for message in pane.messages]
        assert f"of {count}" in str(pane.border_subtitle)
        before = next(branch for branch in transcript.branches if branch.shown)
        await pilot.press("b")
        await settle(pilot)
        other = [message.id for message in pane.messages]
        # Where they part is what one sees, and a compaction stands where the agent's view begins on either.
        parting = next(branch.first for branch in transcript.branches if branch.leaf_id == before.leaf_id)
        assert parting is not None
        assert pane.view.cursor.entry == parting
        assert other[parting] not in shown
        assert set(other[:parting]) <= set(shown)
        for _ in range(count - 1):
            await pilot.press("b")
            await settle(pilot)
        assert [message.id for message in pane.messages] == shown
        await pilot.press("B")
        await settle(pilot)
        await pilot.press("b")
        await settle(pilot)
        assert [message.id for message in pane.messages] == shown
        assert not app.refused


async def test_the_place_where_branches_part_is_marked_once() -> None:
    transcript = branched(2)
    app = PaneApp(transcript)
    async with app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        pane = app.pane
        firsts = {branch.first for branch in transcript.branches if not branch.shown}
        for index in range(len(pane.messages)):
            entry = pane.view.column.entries[index]
            if entry.height:
                names = [part.name for part in pane.view.rendered(index).pieces]
                assert names.count("parting") == (index in firsts)


@pytest.mark.parametrize("key", ["b", "B"])
async def test_a_conversation_with_one_way_says_so(key: str) -> None:
    app = PaneApp(GrowingTranscript(talk(4)))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "branch" not in str(app.pane.border_subtitle)
        await pilot.press(key)
        await settle(pilot)
        assert app.refused == ["This conversation has only one branch"]
