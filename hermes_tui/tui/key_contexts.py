"""Where keys work: the names of these places, and which lie inside others."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CONTEXTS", "INSIDE"]

CONTEXTS: Mapping[str, str] = {
    "app": "Everywhere",
    "main": "Main screen",
    "list": "Session list",
    "search": "Search box",
    "transcript": "Transcript",
    "jump": "Transcript, behind ] and [",
    "find": "Finding in a session",
    "page": "Help and problems",
    "diff": "Comparison",
    "edits": "Edits",
    "memory": "Memory of a session of Hector's",
    "menu": "Menus",
    "searches": "Recent and saved searches",
    "copying": "Copying",
    "export": "Export",
    "save": "Saving an image",
    "marks": "Own marks",
    "rename": "Renaming a session of Hermes",
    "cost": "Costs",
    "attention": "Attention",
    "lanes": "Lanes",
    "lanefilter": "Filtering lanes",
    "operations": "Lanes, to change one",
    "plan": "Plan of a change",
    "start": "Resuming and forking",
    "picker": "Choosing a session",
    "lane": "A lane's conversation",
}
"""Where keys work → the name people see. Keys of `app` work in every other context too, those of `main` in
`list`, `search` and `transcript`."""

INSIDE: Mapping[str, tuple[str, ...]] = {
    "list": ("main", "app"),
    "search": ("app",),
    "transcript": ("main", "app"),
    "find": ("app",),
    "page": ("app",),
    "diff": ("app",),
    "edits": ("app",),
    "memory": ("page", "app"),
    "searches": ("menu",),
    "copying": ("menu",),
    "cost": ("app",),
    "attention": ("app",),
    "lanes": ("operations", "app"),
    "lanefilter": ("app",),
    "plan": ("page",),
    "start": ("page",),
    "lane": ("transcript", "app"),
}
"""Innermost contexts → those whose keys work in them as well."""
