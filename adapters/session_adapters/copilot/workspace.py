"""`workspace.yaml` beside a session: its name, directory and branch (FACTS.md, «Paths»).

Its lines are nearly always `key: value` in plain style and read as they stand, since a YAML parser takes fifty times
as long; anything else in it (quotes, folded text) is left to PyYAML.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from session_adapters.files import read_small
from session_adapters.text import scrub

__all__ = ["Workspace", "read_workspace"]

_LIMIT = 256 << 10
_PLAIN = re.compile(r"([a-z_]+):(?: ([^\s'\"|>&*!%@`{\[#,?-][^\n]*))?")
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
    values = _plain(text)
    reason = ""
    if values is None:
        values, reason = _parsed(text)
    texts = {key: scrub(value) for key, value in values.items() if key in Workspace._fields and key != "user_named"}
    return Workspace(**texts, user_named=values.get("user_named", "").lower() == "true"), reason


def _plain(text: str) -> dict[str, str] | None:
    """The entries of a simple file; None when it is not that simple."""
    values: dict[str, str] = {}
    for line in text.split("\n"):
        if not line:
            continue
        match = _PLAIN.fullmatch(line)
        value = (match[2] or "").rstrip() if match else ""
        if match is None or _SPECIAL.search(value) or not value.isprintable():
            return None
        values[match[1]] = "" if value in ("null", "~") else value
    return values


def _parsed(text: str) -> tuple[dict[str, str], str]:
    import yaml

    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        return {}, f"is not YAML: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    if not isinstance(found, dict):
        return {}, "is not a list of entries" if text.strip("\x00 \n") else ""
    known = {str(key): value for key, value in found.items() if isinstance(key, str)}
    return {key: _text(value) for key, value in known.items()}, ""


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | bool | int | float) else ""
