"""Writes `gateway_state.json`: how many turns run, and what waits behind them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from hermes_tui.lifecycle.runtime.runner import GatewayRunner
from hermes_tui.platform.atomic_write import replacing
from session_adapters.reading.files import read_small

__all__ = ["write_gateway_state"]

_LIMIT = 1 << 20


def write_gateway_state(home: Path, runner: GatewayRunner) -> None:
    """Put `active_agents`, as Hermes has it, and `queued`, a field of ours, into the file of a home, whose other
    fields stay as they are: for `changed` of `GatewayRunner`. Raises `OSError`."""
    path = home / "gateway_state.json"
    try:
        known = json.loads(read_small(path, limit=_LIMIT))
    except (FileNotFoundError, ValueError):
        known = {}
    said = {"active_agents": len(runner.running), "queued": runner.queue.waiting}
    at = datetime.now(UTC).isoformat()
    with replacing(path) as file:
        file.write(json.dumps({**(known if isinstance(known, dict) else {}), **said, "updated_at": at}).encode())
