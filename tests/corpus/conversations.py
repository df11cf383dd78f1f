"""Conversations for the corpus, as yet in no agent's format, and the manifest of what was written."""

from __future__ import annotations

import json
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from corpus.text import Text

__all__ = ["Conversation", "Conversations", "Part", "Size", "Writer", "compact", "iso", "random_uuid", "written"]

_PROJECTS = (
    "shop api-gateway billing ml-pipeline webapp infra mobile docs-site etl auth-service search notify cli-tools"
    " dashboard payments crawler"
)
_MINUTES = 300 * 24 * 60
"""The corpus begins with the year 2026 and spans so long."""


class Size(NamedTuple):
    """How large a corpus is to be."""

    sessions: int
    megabytes: float
    messages: int


class Part(NamedTuple):
    """One thing that is said or done."""

    kind: Literal["user", "assistant", "thinking", "call", "result"]
    text: str
    """Of a call: the path of the file that it is about."""
    code: str = ""
    """What a call writes; empty for one that writes nothing."""


class Conversation(NamedTuple):
    """Its start, and its parts."""

    start: datetime
    parts: list[Part]


class Writer(Protocol):
    """Writes conversations in one agent's format."""

    def write(self, number: int) -> None:
        """Write conversation `number`."""

    def close(self) -> None:
        """Write what is left to write."""


class Conversations:
    """Makes conversations and keeps the manifest. All randomness comes from one `Random`."""

    def __init__(self, home: Path, size: Size, seed: int) -> None:
        self.home, self.size = home, size
        self.rng = random.Random(seed)
        self.text = Text(self.rng, vocabulary=60_000)
        self.projects = _PROJECTS.split()
        self.manifest: dict[str, Any] = {
            "seed": seed,
            "sessions": {},
            "messages": {},
            "bytes": {},
            "needles": {},
            "phrase_sessions": [],
            "medium_sessions": [],
            "usage": {},
            "ids": {"claude": [], "codex": [], "hermes": []},
        }
        self._weights = [self.rng.lognormvariate(0, 1.0) for _ in range(size.sessions)]
        self._weight = sum(self._weights)

    def conversation(self, number: int) -> Conversation:
        """Conversation `number`; what a search of it must find is noted in the manifest."""
        r, share = self.rng, self._weights[number] / self._weight
        count = max(4, round(self.size.messages * share))
        each = max(2_000, int(int(self.size.megabytes * 1e6) * share)) / count
        start = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(
            minutes=number * _MINUTES / self.size.sessions, seconds=r.random() * 3600
        )
        specials = self._specials(number)
        parts: list[Part] = []
        while len(parts) < count:
            kind = r.random()
            if not parts or kind < 0.12:
                text = self.text.prose(r.randint(60, 500))
                if not parts and specials:
                    text += " " + " ".join(specials)
                parts.append(Part("user", text))
            elif kind < 0.45:
                text = self.text.prose(max(80, each * 0.25))
                if r.random() < 0.3:
                    text += f"\n```python\n{self.text.code(max(200, each * 0.3))}```\n"
                parts.append(Part("assistant", text))
            elif kind < 0.52:
                parts.append(Part("thinking", self.text.prose(max(100, each * 0.3))))
            else:
                path = self.text.path()
                parts.append(Part("call", path, self.text.code(200) if r.random() < 0.35 else ""))
                size = max(120, r.lognormvariate(0, 0.8) * each * 1.75)
                parts.append(Part("result", self.text.tool_output(size)))
        return Conversation(start, parts)

    def _specials(self, number: int) -> list[str]:
        """What a search of the corpus is to find in that conversation."""
        r, specials, every = self.rng, [], max(1, self.size.sessions // 20)
        if number % every == 0:
            needle = f"needlezq{number // every}"
            specials.append(f"The {needle} marker belongs to this session only.")
            self.manifest["needles"][needle] = number
        if r.random() < 0.005 or number == 3:
            specials.append("We traced the quokka ledger drift to a stale lock.")
            self.manifest["phrase_sessions"].append(number)
        if r.random() < 0.05:
            specials.append("This change is rollbackable, so ship it behind a flag.")
            self.manifest["medium_sessions"].append(number)
        if r.random() < 0.01:
            specials.append(f"export API_KEY=sk-test-{self.text.hapax()}{self.text.hapax()}")
        return specials

    def later(self, moment: datetime) -> datetime:
        """When the next part of a conversation comes."""
        return moment + timedelta(seconds=self.rng.random() * 25)

    def session(self, agent: str, session_id: str, messages: int, size: int) -> None:
        """Note a session that was written."""
        self.manifest["ids"][agent].append(session_id)
        for name, value in (("sessions", 1), ("messages", messages), ("bytes", size)):
            figures = self.manifest[name]
            figures[agent] = figures.get(agent, 0) + value

    def usage(self, agent: str, **tokens: int) -> None:
        """Note tokens: input, output, cache_read, cache_write."""
        used = self.manifest["usage"].setdefault(agent, {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0})
        for name, value in tokens.items():
            used[name] += value


def written(path: Path, records: list[str], moment: datetime) -> int:
    """Write JSON lines; the file's size. Its time is that of the last message, as in a store that has grown."""
    data = ("\n".join(records) + "\n").encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (moment.timestamp(), moment.timestamp()))
    return len(data)


def random_uuid(rng: random.Random) -> str:
    """A UUID of version 4."""
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def iso(moment: datetime) -> str:
    """To the millisecond, as JavaScript writes it."""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def compact(record: object) -> str:
    """JSON on one line, without blanks."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))
