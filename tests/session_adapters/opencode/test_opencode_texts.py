"""What is new in a database is read for searching, and makes up what all of it gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from chances import TIMES, chance
from opencode_store import Store, adapter_for, change
from sample_homes import quiet
from session_adapters.opencode import texts as module
from session_adapters.opencode.tables import OpenCodeRows
from session_adapters.opencode.units import OpenCodeFacts, OpenCodeUnits
from text_followers import Follower, in_order

STEPS = 40


@pytest.mark.parametrize("tail", [4, 256])
@pytest.mark.parametrize("seed", range(2 * TIMES))
def test_what_is_new_makes_up_all_of_it(
    seed: int, tail: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TAIL", tail)
    store, dice = Store(tmp_path), chance(seed)
    follower = Follower(store.adapter)
    for step in range(STEPS):
        for _ in range(dice.choice((1, 1, 1, 5))):
            change(store, dice)
        fresh = adapter_for(tmp_path)
        assert follower.look(store.source()) == in_order(fresh.texts(store.source(), quiet)), step
        assert follower.look(store.source()) == in_order(fresh.texts(store.source(), quiet)) and not follower.anew


def test_of_a_long_session_the_end_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its messages, 7,000 of them, were listed each time that one was added: 4 MB."""
    store, held = Store(tmp_path), list[int]()
    really = OpenCodeRows.units

    def noted(
        self: OpenCodeRows, sessions: Sequence[OpenCodeFacts], *, parts: bool = True, most: int = 65_000
    ) -> dict[str, OpenCodeUnits]:
        found = really(self, sessions, parts=parts, most=most)
        held.extend(map(len, found.values()))
        return found

    store.session("ses_long")
    for turn in range(600):
        store.say("ses_long", "user", f"prompt {turn}")
    follower = Follower(store.adapter)
    assert len(follower.look(store.source())) == 600 and follower.anew
    monkeypatch.setattr(OpenCodeRows, "units", noted)
    for turn in range(3):
        store.say("ses_long", "user", f"more {turn}")
        held.clear()
        assert len(follower.look(store.source())) == 601 + turn and not follower.anew
        assert held and max(held) <= module.TAIL + module.OPEN + 1
    held.clear()
    assert len(follower.look(store.source())) == 603 and not follower.anew
    assert held == [module.TAIL]
