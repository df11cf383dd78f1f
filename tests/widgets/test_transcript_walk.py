"""From match to match through all branches of a conversation, each once, and the same way back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from textual.pilot import Pilot

from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.query.query import parse
from hermes_tui.sessions.search.within import Within
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane
from pilots import until
from plain_openclaw import plain_database
from plain_openclaw import texts as event_texts
from plain_trees import active_path, records
from session_adapters import transcript
from session_adapters.base import Environment
from transcripts import PaneApp


class Said(NamedTuple):
    """A message, in the order of the store."""

    id: str
    words: frozenset[str]
    left: bool
    """It is on a branch that the agent left."""


class Walker(PaneApp):
    """Counts how often there was no further match."""

    ends = 0

    def on_transcript_pane_no_more(self, event: TranscriptPane.NoMore) -> None:
        self.ends += 1


def conversations(agent: str, home: Path) -> Iterator[tuple[str, list[Said]]]:
    """What the user and the agent said in each session, read by plain lines or SQL."""

    def said(one: dict[str, object], text: str, there: list[str]) -> Said:
        return Said(str(one["id"]), frozenset(re.findall(r"[a-z]{4,}", text.lower())), one["id"] not in there)

    if agent == "openclaw":
        for key, session in plain_database(home).items():
            there = [event["id"] for event in session.active]
            messages = [one for one in session.events if one["type"] == "message"]
            yield key, [said(one, "\n".join(event_texts(one)), there) for one in messages]
        return
    for path in sorted(home.rglob("*.jsonl")):
        found = records(path)
        header = next((one for one in found if one.get("type") == "session"), None)
        there = [one["id"] for one in active_path(found)] if header is not None else []
        messages = [one for one in found if one.get("type") == "message" and "content" in one["message"]]
        contents = [one["message"]["content"] for one in messages]
        texts = [
            one if isinstance(one, str) else "\n".join(block.get("text", "") for block in one) for one in contents
        ]
        if header is not None:
            yield header["id"], [said(one, text, there) for one, text in zip(messages, texts, strict=True)]


async def walk(pilot: Pilot[None], app: Walker, step: int) -> list[str]:
    """The messages that are come to until there is no further."""
    pane, finder, visited, ends = app.pane, app.pane.finder, [], app.ends
    while app.ends == ends:
        assert pane.message is not None
        visited.append(pane.message.id)
        assert len(visited) < 200
        finder.find_next(step)
        await until(
            pilot,
            lambda: (
                app.ends > ends or bool(pane.message and pane.message.id != visited[-1] and not finder.is_seeking)
            ),
        )
    return visited


@pytest.mark.parametrize("agent", ["pi", "omp", "openclaw"])
async def test_every_branch_is_walked_through(
    agent: str, store: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "PART", 4_000)  # all branches are gone through a turn or two at a time
    home = store(agent, "home")
    words = (
        (sum(one.left for one in said if word in one.words), session_id, word, said)
        for session_id, said in conversations(agent, home)
        for word in sorted(frozenset().union(*(one.words for one in said)))
        if any(word in one.words and not one.left for one in said)
    )
    left, session_id, word, said = max(words, key=lambda one: one[:3])
    assert left
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", prices={}, indexed=False)
    summary = manager.summary(agent, session_id)
    app = Walker(manager.open(agent, session_id))
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: app.pane.view.is_ready)
        app.pane.finder.light(Within(parse(word), summary))
        app.pane.finder.enter(1)
        wanted = [one.id for one in said if word in one.words]
        await until(pilot, lambda: app.pane.message is not None and word in str(app.pane.message).lower())
        await until(pilot, lambda: not app.pane.finder.is_seeking)
        forth = await walk(pilot, app, 1)
        assert [one for one in forth if one in wanted] == wanted
        assert len(set(forth)) == len(forth)
        assert await walk(pilot, app, -1) == forth[::-1]
