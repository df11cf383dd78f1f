"""Composite ids of Hector's sessions.

Hector names a session anew for every agent or user (checklist ID-6).

Each part is percent-encoded and the parts are joined by `/`: `agent/session` in v0, v1 and the guide's tables,
`app/user/session` in v2. An `@` never comes out of the encoding, so it marks what is not a part:

* `@deleted/session`: messages whose session was deleted, which does not take them along; nothing says whose it was;
* `@none/session`: a session of v0 without an agent;
* `…@1a2b3c4d` at the end: the same id is in another database that is read before this one.
"""

from __future__ import annotations

import hashlib
import re
from enum import Enum
from functools import lru_cache
from urllib.parse import quote, unquote

__all__ = ["Missing", "Parts", "decode", "encode", "of_store", "readable", "split_store", "store_tag"]


class Missing(Enum):
    """Stands where an agent's name would."""

    DELETED = "@deleted"
    NO_AGENT = "@none"


Parts = tuple[str | Missing, ...]
"""What an id is made of: only the first may be a mark."""

_PLAIN = re.compile(r"[\w.~-]*", re.ASCII).fullmatch
"""Whether a part stands in an id as it is."""
_TAGGED = re.compile(r"(.*)@([0-9a-f]{8})", re.DOTALL)


@lru_cache(maxsize=1024)  # a list asks for the ids of a few hundred sessions several times
def encode(parts: Parts) -> str:
    """The id made of these parts."""
    return "/".join(
        part.value if isinstance(part, Missing) else part if _PLAIN(part) else quote(part, safe="") for part in parts
    )


def decode(session_id: str) -> Parts:
    """The parts of an id. Raises `ValueError` for text that `encode` does not give."""
    first, *rest = session_id.split("/")
    marks = {mark.value: mark for mark in Missing}
    parts = (marks.get(first) or unquote(first, errors="strict"), *(unquote(part, errors="strict") for part in rest))
    if len(parts) not in (2, 3) or encode(parts) != session_id:
        raise ValueError("it is not an id of a Hector session")
    return parts


def readable(session_id: str) -> str:
    """An id as people write it: its parts as they are. Empty for text that is none."""
    plain, tag = split_store(session_id)
    try:
        parts = decode(plain)
    except ValueError:
        return ""
    return "/".join(part.value if isinstance(part, Missing) else part for part in parts) + (f"@{tag}" if tag else "")


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
