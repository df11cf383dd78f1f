"""A gateway that is killed: each message has one turn, in order; `make gateway-soak` has the long run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.gateway_soak import gateway_soak


@pytest.mark.parametrize("documented_store", [False, True])
def test_each_message_has_one_turn_in_order(tmp_path: Path, documented_store: bool) -> None:
    """On the tables of Hermes 0.19, and on a store that is made as the document has it."""
    found = gateway_soak(tmp_path, 400, 20, 6, documented_store=documented_store)
    assert found.kills + found.ends == 7
    assert found.kills >= 2
