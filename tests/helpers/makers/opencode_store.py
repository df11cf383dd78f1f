"""OpenCode homes for tests: what an adapter lists of one, and a database that a test fills itself."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from plain_opencode import data_folder
from session_adapters.base import Environment, Source
from session_adapters.model import Problem, Session, SessionSummary
from session_adapters.opencode.adapter import OpenCodeAdapter
from session_adapters.transcript import Transcript
from support import STORES

__all__ = ["LAYOUTS", "Store", "adapter_for", "change", "everything", "get", "listed"]

LAYOUTS = ("home", "home-sqlite-1.2", "home-v2", "home-spec", "home-json-1.1", "home-json-0.5")


def adapter_for(home: Path, **variables: str) -> OpenCodeAdapter:
    """An adapter for a machine that has only this home."""
    return OpenCodeAdapter(Environment(home=home, variables=variables, proc=home / "proc"))


def everything(adapter: OpenCodeAdapter, *, exact: bool = True) -> list[tuple[Source, SessionSummary]]:
    """All that is listed; nothing may be reported."""
    found: list[tuple[Source, SessionSummary]] = []
    problems: list[Problem] = []
    for source in adapter.sources(problems.append):
        found += [(source, summary) for summary in adapter.summaries(source, problems.append, exact=exact)]
    assert not problems
    return found


def listed(adapter: OpenCodeAdapter, *, exact: bool = True) -> dict[str, SessionSummary]:
    """By id, as a user sees them: each once."""
    related = adapter.relate([summary for _, summary in everything(adapter, exact=exact)])
    assert len({summary.session_id for summary in related}) == len(related)
    return {summary.session_id: summary for summary in related}


def get(adapter: OpenCodeAdapter, session_id: str) -> Session:
    """One session, found by its id."""
    source = adapter.find(session_id)
    assert source is not None
    return adapter.session(source, session_id)


class Store:
    """A home with an empty database that has the tables of 1.18, for a test to fill."""

    def __init__(self, home: Path, name: str = "opencode.db", sample: str = "home") -> None:
        self.home = home
        data_folder(home).mkdir(parents=True, exist_ok=True)
        self.path = data_folder(home) / name
        self.adapter = adapter_for(home)
        original = data_folder(STORES / "opencode" / sample) / "opencode.db"
        with closing(sqlite3.connect(f"file:{original}?immutable=1", uri=True)) as connection:
            statements = [
                sql
                for (sql,) in connection.execute(
                    "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC"
                )
            ]
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        for statement in statements:
            self.connection.execute(statement)
        self.clock = 1_790_000_000_000

    def tick(self) -> int:
        """A moment later."""
        self.clock += 1000
        return self.clock

    def insert(self, table: str, **values: object) -> None:
        marks = ", ".join("?" * len(values))
        self.connection.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))

    def session(self, session_id: str, table: str = "session", **values: object) -> str:
        now = self.tick()
        self.insert(
            table,
            **{
                "id": session_id, "project_id": "global", "slug": "a-b", "directory": "/home/dev/shop", "title": "T",
                "version": "1.18.33", "time_created": now, "time_updated": now,
            } | values,
        )  # fmt: skip
        return session_id

    def message(self, session_id: str, role: str = "user", message_id: str = "", **data: object) -> str:
        """A message without parts, with an id made of the time as OpenCode's are."""
        now = self.tick()
        key = message_id or f"msg_{now * 4096 % (1 << 48) + 1:012x}x{now}"
        created = data.pop("created", now)
        self.insert(
            "message", id=key, session_id=session_id, time_created=created, time_updated=now,
            data=json.dumps({"role": role, "time": {"created": created}, **data}),
        )  # fmt: skip
        return key

    def part(self, session_id: str, message_id: str, **data: object) -> str:
        now = self.tick()
        key = f"prt_{now}"
        self.insert(
            "part", id=key, message_id=message_id, session_id=session_id, time_created=now, time_updated=now,
            data=json.dumps(data),
        )  # fmt: skip
        return key

    def say(self, session_id: str, role: str, text: str, **data: object) -> str:
        """A message with a text; an assistant's has used 10 fresh tokens, 5 written and 3 cached."""
        if role == "assistant":
            used = {"total": 18, "input": 10, "output": 5, "reasoning": 0, "cache": {"read": 3, "write": 0}}
            data = {"modelID": "m", "cost": 0.5, "tokens": used} | data
        key = self.message(session_id, role, "", **data)
        if role == "assistant":
            self.part(session_id, key, type="step-start")
        self.part(session_id, key, type="text", text=text)
        return key

    def entry(self, session_id: str, kind: str, seq: int, **data: Any) -> str:
        """A row of 2.x."""
        now = self.tick()
        key = f"msg_{seq}{session_id}"
        self.insert(
            "session_message", id=key, session_id=session_id, type=kind, seq=seq, time_created=now,
            time_updated=now, data=json.dumps(data),
        )  # fmt: skip
        return key

    def source(self) -> Source:
        return next(source for source in self.adapter.sources(lambda problem: None) if source.path == str(self.path))

    def get(self, session_id: str) -> Session:
        return get(self.adapter, session_id)

    def open(self, session_id: str) -> Transcript:
        return self.adapter.open(self.source(), session_id)


def change(store: Store, dice: random.Random) -> None:
    """Something that OpenCode does, or that was done to its database."""
    run = store.connection.execute
    known = [key for (key,) in run("SELECT id FROM session ORDER BY id")]
    session = dice.choice(known) if known else ""
    messages = [key for (key,) in run("SELECT id FROM message WHERE session_id = ? ORDER BY id", (session,))]
    done = dice.random()
    if not known or done < 0.06:
        store.session(f"ses_{len(known)}{store.tick()}")
    elif done < 0.6 or not messages:
        asked = store.say(session, "user", f"prompt {store.tick()}")
        assert asked
        answer = store.say(session, "assistant", "so", cost=dice.random())
        store.part(session, answer, type="tool", tool="bash", callID=f"c{store.clock}", state={"status": "running"})
    elif done < 0.75:  # an answer, mostly the last one, is written again
        chosen = dice.choice(messages[-2:] if dice.random() < 0.8 else messages)
        state = {"status": "completed", "input": {}, "output": "x" * dice.randrange(40)}
        data = json.dumps({"type": "tool", "tool": "bash", "callID": "c", "state": state})
        run("UPDATE part SET data = ?, time_updated = ? WHERE message_id = ?", (data, store.tick(), chosen))
    elif done < 0.8:
        tokens = {"input": dice.randrange(99), "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        data = json.dumps({"role": "assistant", "modelID": "other", "cost": 2, "tokens": tokens, "time": {}})
        chosen = dice.choice(messages)
        run("UPDATE message SET data = ?, time_updated = ? WHERE id = ?", (data, store.tick(), chosen))
    elif done < 0.85:
        run("DELETE FROM message WHERE id = ?", (dice.choice(messages),))
    elif done < 0.9:
        revert = json.dumps({"messageID": dice.choice(messages)}) if dice.random() < 0.5 else None
        run("UPDATE session SET revert = ? WHERE id = ?", (revert, session))
    elif done < 0.94:
        run("UPDATE session SET title = ? WHERE id = ?", (f"Title {store.tick()}", session))
    elif done < 0.96:
        run("DELETE FROM session WHERE id = ?", (session,))
    else:  # a fork, which has its parent's messages with their times
        fork = store.session(f"ses_f{store.tick()}")
        for data, created in list(run("SELECT data, time_created FROM message WHERE session_id = ?", (session,))):
            store.message(fork, message_id="", **{**json.loads(data), "created": created})
