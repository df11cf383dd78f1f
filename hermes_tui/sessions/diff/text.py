"""A comparison as text: changes with their words marked, equal runs counted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from hermes_tui.display import compact, count, counted, priced, safe
from hermes_tui.sessions.calls.arguments import target
from hermes_tui.sessions.calls.outcome import output_text
from hermes_tui.sessions.diff.model import DiffOperation, SessionDiff, Side
from hermes_tui.sessions.diff.wording import wording
from session_adapters.model import Message

__all__ = ["compared_texts", "diff_lines", "note_of", "side_facts"]

_MOST_LINES = 40
"""Lines of one message; the rest is counted."""
_MARKS = {"removal": "-", "addition": "+", "modification": "~", "unchanged": "="}


def diff_lines(diff: SessionDiff) -> Iterator[str]:
    """Lines without their newline, safe for a terminal."""
    yield f"--- {_head(diff.a)}"
    yield f"+++ {_head(diff.b)}"
    for equal, group in groupby(diff.operations, key=lambda one: one.type == "unchanged" and not one.other_calls):
        if equal:
            yield f"= {counted(len(list(group)), 'message')} equal"
        else:
            for operation in group:
                yield from _operation(operation)
    stats = diff.stats
    others = f" ({diff.other_calls} with other calls or results)" if diff.other_calls else ""
    yield ""
    yield (
        f"{stats.modifications} changed, {stats.removals} removed, {stats.additions} added, "
        f"{stats.unchanged} unchanged{others}"
    )
    if diff.tools:
        both = sum(use.in_a and use.in_b for use in diff.tools)
        yield ""
        yield f"tool calls: {both} in both"
        for use in diff.tools:
            if not (use.in_a and use.in_b):
                yield f"  {'-' if use.in_a else '+'} {compact(use.name, 40)}  {compact(use.target, 200)}".rstrip()
    if diff.files:
        yield ""
        yield "files: A, B"
        for file in diff.files:
            yield f"  {file.a or '—':6}  {file.b or '—':6}  {safe(file.path)}"


def _head(side: Side) -> str:
    return " · ".join((safe(side.unified_id), compact(side.title, 80) or "untitled", *side_facts(side).values()))


def side_facts(side: Side) -> dict[str, str]:
    """Messages, tool calls, model, tokens, cost, outcome and damage of one session, a few words each; by name, and
    without what is not known."""
    tokens, facts = side.tokens, {"messages": counted(side.message_count, "message")}
    facts["calls"] = counted(side.tool_call_count, "call")
    if side.model:
        facts["model"] = safe(side.model)
    if tokens is not None and tokens.total:
        facts["tokens"] = f"{count(tokens.total - tokens.output_tokens)} in {count(tokens.output_tokens)} out"
    if side.cost is not None:
        facts["cost"] = priced(side.cost)
    if side.error:
        facts["outcome"] = "ended in an error"
    if side.warnings:
        facts["damage"] = f"{counted(side.warnings, 'record')} not readable"
    return facts


def _operation(operation: DiffOperation) -> Iterator[str]:
    one, other = operation.message_a, operation.message_b
    number = operation.index_a if operation.index_a is not None else operation.index_b
    message = one or other
    if message is None or number is None:
        return
    place = f"{number + 1}"
    if one is not None and other is not None and operation.index_b is not None:
        place += f" → {operation.index_b + 1}"
    mark = "~" if operation.other_calls else _MARKS[operation.type]
    note = f" ({note_of(operation)})" if operation.other_calls else ""
    yield f"{mark} {place}  {message.role}{note}"
    a, b = compared_texts(operation)
    if operation.other_calls:
        # What was said is the same: only what was done is told.
        a, b = "\n".join(_acts(one)) if one else None, "\n".join(_acts(other)) if other else None
        yield from _indented(a or "", "-")
        yield from _indented(b or "", "+")
    elif a is None or b is None:
        yield from _indented(a or b or "", mark)
    else:
        around = {" ": "{}", "-": "[-{}-]", "+": "{{+{}+}}"}
        yield from _indented("".join(around[span.mark].format(span.text) for span in wording(a, b)), " ")


def note_of(operation: DiffOperation) -> str:
    """What is different where `other_calls` says that the words are not."""
    message = operation.message_a
    if message is not None and message.role == "tool":
        return "another result"
    return "same words, other tool calls" if message is not None and message.content else "other tool calls"


def compared_texts(operation: DiffOperation) -> tuple[str | None, str | None]:
    """What stands side by side: what each message says; where it says nothing, or says the same as the other and does
    something else, also what it does. None for one that is not there."""
    texts: list[str | None] = []
    for one in (operation.message_a, operation.message_b):
        if one is None:
            texts.append(None)
        elif one.content and not operation.other_calls:
            texts.append(one.content)
        else:
            texts.append("\n".join((*([one.content] if one.content else []), *_acts(one))))
    a, b = texts
    return a, b


def _acts(message: Message) -> Iterator[str]:
    """A line for each tool call and for a result."""
    for call in message.tool_calls:
        yield f"[{call.tool_name}] {target(call)}" + (" (failed)" if call.is_error else "")
    if message.tool_result is not None:
        result = message.tool_result
        yield f"[result of {result.tool_name or result.tool_call_id}] {compact(output_text(result.output), 200)}"


def _indented(text: str, mark: str) -> Iterator[str]:
    lines = safe(text, keep_newlines=True).split("\n")
    for line in lines[:_MOST_LINES]:
        yield f"  {mark} {line}".rstrip()
    if len(lines) > _MOST_LINES:
        yield f"  {mark} … {counted(len(lines) - _MOST_LINES, 'more line')}"
