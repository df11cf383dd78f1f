"""Ids of Hector's sessions: composite, because Hector names a session anew for every agent or user (checklist ID-6).

Each part is percent-encoded and the parts are joined by `/`: `agent/session` in v0, v1 and the guide's tables,
`app/user/session` in v2. An `@` never comes out of the encoding, so it marks what is not a part:

* `@deleted/session`: messages whose session was deleted, which does not take them along; nothing says whose it was;
* `@none/session`: a session of v0 without an agent;
* `…@1a2b3c4d` at the end: the same id is in another database that is read before this one.
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote, unquote

__all__ = ["DELETED", "NO_AGENT", "decode", "encode", "of_store", "split_store", "store_tag"]

DELETED = "@deleted"
NO_AGENT = "@none"

_TAGGED = re.compile(r"(.*)@([0-9a-f]{8})", re.DOTALL)


def encode(parts: tuple[str, ...]) -> str:
    """The id made of these parts. `DELETED` and `NO_AGENT` stand for themselves in the first place."""
    head = parts[0] if parts[0] in (DELETED, NO_AGENT) else quote(parts[0], safe="")
    return "/".join((head, *(quote(part, safe="") for part in parts[1:])))


def decode(session_id: str) -> tuple[str, ...]:
    """The parts of an id. Raises `ValueError` for text that `encode` does not give."""
    first, *rest = session_id.split("/")
    head = first if first in (DELETED, NO_AGENT) else unquote(first, errors="strict")
    parts = (head, *(unquote(part, errors="strict") for part in rest))
    if len(parts) not in (2, 3) or encode(parts) != session_id:
        raise ValueError("it is not an id of a Hector session")
    return parts


def store_tag(path: str) -> str:
    """Eight characters that stand for one database."""
    return hashlib.blake2b(path.encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()


def of_store(session_id: str, path: str) -> str:
    """The id that is this database's alone."""
    return f"{session_id}@{store_tag(path)}"


def split_store(session_id: str) -> tuple[str, str]:
    """An id without the database in it, and the database's tag; empty where there is none."""
    found = _TAGGED.fullmatch(session_id)
    return (found[1], found[2]) if found else (session_id, "")
