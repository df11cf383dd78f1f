"""Random sequences of operations, messages, crashes, halts and restarts on a whole, real gateway: no promise is
broken, no message is lost, and the store stays whole. `make test-gateway` takes fifty of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from chances import TIMES, chance
from lifecycle.gateway.steps import Steps
from lifecycle.real_world import RealWorld
from oracle.gateway import RealGateway

_STEPS = 30


@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", range(2 * TIMES))
def test_no_promise_is_broken(number: int, tmp_path: Path) -> None:
    with RealGateway(tmp_path / "home") as gateway:
        world = RealWorld(gateway)
        steps = Steps(world, chance(number))
        try:
            steps.run(_STEPS)
            world.whole(tmp_path)
        finally:
            print(f"counted: {dict(steps.count)}", gateway.log(), sep="\n")
