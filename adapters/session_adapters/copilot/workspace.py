"""`workspace.yaml` beside a session: its name, directory and branch.

Format: FACTS.md, «Paths».

Its entries are nearly always `key: value` in plain style and read as they stand, since a YAML parser takes fifty
times as long; one with anything else in it (quotes, folded text) is left to PyYAML, by itself.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from session_adapters.reading.files import read_small
from session_adapters.reading.yaml_settings import read_yaml
from session_adapters.text import scrub

__all__ = ["Workspace", "read_workspace"]

_LIMIT = 256 << 10
_ENTRY = re.compile(r"([A-Za-z_]+):([^\n]*(?:\n(?:[ \t][^\n]*|(?=\n)))*)(?:\n|\Z)")
"""A key at the margin, and all lines below that are indented or blank."""
_OTHER = re.compile(r"(?:#[^\n]*|---[ \t]*|\.\.\.[ \t]*|[ \t]*)(?:\n|\Z)")
_PLAIN = re.compile(r" ([^\s'\"|>&*!%@`{\[#,?-][^\n]*)")
_SPECIAL = re.compile(r": | #|:$")


class Workspace(NamedTuple):
    """The entries that are used; empty where there is none."""

    name: str = ""
    user_named: bool = False
    cwd: str = ""
    branch: str = ""
    repository: str = ""
    client_name: str = ""


def read_workspace(path: str) -> tuple[Workspace, str]:
    """The file, and why it cannot be read; neither where there is none."""
    try:
        data = read_small(path, _LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        return Workspace(), ""
    except OSError as error:
        return Workspace(), f"cannot be read: {error.strerror or error}"
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").lstrip("\ufeff")
    values: dict[str, str] = {}
    reason = ""
    at = 0
    while at < len(text):
        entry = _ENTRY.match(text, at)
        match = entry or _OTHER.match(text, at)
        if entry is not None and entry[1] in Workspace._fields:
            try:
                values[entry[1]] = _value(entry[2].rstrip("\n"))
            except ValueError as error:
                reason = reason or f"the entry {entry[1]} cannot be read: {error}"
        elif match is None and not reason:
            reason = f"line {text.count(chr(10), 0, at) + 1} is no entry"
        at = match.end() if match is not None else (text.find("\n", at) + 1 or len(text))
    texts = {key: scrub(value) for key, value in values.items() if key != "user_named"}
    return Workspace(**texts, user_named=values.get("user_named", "").lower() == "true"), reason


def _value(text: str) -> str:
    """The value of one entry. Raises `ValueError`."""
    match = _PLAIN.fullmatch(text)
    if match is not None and not _SPECIAL.search(match[1]) and match[1].isprintable():
        value = match[1].rstrip()
        return "" if value in ("null", "~") else value  # YAML's words for nothing
    begin = text.lstrip()[:1]
    if not begin:
        return ""
    if begin in "[{&*!":  # a collection, an anchor, an alias, a tag
        raise ValueError("it is no text")
    found = read_yaml(f"value:{text}\n")
    given = found.get("value") if isinstance(found, dict) else None
    return str(given) if isinstance(given, str | bool | int | float) else ""
