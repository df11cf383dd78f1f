"""Whose rules apply beside a running gateway: does it look at a session's row before it routes a message?

Hermes 0.19 does, and copes with what it finds; that is what operations beside a live gateway rest on. Earlier ones
do not, or write a dead session back (facts on Hermes, section 4.3). A process does not say its version, so it is
proven from what it left: the installation that it runs from, or rows that only 0.19 and later write.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from hermes_tui.lifecycle.gateway import Gateway
from session_adapters.proc import words_of

__all__ = ["FIRST_VERSION", "SCHEMA", "Rules", "rules_of"]

SCHEMA = 22
"""The schema of the first version whose gateway may be worked beside."""
FIRST_VERSION = (0, 19)

_INSTALLED = re.compile(r"hermes_agent-(\d+)\.(\d+)[^-]*\.dist-info")


class Rules(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What is known of a gateway's version, and what follows."""

    verdict: Literal["current", "old", "unproven"]
    """current: reset, suspend and resume take effect at the lane's next message. Otherwise nothing is changed
    while it runs."""
    reason: str
    """One sentence without a full stop: how that is known."""
    version: str | None = None
    """`0.19`, where the installation tells it."""


def rules_of(gateway: Gateway, schema: int | None, usage: datetime | None, proc: Path = Path("/proc")) -> Rules:
    """The rules of a running gateway.

    `schema` is the database's version, `usage` when the use of a lane was last recorded in `session_model_usage`:
    a table that came with 0.19, so that the process that writes there knows the rules.
    """
    if schema is not None and schema < SCHEMA:
        return Rules(verdict="old", reason=f"its database has schema {schema}, older than Hermes 0.19's ({SCHEMA})")
    version, installed = _installation(gateway, proc)
    if version is not None and installed is not None and gateway.since is not None:
        name = ".".join(map(str, version))
        if installed > gateway.since:
            return _by_rows(gateway, usage) or Rules(
                verdict="unproven", reason=f"Hermes {name} was installed after this gateway was started"
            )
        if version >= FIRST_VERSION:
            return Rules(verdict="current", reason=f"it runs Hermes {name}", version=name)
        return Rules(verdict="old", reason=f"it runs Hermes {name}", version=name)
    return _by_rows(gateway, usage) or Rules(
        verdict="unproven", reason="nothing shows yet that it is Hermes 0.19 or later"
    )


def _by_rows(gateway: Gateway, usage: datetime | None) -> Rules | None:
    if gateway.since is not None and usage is not None and usage >= gateway.since:
        return Rules(verdict="current", reason="since its start it recorded use as only Hermes 0.19 or later does")
    return None


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
                    changed = datetime.fromtimestamp(found.stat().st_ctime).astimezone()
                    return (int(match[1]), int(match[2])), changed
    return None, None
