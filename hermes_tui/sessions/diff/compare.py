"""Compares two sessions, message by message (spec 004 §6.6; checklist D-*)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hermes_tui.sessions.diff import align
from hermes_tui.sessions.diff.model import Change, DiffOperation, DiffStats, SessionDiff, Side
from hermes_tui.sessions.diff.uses import compared_calls, compared_files
from session_adapters.model import Message, Session

__all__ = ["diff"]


def diff(a: Session, b: Session) -> SessionDiff:
    """How `b` differs from `a`: messages are the same where role and content are. Raises `ValidationError` for two
    sessions so long and so repetitive that the comparison cannot be made."""
    operations = tuple(_operations(a.messages, b.messages))
    counted = Counter(operation.type for operation in operations)
    return SessionDiff(
        a=_side(a),
        b=_side(b),
        operations=operations,
        stats=DiffStats(
            removals=counted["removal"],
            additions=counted["addition"],
            modifications=counted["modification"],
            unchanged=counted["unchanged"],
        ),
        tools=tuple(compared_calls(a, b)),
        files=tuple(compared_files(a, b)),
    )


def _operations(a: tuple[Message, ...], b: tuple[Message, ...]) -> Iterator[DiffOperation]:
    # Calls and results are no part of what makes two messages the same: `other_calls` tells of them.
    keys_a = [(message.role, message.content) for message in a]
    keys_b = [(message.role, message.content) for message in b]
    roles_a, roles_b = [message.role for message in a], [message.role for message in b]
    for step in align.align(keys_a, keys_b, roles_a, roles_b):
        one = a[step.a] if step.a is not None else None
        other = b[step.b] if step.b is not None else None
        kind: Change = "modification"
        if one is None:
            kind = "addition"
        elif other is None:
            kind = "removal"
        elif step.equal:
            kind = "unchanged"
        yield DiffOperation(
            type=kind,
            index_a=step.a,
            index_b=step.b,
            message_a=one,
            message_b=other,
            other_calls=step.equal and one is not None and other is not None and _acts(one) != _acts(other),
        )


def _acts(message: Message) -> list[tuple[object, ...]]:
    """What a message does besides what it says, without ids: those differ always."""
    acts: list[tuple[object, ...]] = [
        (call.tool_name, call.input, call.output, call.is_error) for call in message.tool_calls
    ]
    if message.tool_result is not None:
        acts.append((message.tool_result.output, message.tool_result.is_error))
    return acts


def _side(session: Session) -> Side:
    times = [message.timestamp for message in session.messages if message.timestamp is not None]
    return Side(
        agent=session.agent,
        session_id=session.session_id,
        unified_id=session.unified_id,
        title=session.title,
        message_count=len(session.messages),
        turn_count=session.turn_count,
        tool_call_count=sum(len(message.tool_calls) for message in session.messages),
        model=session.model,
        tokens=session.tokens,
        cost=session.cost,
        error=session.error,
        seconds=(max(times) - min(times)).total_seconds() if times else None,
        warnings=session.warnings,
    )
