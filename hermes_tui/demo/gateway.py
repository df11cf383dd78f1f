"""The demo's gateway: scripted people and a scripted agent on a `GatewayRunner`.

`python -m hermes_tui.demo.gateway HOME` serves the lanes of a demo home until its standard input ends. People write
what `data/hermes/live.jsonl` says; and a while after a lane's session was ended from outside, one of them writes
there, so that what waits for the lane's next message comes true.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hermes_tui.demo.home import DATA, manifest_of
from hermes_tui.lifecycle import AgentTurn, GatewayRunner, MessageEvent, SessionContext, SessionStore
from hermes_tui.lifecycle.gateway.configuration import read_gateway_config
from hermes_tui.lifecycle.recovery import mark_clean_shutdown
from hermes_tui.lifecycle.runtime.events import Agent
from hermes_tui.lifecycle.runtime.state_file import write_gateway_state
from hermes_tui.platform.log import write_failure

__all__ = ["ScriptedPeople", "serving"]

_ENDED = ("session_reset", "suspended", "session_switch")
_PATIENCE = 8.0
"""Seconds from the end of a session until the lane's next message."""
_ROUNDS = 20
"""Times that the script is played; after that the gateway only answers: a demo may be left open over night."""
_NO_MARK_IS_FRESH = 1e-9
"""Seconds, at the start alone: this gateway has run for days, and goes on with no turn."""


@asynccontextmanager
async def serving(
    home: Path, *, clock: Callable[[], datetime] = datetime.now, pace: float = 1.0
) -> AsyncIterator[ScriptedPeople]:
    """The gateway of a demo home, serving. `clock` gives local times without a zone; `pace` multiplies all waits."""
    root = home / ".hermes"
    config = read_gateway_config(root)
    played = DATA / "hermes" / manifest_of("hermes")["live"]["script"]
    script = [json.loads(line) for line in played.read_text(encoding="utf-8").splitlines()]
    unmarked = replace(config, freshness=_NO_MARK_IS_FRESH)
    with SessionStore(root / "sessions", unmarked, clock=clock, starts=False) as store:
        agent = _ScriptedAgent(store, {line["text"]: line for line in script}, pace)
        runner = GatewayRunner(
            root,
            store,
            lambda context: agent.new(context),
            changed=lambda: write_gateway_state(root, runner),
            follow_ups="queue",
            clock=clock,
        )
        await asyncio.to_thread(mark_clean_shutdown, root)  # it was never away
        async with runner:
            store.config = config
            yield ScriptedPeople(store, runner, script, clock, pace)


class ScriptedPeople:
    """They write to lanes that there are."""

    def __init__(
        self,
        store: SessionStore,
        runner: GatewayRunner,
        script: list[dict[str, Any]],
        clock: Callable[[], datetime],
        pace: float,
    ) -> None:
        """As `serving` has them."""
        self._store = store
        self._script = script
        self._clock = clock
        self._pace = pace
        self.runner = runner

    async def play(self, rounds: int = _ROUNDS) -> None:
        """Write what the script says, so many times."""
        for _ in range(rounds):
            for line in self._script:
                await asyncio.sleep(line["after"] * self._pace)
                self._write(line["lane"], line["text"])

    async def answer_changes(self) -> None:
        """For ever: write to the lanes that wait for a message."""
        while True:
            await asyncio.sleep(2 * self._pace)
            await self.write_where_it_is_due()

    async def write_where_it_is_due(self) -> list[str]:
        """Write to the lanes whose session was ended from outside a while ago; their keys."""
        due = await asyncio.to_thread(self._due)
        for key in due:
            self._write(key, "Hello again.")
        return due

    def _due(self) -> list[str]:
        before = self._clock().timestamp() - _PATIENCE
        return [
            entry.session_key
            for entry in self._store.list_sessions()
            if entry.session_key not in self.runner.running
            and (row := self._store.db.get_session(entry.session_id)) is not None
            and row["end_reason"] in _ENDED
            and (row["ended_at"] or 0.0) <= before
        ]

    def _write(self, key: str, text: str) -> None:
        entry = self._store.peek(key)
        if entry is not None and entry.origin is not None:
            self.runner.handle(MessageEvent(source=entry.origin, text=text))


class _ScriptedAgent:
    """Calls the tools that the script names, each for its time, and says its answer."""

    def __init__(self, store: SessionStore, lines: dict[str, dict[str, Any]], pace: float) -> None:
        self._store = store
        self._lines = lines
        self._pace = pace

    def new(self, context: SessionContext) -> Agent:
        """The same for every conversation."""
        return self._answer

    async def _answer(self, turn: AgentTurn) -> str:
        line = self._lines.get(turn.event.text, {})
        for at, (tool, arguments, seconds, output) in enumerate(line.get("calls", ())):
            call = f"call_{at}_{turn.entry.updated_at:%H%M%S%f}"
            function = {"name": tool, "arguments": json.dumps(arguments)}
            await self._note(turn, role="assistant", tool_calls=[{"id": call, "function": function}])
            await asyncio.sleep(seconds * self._pace)
            await self._note(turn, role="tool", tool_call_id=call, tool_name=tool, content=output)
        return str(line.get("answer", "Hello! What can I do?"))

    async def _note(self, turn: AgentTurn, **message: Any) -> None:
        await asyncio.to_thread(self._store.append_to_transcript, turn.entry.session_id, message)


async def _serve(home: Path) -> None:
    async with serving(home) as people:
        tasks = [asyncio.create_task(people.play()), asyncio.create_task(people.answer_changes())]
        for task in tasks:
            task.add_done_callback(_noted)
        await asyncio.to_thread(sys.stdin.read)
        for task in tasks:
            task.cancel()


def _noted(task: asyncio.Task[None]) -> None:
    """Where it failed, our log says so: nobody sees what this process prints."""
    if not task.cancelled() and (error := task.exception()) is not None:
        write_failure(error)


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
