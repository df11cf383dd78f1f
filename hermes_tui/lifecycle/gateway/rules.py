"""Tells whether a running gateway is a Hermes version whose rules are proven.

Before it routes a message, Hermes 0.19 looks at the session's row, and takes lanes up again by rules of its own;
that is what operations beside a live gateway rest on. Earlier versions do not look, or write a dead session back
(facts on Hermes, section 4.3); later ones find other sessions: 0.21 passes over one that was left by a reset or a
switch. Its routing was read in the source and not run: what gives a lane another session is offered there where its
own search, tried on the planned result, finds what is wanted; all else is refused. A process does not say its
version, so it is told from the installation that it runs from.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from hermes_tui.lifecycle.gateway.process import Gateway
from session_adapters.model import JsonRecord
from session_adapters.proc import words_of

__all__ = ["READ_SCHEMA", "SCHEMA", "UNSURE", "VERSION", "Rules", "newer_schema", "rules_of"]

VERSION = (0, 19)
"""The version whose rules are known: they were compared with the real program."""
SCHEMA = 22
"""Its schema."""
READ_VERSION = (0, 21)
"""Another one: its search for a session is known from its source."""
READ_SCHEMA = 30
"""Of that."""

_INSTALLED = re.compile(r"hermes_agent-(\d+)\.(\d+)[^-]*\.dist-info")
UNSURE = timedelta(seconds=1)
"""By so much the start of a process may be taken for too early."""


class Rules(JsonRecord, frozen=True):
    """What is known of a gateway's version, and what follows."""

    verdict: Literal["proven", "read", "old", "newer", "unproven"]
    """proven: reset, suspend and resume take effect at the lane's next message. read: by its source they do, where
    its own search finds what is wanted. Otherwise nothing is changed while it runs."""
    reason: str
    """One sentence without a full stop: how that is known."""
    version: str | None = None
    """`0.19`, where the installation tells it."""

    def allow(self, switches: bool) -> bool:
        """Whether a lane may be changed beside it; `switches`: given another session."""
        return self.verdict == "proven" or (switches and self.verdict == "read")


def newer_schema(schema: int | None, *, switches: bool = False) -> str:
    """Of a database whose Hermes is later than the one whose rules are known: a clause; else empty. `switches`: only
    its search for a session has to be known."""
    if schema is None or schema <= SCHEMA or (switches and schema == READ_SCHEMA):
        return ""
    return f"its database has schema {schema}, later than Hermes {_name(VERSION)}'s ({SCHEMA}), whose rules are known"


def rules_of(gateway: Gateway, schema: int | None, proc: Path = Path("/proc")) -> Rules:
    """The rules of a running gateway; `schema` is the database's version."""
    if schema is not None and schema < SCHEMA:
        reason = f"its database has schema {schema}, older than Hermes {_name(VERSION)}'s ({SCHEMA})"
        return Rules(verdict="old", reason=reason)
    newer = newer_schema(schema)
    if newer and schema != READ_SCHEMA:
        return Rules(verdict="newer", reason=newer)
    version, installed = _installation(gateway, proc)
    if version is None or installed is None or gateway.since is None:
        return Rules(verdict="unproven", reason=f"nothing shows that it is Hermes {_name(VERSION)}")
    if installed > gateway.since + UNSURE:
        reason = f"Hermes {_name(version)} was installed after this gateway was started"
        return Rules(verdict="unproven", reason=reason)
    reason = f"it runs Hermes {_name(version)}"
    if newer and version == READ_VERSION:
        return Rules(verdict="read", reason=f"{reason}, of which only the source was read", version=_name(version))
    if newer:  # another program than the one that brought the database to that schema
        return Rules(verdict="newer", reason=f"{reason}, and {newer}", version=_name(version))
    if version == VERSION:
        return Rules(verdict="proven", reason=reason, version=_name(version))
    reason += f", and only the rules of {_name(VERSION)} are known"
    return Rules(verdict="old" if version < VERSION else "newer", reason=reason, version=_name(version))


def _name(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def _installation(gateway: Gateway, proc: Path) -> tuple[tuple[int, int] | None, datetime | None]:
    """Version of the Hermes that lies beside the interpreter of that process, and when it was put there."""
    if gateway.pid is None:
        return None, None
    for word in words_of(proc, gateway.pid)[:2]:  # the interpreter, and the script that it runs
        place = Path(word.decode("utf-8", "replace"))
        if place.is_absolute():
            for found in sorted(place.parent.parent.glob("lib/python3*/site-packages/hermes_agent-*.dist-info")):
                match = _INSTALLED.fullmatch(found.name)
                if match:
                    # Not when its owner or mode was last changed: an installer writes into the folder anew.
                    changed = datetime.fromtimestamp(found.stat().st_mtime).astimezone()
                    return (int(match[1]), int(match[2])), changed
    return None, None
