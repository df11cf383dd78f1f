"""Our `SessionStore` is the real one's equal, over random sequences of everything that can happen to lanes."""

from __future__ import annotations

from chances import TIMES, repeatable
from lifecycle.differential import Lanes, run
from oracle.hermes import Oracle


def test_no_difference_in_any_step(hermes: Oracle) -> None:
    repeatable(Lanes)
    assert run(hermes, examples=25 * TIMES, steps=20) > 150
    assert Lanes.told > 15  # messages of which our plans' rule had said where they would go
