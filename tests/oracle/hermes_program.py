"""The real Hermes, asked through a pipe. Runs in an environment of its own, see `oracle`; imports nothing of ours.

One JSON request per line of standard input, `{"fn": "key", "args": {…}, "kw": {…}}`; one reply per line of standard
output, `{"ok": …}` or `{"error": "ValueError: …"}`. Ids that Hermes makes up end in 00000001, 00000002 …
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import types
import uuid
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

# What the library prints must not come between the replies.
REPLIES = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

session: Any = importlib.import_module("gateway.session")
config: Any = importlib.import_module("gateway.config")
names: Any = importlib.import_module("gateway.whatsapp_identity")
state: Any = importlib.import_module("hermes_state")


def run() -> Any:
    """The gateway's own module: it takes a second to load."""
    return importlib.import_module("gateway.run")


class Program:
    """The requests, one method each."""

    def __init__(self) -> None:
        self.moment: datetime | None = None
        self.numbers = 0
        self.opened: Any = None

    def time(self) -> datetime:
        return self.moment or datetime.now()

    def uuid4(self) -> uuid.UUID:
        self.numbers += 1
        return uuid.UUID(hex=f"{self.numbers:08x}" + "0" * 24)

    def home(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        os.environ["HERMES_HOME"] = args["path"]
        state.DEFAULT_DB_PATH = Path(args["path"]) / "state.db"  # taken from the environment when first imported

    def key(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        return session.build_session_key(source(args), **kw)

    def shared(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        return session.is_shared_multi_user_session(source(args), **kw)

    def description(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        return source(args).description

    def canonical(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        return names.canonical_whatsapp_identifier(args["identifier"])

    def aliases(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        return sorted(names.expand_whatsapp_aliases(args["identifier"]))

    def entry(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        return session.SessionEntry.from_dict(args)

    def policy(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        """[what routing decides, what the watcher decides] for one entry and policy."""
        store = session.SessionStore.__new__(session.SessionStore)
        store.config = config.GatewayConfig(default_reset_policy=config.SessionResetPolicy(**kw["policy"]))
        busy = kw.get("busy", False)
        store._has_active_processes_fn = lambda key: busy
        store._db = None
        self.moment = local(kw["now"])
        entry = session.SessionEntry.from_dict(args)
        return [store._should_reset(entry, entry.origin), store._is_session_expired(entry)]

    def config(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        """What the gateway makes of the configuration in the home `path`, with those `variables`."""
        before = dict(os.environ)
        os.environ.update(args.get("variables") or {}, HERMES_HOME=args["path"])
        try:
            loaded = config.load_gateway_config()
        finally:
            os.environ.clear()
            os.environ.update(before)
        if args.get("platforms"):
            homes = {one.value: loaded.get_home_channel(one) for one in loaded.platforms}
            return {
                "connected": [one.value for one in loaded.get_connected_platforms()],
                "homes": {name: home.to_dict() for name, home in homes.items() if home is not None},
            }
        found = loaded.to_dict()
        connected = ("platforms", "quick_commands", "streaming")
        return {name: value for name, value in found.items() if name not in connected}

    def sanitize(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        return state.SessionDB._sanitize_fts5_query(args["query"])

    def title(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        return state.SessionDB.sanitize_title(args["title"])

    def open(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        """A new SessionStore on the home. `policy`, `by_platform`, `by_type`: reset policies; `busy`: keys of lanes
        with running processes; other arguments are fields of GatewayConfig."""
        found = config.GatewayConfig(**kw)
        make = config.SessionResetPolicy
        found.default_reset_policy = make(**args.get("policy") or {})
        found.reset_by_type = {name: make(**one) for name, one in (args.get("by_type") or {}).items()}
        by_platform = args.get("by_platform") or {}
        found.reset_by_platform = {config.Platform(name): make(**one) for name, one in by_platform.items()}
        if args.get("now"):
            self.moment = local(args["now"])
        busy = set(args.get("busy") or [])
        self.opened = session.SessionStore(found.sessions_dir, found, has_active_processes_fn=lambda key: key in busy)

    def now(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        self.moment = local(args["now"])

    def get(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        return self.opened.get_or_create_session(source(args), **kw)

    def should_reset(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        entry = self.opened._entries[args["key"]]
        return [self.opened._should_reset(entry, entry.origin), self.opened._is_session_expired(entry)]

    def store(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        return getattr(self.opened, args["op"])(*args["a"], **kw)

    def db(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        return getattr(self.opened._db, args["op"])(*args["a"], **kw)

    def prunable(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        """The sessions that `hermes sessions prune` deletes with these options, as it finds them."""
        cli: Any = importlib.import_module("hermes_cli.session_filters")
        filters = cli.build_prune_filters(argparse.Namespace(**kw))
        archived = None if kw.get("include_archived") else False
        return [row["id"] for row in self.opened._db.list_prune_candidates(archived=archived, **filters)]

    def close(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        """Let go of the store and its database, as a gateway that stops."""
        if self.opened is not None and self.opened._db is not None:
            self.opened._db.close()
        self.opened = None

    def search_tool(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        tool: Any = importlib.import_module("tools.session_search_tool")
        return json.loads(tool.session_search(db=self.opened._db, **kw))

    def inline(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        return session.neutralize_untrusted_inline_text(args["text"])

    def resume_note(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        return run().build_resume_recovery_note(args["reason"], args["message"], interactive=args["interactive"])

    def queue(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        """What waits for a turn, in the gateway's own hands: [what a step took out, how many wait then] for each of
        `steps`, `[op, key, text]`."""
        gateway, adapter = object.__new__(run().GatewayRunner), types.SimpleNamespace(_pending_messages={})
        return [self._queued(gateway, adapter, *step) for step in args["steps"]]

    def _queued(self, gateway: Any, adapter: Any, op: str, key: str, text: str) -> Any:
        platforms, slot, taken = importlib.import_module("gateway.platforms.base"), adapter._pending_messages, None
        event = platforms.MessageEvent(text=text, source=source({"platform": "telegram", "chat_id": key}))
        if op == "queue":
            gateway._enqueue_fifo(key, event, adapter)
        elif op == "merge":
            platforms.merge_pending_message_event(slot, key, event, merge_text=True)
        elif op == "replace":
            platforms.merge_pending_message_event(slot, key, event)
        else:
            found = gateway._promote_queued_event(key, adapter, slot.pop(key, None))
            taken = found.text if found is not None else None
        return [taken, gateway._queue_depth(key, adapter=adapter)]

    def context(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        """build_session_context; `connected` maps platforms to their home channels or None, `entry` may be None,
        other arguments are fields of GatewayConfig."""
        return self._context(args, kw).to_dict()

    def prompt(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        """build_session_context_prompt of that context; `redact` says whether without identifiers. A gateway has its
        plugins by then: they say of their platforms whether an agent needs the identifiers."""
        config.load_gateway_config()
        return session.build_session_context_prompt(self._context(args, kw), redact_pii=args["redact"])

    def _context(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        found = config.GatewayConfig(**kw)
        for name, home in args["connected"].items():
            channel = config.HomeChannel(**{**home, "platform": config.Platform(name)}) if home else None
            one = config.PlatformConfig(enabled=True, token="x", home_channel=channel)
            found.platforms[config.Platform(name)] = one
        entry = session.SessionEntry.from_dict(args["entry"]) if args["entry"] else None
        return session.build_session_context(source(args["source"]), found, entry)

    def dump(self, args: dict[str, Any], kw: dict[str, Any]) -> Any:
        """The mirror as `json`, the table as `routing`, all rows of the sessions (all columns) as `sessions`."""
        mirror = self.opened.sessions_dir / "sessions.json"
        found = json.loads(mirror.read_text()) if mirror.exists() else None
        rows = self.opened._db._conn
        routing = rows.execute("SELECT * FROM gateway_routing")
        return {
            "json": None if found is None else {key: one for key, one in found.items() if key[0] != "_"},
            "routing": {row["session_key"]: json.loads(row["entry_json"]) for row in routing},
            "sessions": [dict(row) for row in rows.execute("SELECT * FROM sessions ORDER BY id")],
        }


def local(text: str) -> datetime:
    """A time as the clock on the wall shows it where this process believes to be."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is None else moment.astimezone().replace(tzinfo=None)


def source(args: dict[str, Any]) -> Any:
    return session.SessionSource(**{"chat_id": "", **args, "platform": config.Platform(args["platform"])})


def plain(value: Any) -> Any:
    """Anything as JSON: entries as Hermes writes them, what has no form there as text."""
    if isinstance(value, session.SessionEntry):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value if isinstance(value, str | int | float | None) else str(value)


def main() -> None:
    program = Program()
    session._now = program.time
    uuid.uuid4 = program.uuid4
    for line in sys.stdin:
        try:
            request = json.loads(line)
            ask: Callable[..., Any] = getattr(program, request["fn"])
            reply = {"ok": plain(ask(request.get("args") or {}, request.get("kw") or {}))}
        except Exception as error:  # it must survive every question
            reply = {"error": f"{type(error).__name__}: {error}"}
        REPLIES.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
