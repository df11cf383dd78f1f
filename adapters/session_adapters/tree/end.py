"""The end of a conversation that is a tree, for looking at where it stands."""

from __future__ import annotations

from collections.abc import Sequence

from session_adapters.tree.file import TreeFile, TreeStore
from session_adapters.tree.transcript import TreeTranscript

__all__ = ["END", "PAGE_END", "TreeEnd", "tells_step"]

END = 64 << 10
"""Bytes of which it is told what hangs on what."""
PAGE_END = 8 << 10
"""Bytes that are read, and more up to where a turn starts."""


class TreeEnd(TreeTranscript):
    """What the last lines of a file tell. Not to be followed."""

    def new_store(self, paths: Sequence[str]) -> TreeStore:
        """See `TreeTranscript.new_store`."""
        return TreeFile(paths, END)


def tells_step(opened: TreeTranscript) -> bool:
    """Whether all of the session would tell nothing else of where it stands than what was read of it."""
    file = opened.file
    return not file.is_end or not (file.led_away or file.shapes or opened.activity.since is None)
