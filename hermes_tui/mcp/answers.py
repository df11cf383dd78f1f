"""Makes answers of what was found, as large as their budgets allow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from hermes_tui.mcp.budget import MOST_BYTES, cleaned, longest_fit, shortened
from hermes_tui.sessions.search.model import BrowsedSessions, DiscoveredSessions, ScrolledMessages
from hermes_tui.sessions.search.session_search import LEAST, SHAPES

__all__ = ["browsed", "discovered", "listed", "looked", "scrolled"]

Answer = dict[str, Any]

_LONGEST = 8_000
"""Characters of one text."""
_MOST_CALLS = 6
_LABELS = ("title", "preview", "cwd", "model", "source", "tool_name", "tool")
_TEXTS = ("snippet", "goal", "outcome", "last_prompt", "last_error", "text")
_CUT = frozenset(_LABELS + _TEXTS)
_LABEL = 200
_MORE = "max_bytes up to 24000 gives more"


class _Texts:
    """Cuts texts, and knows whether any was cut."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.cut = False

    def of(self, text: str, length: int | None = None, more: int = 0) -> str:
        """The beginning of a text."""
        length = self.length if length is None else length
        if len(text) <= length and not more:
            return text
        found = shortened(text, length, more)
        self.cut = self.cut or found != text
        return found

    def record(self, one: Answer) -> Answer:
        """An object with its texts cut, ids and dates aside."""
        found = dict(one)
        for key in one.keys() & _CUT:
            value = one[key]
            if isinstance(value, str):
                found[key] = self.of(value, min(_LABEL, max(40, self.length)) if key in _LABELS else None)
        return found

    def message(self, one: Answer) -> Answer:
        """A message with its texts cut; of the anchor twice as much is kept."""
        found = self.record(one)
        length = self.length * (2 if one.get("anchor") else 1)
        if "content" in one:
            found["content"] = self.of(one["content"], length, found.pop("left_out", 0))
        calls = one.get("tool_calls", ())
        if calls:
            kept = [self.of(call, length // 2) for call in calls[:_MOST_CALLS]]
            self.cut = self.cut or len(calls) > len(kept)
            found["tool_calls"] = kept + [f"+{len(calls) - len(kept)} calls"] * (len(calls) > len(kept))
        return found


def _whole(found: Any, offset: int = 0) -> Any:
    """What an answer is made of; of texts, also what follows `offset`."""
    return cleaned(_with_short_times(msgspec.to_builtins(found)), 4 * MOST_BYTES + 2 * offset)


def _with_short_times(value: Any) -> Any:
    """Times to the second."""
    if isinstance(value, dict):
        return {
            key: f"{one[:19]}Z"
            if key in ("timestamp", "when", "started_at", "last_active", "since") and isinstance(one, str)
            else _with_short_times(one)
            for key, one in value.items()
        }
    return [_with_short_times(one) for one in value] if isinstance(value, list | tuple) else value


def _anchor(messages: Sequence[Answer]) -> int:
    return next((index for index, one in enumerate(messages) if one.get("anchor")), 0)


def _around(messages: Sequence[Answer], size: int) -> tuple[Sequence[Answer], int, int]:
    """Those around the anchor, and how many are before and after it."""
    at = _anchor(messages)
    kept = messages[max(0, at - size) : at + size + 1]
    return kept, min(at, size), max(0, min(len(messages) - at - 1, size))


def discovered(found: DiscoveredSessions, said: Answer, budget: int) -> Answer:
    """Discovery."""
    whole = _whole(found)
    # One whose id is too long to be handed on has lost it: nobody could ask for more of it.
    results = [one for one in whole.get("results", ()) if "session_id" in one]
    in_order = f"{found.ranked} of {found.total} ordered by relevance, the others by date"

    def make(size: int, ends: int, number: int, length: int) -> Answer:
        texts = _Texts(length)
        shown = []
        for one in results[:number]:
            messages, before, after = _around(one.get("messages", ()), size)
            start, end = one.get("bookend_start", ()), one.get("bookend_end", ())
            texts.cut |= (before, after) != (one.get("messages_before", 0), one.get("messages_after", 0))
            texts.cut |= len(start) > ends or len(end) > ends
            shown.append(
                {
                    **texts.record(one),
                    "bookend_start": [texts.message(each) for each in start[:ends]],
                    "messages": [texts.message(each) for each in messages],
                    "bookend_end": [texts.message(each) for each in end[len(end) - ends :] if ends],
                    "messages_before": before,
                    "messages_after": after,
                }
            )
        how = (
            f"{number} of {len(results)} results, {size} messages on each side, texts of {length} characters:"
            f" session_search(session_id, around_message_id) reads on; {_MORE}"
        )
        return _answer(
            "discovery",
            said,
            {
                "results": shown,
                "total": found.total,
                "more": "only the newest were looked for: narrow it to find older ones" if found.more else None,
                "ranked": in_order if found.ranked < found.total else None,
                "coverage": found.coverage,
                "unreadable": len(found.problems) or None,
                "message": None if found.total else "nothing found: fewer or other words, a beginning*, or no filter",
            },
            how if texts.cut or number < len(results) else "",
        )

    # Ever fewer messages of all results, and then ever fewer results.
    most = len(results)
    makers = [partial(make, size, ends, most) for size, ends in SHAPES]
    makers += [partial(make, 0, 0, number) for number in range(most - 1, 0, -1)]
    return longest_fit(makers, budget, _LONGEST, LEAST)


def scrolled(found: ScrolledMessages, said: Answer, budget: int, offset: int) -> Answer:
    """Scroll. The text of the anchor begins at `offset`."""
    whole = _whole(found, offset)
    every = [one for one in whole.pop("messages", ()) if "id" in one]
    for one in every:
        if offset and one.get("anchor"):
            one["content"] = one.get("content", "")[offset:]
            one["offset"] = offset

    def make(size: int, length: int) -> Answer:
        texts = _Texts(length)
        messages, before, after = _around(every, size)
        shown = [texts.message(one) for one in messages]
        fields = {**texts.record(whole), "window": size, "messages": shown}
        cut = (
            f"{size} messages on each side, texts of {length} characters: messages[-1].id goes on, offset with"
            f" window=0 in a long text; {_MORE}"
        )
        fields |= {"messages_before": before, "messages_after": after}
        return _answer("scroll", said, fields, cut if texts.cut or size < found.window else "")

    at = _anchor(every)
    held = max(at, len(every) - at - 1)
    all_held = (at, len(every) - at - 1) == (found.messages_before, found.messages_after)
    sizes = [found.window if all_held else held]
    while sizes[-1] > 1:  # with one on each side an agent still gets on
        sizes.append(sizes[-1] * 2 // 3)
    return longest_fit([partial(make, size) for size in sizes], budget, 4 * _LONGEST, LEAST)


def browsed(found: BrowsedSessions, said: Answer, budget: int) -> Answer:
    """Browse."""
    results = [one for one in _whole(found).get("results", ()) if "session_id" in one]
    return _rows("browse", "results", results, said, budget)


def listed(rows: Sequence[Answer], said: Answer, budget: int) -> Answer:
    """What runs now."""
    return _rows("", "sessions", _whole(rows), said, budget)


def _rows(shape: str, name: str, rows: Sequence[Answer], said: Answer, budget: int) -> Answer:
    def make(number: int, length: int) -> Answer:
        texts = _Texts(length)
        shown = [texts.record(one) for one in rows[:number]]
        less = f"{number} of {len(rows)}, texts of {length} characters; {_MORE}"
        return _answer(shape, said, {name: shown}, less if texts.cut or number < len(rows) else "")

    return longest_fit([partial(make, number) for number in range(len(rows), -1, -1)], budget, _LABEL, 60)


def looked(facts: Answer, said: Answer, budget: int) -> Answer:
    """An overview."""
    whole: Answer = _whole(facts)
    lists = ("files_changed", "files_read", "commands")

    def make(number: int, length: int) -> Answer:
        texts = _Texts(length)
        fields = texts.record(whole)
        for name in lists:
            if name in whole:
                fields[name] = [texts.of(one, min(length, _LABEL)) for one in whole[name][-number:] if number]
                texts.cut |= len(fields[name]) < len(whole[name])
        less = f"the last {number} files and commands, texts of {length} characters; {_MORE}"
        return _answer("", said, fields, less if texts.cut else "")

    return longest_fit([partial(make, number) for number in (40, 25, 15, 8, 4, 0)], budget, _LONGEST, LEAST)


def _answer(shape: str, said: Answer, fields: Answer, cut: str) -> Answer:
    """The whole answer, what is empty left out but for lists and counts that are asked for."""
    every = {"shape": shape, **said, **fields, "cut": cut}
    return {key: value for key, value in every.items() if value not in (None, "")}
