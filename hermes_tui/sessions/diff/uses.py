"""Compares what two sessions did: their tool calls, and the files they named."""

from __future__ import annotations

from collections.abc import Iterator

from hermes_tui.sessions.calls.arguments import target
from hermes_tui.sessions.calls.files import files_touched, relative_path
from hermes_tui.sessions.diff.align import common
from hermes_tui.sessions.diff.model import FileUse, ToolUse
from session_adapters.model import Session

__all__ = ["compared_calls", "compared_files"]


def compared_calls(a: Session, b: Session) -> Iterator[ToolUse]:
    """The calls of both, in order; those with the same name and target in the same order stand for both."""
    left, right = list(_calls(a)), list(_calls(b))
    done_a = done_b = 0
    for i, j in (*common(left, right), (len(left), len(right))):
        yield from (ToolUse(name=name, target=about, in_a=True, in_b=False) for name, about in left[done_a:i])
        yield from (ToolUse(name=name, target=about, in_a=False, in_b=True) for name, about in right[done_b:j])
        if i < len(left):
            yield ToolUse(name=left[i][0], target=left[i][1], in_a=True, in_b=True)
        done_a, done_b = i + 1, j + 1


def _calls(session: Session) -> Iterator[tuple[str, str]]:
    for message in session.messages:
        for call in message.tool_calls:
            yield call.tool_name, relative_path(target(call), session.cwd)


def compared_files(a: Session, b: Session) -> Iterator[FileUse]:
    """Every file that a call of either named, by path."""
    left, right = (
        files_touched((call for message in one.messages for call in message.tool_calls), one.cwd) for one in (a, b)
    )
    for path in sorted({**left, **right}):
        yield FileUse(path=path, a=left.get(path), b=right.get(path))
