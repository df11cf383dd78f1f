"""What making sample stores long takes for every agent: harmless text, and files of JSON lines."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Added", "Lines", "Record", "Shape", "Texts", "filler", "front", "later", "link", "made_id", "turns"]

Record = dict[str, Any]
Texts = list[tuple[Record, str]]
"""Records, each with the harmless text in it."""

_PROMPT = 90
_FRONT = (20_000, 20_000)


class Shape(NamedTuple):
    """Where a store is long."""

    first_line: int
    """Characters of the instructions in the first line of a rollout."""
    early: bool
    """The first prompt comes first, as far as the agent's format lets it; else only after all that the program itself
    writes before a conversation."""
    replies: tuple[int, ...]
    """Characters of the replies behind the conversation; each answers a prompt of its own."""


class Added(NamedTuple):
    """What stands in a store that its sample does not have."""

    path: Path
    """The file or database."""
    record: Record
    """As written; of a database the row."""
    text: str
    """The one text in it."""


def filler(*seed: object, size: int) -> str:
    """Harmless text of `size` characters, with a word of its own at either end."""
    word = "filler" + hashlib.sha256(repr(seed).encode()).hexdigest()[:12]
    body = "nothing of note happens here, and it goes on. " * (size // 46 + 1)
    return f"{word} {body}"[: size - len(word) - 1].rstrip() + " " + word


def made_id(*seed: object) -> str:
    """A UUID that is the same for the same seed, so that copies in forks stay copies."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, repr(seed)))


def later(stamp: str, seconds: float) -> str:
    """The ISO time so many seconds after."""
    moment = datetime.fromisoformat(stamp.replace("Z", "+00:00")) + timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def front(*seed: object) -> list[tuple[str, str]]:
    """Texts to put before something, 40 KB in all, each with an id."""
    numbered = enumerate(_FRONT)
    return [(filler("front", *seed, number, size=size), made_id("front", *seed, number)) for number, size in numbered]


def turns(shape: Shape, stamp: str, *seed: object) -> list[tuple[bool, str, str, str]]:
    """What is said behind a conversation whose newest time is `stamp`: (a prompt, text, id, time)."""
    found = []
    for number, size in enumerate(shape.replies):
        for prompt in (True, False):
            stamp = later(stamp, 1)
            text = filler("turn", prompt, *seed, number, size=_PROMPT if prompt else size)
            found.append((prompt, text, made_id("turn", prompt, *seed, number), stamp))
    return found


class Lines:
    """A JSON-lines file: its records, broken lines kept, and a torn last line kept last."""

    def __init__(self, path: Path, shape: Shape) -> None:
        self.path = path
        self.shape = shape
        pieces = path.read_bytes().split(b"\n")
        self._end = b"\n" if pieces[-1] == b"" else b""
        self._parts: list[bytes | Record] = [_record(piece) for piece in pieces if piece]
        if not self._end and self._parts and isinstance(self._parts[-1], bytes):
            self._parts.pop()
            self._end = b"\n" + pieces[-1]
        self.added: list[Added] = []

    @property
    def rows(self) -> list[Record]:
        """Those that are JSON objects."""
        return [part for part in self._parts if isinstance(part, dict)]

    def put(self, records: Texts, before: Record | None = None) -> None:
        """Insert records, behind all others if `before` is None."""
        places = (number for number, part in enumerate(self._parts) if part is before)
        at = next(places, len(self._parts))
        self._parts[at:at] = [record for record, _ in records]
        self.added += [Added(self.path, record, text) for record, text in records]

    def encoded(self) -> list[bytes]:
        """Every whole line, without its end."""
        return [part if isinstance(part, bytes) else _encode(part) for part in self._parts]

    def write(self) -> list[Added]:
        """Write the file; what was added to it."""
        self.path.write_bytes(b"\n".join(self.encoded()) + self._end)
        return self.added


def link(first: Record, above: str, make: Callable[[str, str, Any], Record], *seed: object) -> Texts:
    """The front put between `first` and its parent, which its key `above` names; `make(text, id, parent)`."""
    found: Texts = []
    parent = first.get(above)
    for text, own in front(*seed):
        record = make(text, own, parent)
        found.append((record, text))
        parent = next((record[name] for name in ("uuid", "id") if name in record), None)
    if parent is not None:
        first[above] = parent
    return found


def _record(piece: bytes) -> bytes | Record:
    try:
        value = json.loads(piece)
    except ValueError:
        return piece
    return value if isinstance(value, dict) else piece


def _encode(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
