"""Keeps equal values once: agents, directories, models, branches, times.

A third of what a long list takes in memory would be such repetitions. The values stay equal, so nothing else changes.
"""

from __future__ import annotations

from functools import lru_cache
from sys import intern

from msgspec.structs import force_setattr

from hermes_tui.sessions.catalogue.cache import CachedSource

__all__ = ["share_strings"]

_OF_SUMMARY = ("agent", "cwd", "model", "git_branch", "source", "profile", "end_reason", "status")
_OF_SOURCE = ("agent", "root", "layout", "profile")
_SHORT = 20
"""Characters of a fact without a field that others may have too: versions and kinds, not ids and times."""


def share_strings(entry: CachedSource, before: CachedSource | None = None) -> None:
    """Let the source and the summaries of `entry` hold one copy of each string that others have too; what it has of
    the one `before` does so already."""
    source, shared = entry.source, {id(one) for one in before.summaries} if before is not None else ()
    for name in _OF_SOURCE:
        value = getattr(source, name)
        if value:
            force_setattr(source, name, intern(value))
    for pack in entry.calls or ():
        if pack.session_id == source.session_id:
            force_setattr(pack, "session_id", source.session_id)
        if pack.model:
            force_setattr(pack, "model", intern(pack.model))
    for summary in entry.summaries:
        if id(summary) in shared:
            continue
        for name in _OF_SUMMARY:
            value = getattr(summary, name)
            if value:
                force_setattr(summary, name, intern(value))
        if summary.models:
            force_setattr(summary, "models", _shared(summary.models)[0])
        if summary.path == source.path:
            force_setattr(summary, "path", source.path)
        if summary.session_id == source.session_id:
            force_setattr(summary, "session_id", source.session_id)
        if summary.preview == summary.title:
            force_setattr(summary, "preview", summary.title)
        if summary.updated_at == summary.created_at:
            force_setattr(summary, "updated_at", summary.created_at)
        for name, value in summary.raw.items():
            if type(value) is str:
                if value == summary.title:
                    summary.raw[name] = summary.title
                elif len(value) < _SHORT:
                    summary.raw[name] = intern(value)
            elif type(value) is list and all(type(one) is str for one in value):  # directories, branches
                summary.raw[name] = _shared(tuple(value))[1]


@lru_cache(maxsize=4096)
def _shared(values: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """These values, as those have them who asked for them before. Nobody changes what a summary holds."""
    values = tuple(map(intern, values))
    return values, list(values)
