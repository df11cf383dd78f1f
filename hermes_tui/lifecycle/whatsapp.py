"""One name for a person whom WhatsApp's bridge calls by several.

Phone number, LID, device.

The bridge leaves files `lid-mapping-<identifier>.json` and `lid-mapping-<identifier>_reverse.json`, each holding
another identifier of the same person as a JSON text. Hermes takes the shortest of all that are connected, so the
name may be the LID: it is no E.164 number, whatever spec 002 section 4 says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from session_adapters.reading.files import read_small
from session_adapters.reading.folders import names_in

__all__ = ["WhatsAppAliases", "canonical_whatsapp_identifier", "normalize_whatsapp_identifier"]

_SAFE = re.compile(r"[A-Za-z0-9@.+-]+\n?")
"""What may be part of a mapping file's name."""
_LIMIT = 1 << 16
"""Bytes; a mapping is a few dozen."""
_MAPPING = re.compile(r"lid-mapping-.+\.json")
_FILES = 10_000


def normalize_whatsapp_identifier(value: object) -> str:
    """`+60123:47@s.whatsapp.net` → `60123`: without plus, device and domain. Empty for nothing."""
    return str(value or "").strip().replace("+", "", 1).split(":", 1)[0].split("@", 1)[0]


def canonical_whatsapp_identifier(identifier: object, home: Path | None = None) -> str:
    """One name for the several that WhatsApp has for a person (spec 002 section 4), with the bridge's mappings in
    the Hermes home `home`; without a home only normalised."""
    return normalize_whatsapp_identifier(identifier) if home is None else WhatsAppAliases(home).canonical(identifier)


class WhatsAppAliases:
    """The mappings in one Hermes home, read anew at each question: the bridge adds to them at any time."""

    def __init__(self, home: Path) -> None:
        """`home` is the Hermes home of the gateway whose keys are to be made."""
        self._home = home

    def canonical(self, identifier: object) -> str:
        """The shortest of all names of that person, the first in the alphabet among equals; empty for nothing. An
        identifier that no file can be named after is only normalised."""
        normalized = normalize_whatsapp_identifier(identifier)
        return min(self.all_of(normalized) or {normalized}, key=lambda name: (len(name), name))

    def all_of(self, identifier: object) -> set[str]:
        """Every name of that person that the mappings lead to, the normalised one included."""
        folder = self._folder()
        found: set[str] = set()
        waiting = [normalize_whatsapp_identifier(identifier)]
        while waiting:
            current = waiting.pop()
            # The mappings may lead in a circle.
            if current in found or not _SAFE.fullmatch(current):
                continue
            found.add(current)
            for name in (f"lid-mapping-{current}.json", f"lid-mapping-{current}_reverse.json"):
                # Where there is no such file, or nothing in it can be understood, there is no other name.
                with suppress(OSError, ValueError, RecursionError):
                    other = json.loads(read_small(folder / name, limit=_LIMIT).decode())
                    waiting.append(normalize_whatsapp_identifier(other))
        return found

    def _folder(self) -> Path:
        """The old place as long as anything is in it, or as nobody can tell, as Hermes has it."""
        old = self._home / "whatsapp" / "session"
        try:
            if not old.exists() or (old.is_dir() and next(old.iterdir(), None) is None):
                return self._home / "platforms" / "whatsapp" / "session"
        except OSError:
            pass  # there, but not to be looked into
        return old

    def faults(self) -> Iterator[str]:
        """What is wrong with the mapping files: a sentence each, without a full stop. Of the first 10,000 alone."""
        folder = self._folder()
        unlisted: list[str] = []
        names = names_in(folder, lambda path, error: unlisted.append(f"{path}: {error.strerror or error}"))
        for name in [one for one in names if _MAPPING.fullmatch(one)][:_FILES]:
            try:
                reason = "" if isinstance(json.loads(read_small(folder / name, limit=_LIMIT)), str) else "no text"
            except OSError as error:
                reason = error.strerror or str(error)
            except (ValueError, RecursionError):
                reason = "no JSON"
            if reason:
                lanes = "so a person may have a lane under each of two names"
                unlisted.append(f"{folder / name} cannot be used ({reason}), {lanes}; repair it or move it away")
        yield from unlisted
