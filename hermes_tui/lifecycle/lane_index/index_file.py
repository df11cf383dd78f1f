"""`sessions/sessions.json`: Hermes' lane index, since 0.19 a mirror.

The index itself up to Hermes 0.18.0, the mirror of the table `gateway_routing` since.

An object of session key → entry; members that begin with `_` are notes for people (spec 002 section 3, "Storage
Layout"; facts on Hermes, section 3.1). What is not understood is kept; what cannot be kept is not written.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from hermes_tui.errors import EntryError
from hermes_tui.lifecycle.lane_index.fields import decode_object
from hermes_tui.platform.atomic_write import owner_kept, replacing
from session_adapters.reading.files import read_small

__all__ = ["README", "IndexFile", "advice_on_index", "encode_member", "read_index", "replace_index", "write_index"]

LIMIT = 16 << 20
"""Bytes; an index longer than that is not read."""
_MOST_VALUES = 1_000_000
"""Values in an index, however deep: each takes up to 100 bytes once it is decoded."""
_MOST_LANES = 10_000
"""A list of so many takes three seconds to make."""
README = (
    "LEGACY MIRROR of the gateway routing index (the primary copy lives in the gateway_routing table in "
    "~/.hermes/state.db). Maps messaging session keys (agent:main:<platform>:...) to active session IDs. This is NOT "
    "the session list. ALL sessions (CLI, TUI, and gateway) live in ~/.hermes/state.db and are shown by `hermes "
    "sessions list` and `/sessions`. Disable this file with `gateway.write_sessions_json: false` in config.yaml."
)
"""The note that Hermes writes at the head of the file, word for word, so that our mirror equals its."""


class IndexFile(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the file."""

    exists: bool = False
    members: Mapping[str, Any] = {}
    """All of it, in its order, notes included; empty where it could not be read."""
    fault: str = ""
    """Why it may not be rewritten, without a full stop: it is torn, or has the same key twice."""

    @property
    def entries(self) -> dict[str, Any]:
        """Session key → what stands there, of whatever type."""
        return {key: value for key, value in self.members.items() if not key.startswith("_")}


def read_index(path: Path) -> IndexFile:
    """The file at `path`. Raises nothing: what is wrong with it is its `fault`."""
    try:
        raw = read_small(path, LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        return IndexFile()
    except OSError as error:
        return IndexFile(exists=True, fault=f"it cannot be read: {error.strerror or error}")
    if not raw.strip():
        return IndexFile(exists=True, fault="it is empty")
    if sum(map(raw.count, (b",", b"[", b"{"))) > _MOST_VALUES:  # no value without one of them before it
        return IndexFile(exists=True, fault=f"it is not read: it has more than {_MOST_VALUES:,} values")
    try:
        found = IndexFile(exists=True, members=decode_object(raw))
    except EntryError as error:
        # Hermes takes NaN, and of two equal keys the last; those entries can be shown, not written.
        try:
            members = json.loads(raw)
        except (ValueError, RecursionError):
            members = None
        found = IndexFile(exists=True, members=members if isinstance(members, dict) else {}, fault=str(error))
    if len(found.members) > _MOST_LANES:
        return IndexFile(exists=True, fault=f"it is not read: it has more than {_MOST_LANES:,} entries")
    return found


def advice_on_index(path: Path) -> str:
    """What to do about one that has a fault: a clause."""
    if not os.access(path, os.R_OK):
        return "this user may not read it, so run this as the one whose it is"
    return "repair it or move it away"


def encode_member(value: Any) -> str:
    """A value as it stands in the file, laid out as Hermes does."""
    return json.dumps(value, indent=2).replace("\n", "\n  ")


def write_index(path: Path, members: Mapping[str, Any]) -> None:
    """`replace_index` with these values."""
    replace_index(path, {key: encode_member(value) for key, value in members.items()})


def replace_index(path: Path, members: Mapping[str, str]) -> None:
    """Replace the file by these encoded members at once, keeping its mode (0600 where there was none), its owner (its
    directory's) and a link that leads to it. Whoever reads it meanwhile sees all of the old or all of the new one.
    Raises `OSError`, also where it would not be its owner's any more; the old one is untouched then."""
    target = path.resolve()
    try:
        status = target.stat()
        mode = stat.S_IMODE(status.st_mode)
        if os.geteuid() not in (0, status.st_uid):
            raise PermissionError(errno.EPERM, "it belongs to another user, and would be ours afterwards", str(path))
    except FileNotFoundError:
        status, mode = target.parent.stat(), 0o600
    with replacing(target, mode=mode, owner=owner_kept(status), lasting=True) as file:
        lines = ",\n".join(f"  {json.dumps(key)}: {text}" for key, text in members.items())
        file.write(f"{{\n{lines}\n}}".encode() if lines else b"{}")
