"""The checklist of the manager (facts/agentmux_hector.md §1.7), held against every session of every sample store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from session_adapters.model import Message, Session
from session_adapters.registry import BUILT_IN
from support import STORES

HOMES = sorted(
    path.relative_to(STORES)
    for agent in sorted(BUILT_IN)
    for path in (STORES / agent).rglob("home*")
    if path.is_dir() and not any(parent.name.startswith("home") for parent in path.relative_to(STORES).parents)
)


@pytest.mark.parametrize("relative", HOMES, ids=str)
def test_it_keeps_the_contract(relative: Path, store: Callable[..., Path], tmp_path: Path) -> None:
    manager = SessionManager(Environment(home=store(*relative.parts)), cache_dir=tmp_path / "cache")
    rows = manager.list(limit=None)
    assert rows
    assert len({row.unified_id for row in rows}) == len(rows)  # L-11
    for row in rows:
        session = manager.get(row.agent, row.session_id)
        wrong = list(faults(manager, session))
        assert wrong == [], session.unified_id


def faults(manager: SessionManager, session: Session) -> Iterator[str]:
    """Lines of the checklist that a session breaks."""
    if manager.resolve_native_id(session.unified_id) != (session.agent, session.session_id):
        yield "ID-4"
    if session.unified_id != f"{session.agent}:{session.session_id}":
        yield "ID-5"
    if len(session.title) > 100 or session.title != " ".join(session.title.split()):
        yield f"L-14: {session.title!r}"
    outputs = {call.tool_call_id: call.output for message in session.messages for call in message.tool_calls}
    for message in session.messages:
        yield from _faults(message)
        result = message.tool_result
        if result is not None and result.output is not None and outputs.get(result.tool_call_id, result) is None:
            yield f"G-5: the result of {result.tool_call_id} is not in its call"


def _faults(message: Message) -> Iterator[str]:
    if message.role not in ("user", "assistant", "system", "tool"):
        yield f"G-3: role {message.role}"
    # OpenCode 2 keeps a command that the user ran in a shell with what it gave: said by the user, and a call.
    if message.tool_calls and message.role != "assistant" and message.kind != "command":
        yield f"G-4: calls of {message.role}"
    if (message.role == "tool") is not (message.tool_result is not None):
        yield f"G-4: {message.role} and a result"
