"""Keeps answers below a number of bytes, the first result included.

An answer is JSON of texts out of transcripts. What is cut is said, with how to read on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import json

from hermes_tui.display import safe
from hermes_tui.errors import ValidationError
from session_adapters.text import cut

__all__ = ["DEFAULT_BYTES", "MOST_BYTES", "cleaned", "encoded", "longest_fit", "pages", "shortened"]

DEFAULT_BYTES, MOST_BYTES = 6_000, 24_000
"""Of an answer: where the caller says nothing, and at most."""
LEAST_BYTES = 1_000
_LONGEST_NAME = 300
"""Characters of an id that can be handed on; a store that has longer ones is damaged, or hostile."""

Answer = dict[str, Any]


def encoded(answer: Answer) -> bytes:
    """The answer as it is sent."""
    return json.encode(answer)


def cleaned(value: Any, longest: int = 2 * MOST_BYTES) -> Any:
    """A value for an answer: texts without control characters and what deceives the eye, cut to `longest` characters,
    for nothing longer fits; names that are too long to be handed on left out; empty things left out of objects."""
    if isinstance(value, str):
        return safe(value[:longest], keep_newlines=True)
    if isinstance(value, dict):
        # A tool's name is a key, and comes from a session.
        kept = {
            safe(key[:_LONGEST_NAME]): cleaned(one, longest)
            for key, one in value.items()
            if not (key.endswith("id") and isinstance(one, str) and len(one) > _LONGEST_NAME)
        }
        return {key: one for key, one in kept.items() if one not in ("", None, [], {})}
    if isinstance(value, list | tuple):
        return [cleaned(one, longest) for one in value]
    return value


def shortened(text: str, length: int, more: int = 0) -> str:
    """The beginning of a text, and how much is left out: `more` are so already."""
    if len(text) <= length and not more:
        return text
    kept = cut(text, length) if length else ""
    return f"{kept}… [+{len(text) - len(kept) + more} characters]" if kept else f"[{len(text) + more} characters]"


def longest_fit(makers: Sequence[Callable[[int], Answer]], budget: int, longest: int, least: int) -> Answer:
    """The first answer that is no larger than `budget` bytes: of those that a maker gives for a length of texts the
    one with the longest, between `least` and `longest`; the makers give ever less, and say `cut` where texts are not
    whole. Raises `ValidationError`."""
    if not LEAST_BYTES <= budget <= MOST_BYTES:
        raise ValidationError(f"max_bytes must be from {LEAST_BYTES} to {MOST_BYTES}")
    for number, make in enumerate(makers):
        low = least if number + 1 < len(makers) else 0
        if (size := len(encoded(best := make(low)))) > budget:
            continue
        guess = min(longest, budget)
        high, over, tried = guess + 1, 0, 0
        while high - low > 1 and "cut" in best:  # else nothing of it would be longer
            answer = make(guess)
            if (found := len(encoded(answer))) <= budget:
                low, size, best = guess, found, answer
            else:
                high, over = guess, found
            # By proportion, which is nearly right: a step of three halves what is left, should it not be.
            tried += 1
            part = 0.5 if tried % 3 == 0 or not over else (budget - size) / (over - size)
            guess = min(max(low + round((high - low) * part), low + 1), high - 1)
        return best
    return {
        "cut": f"nothing of the answer fits into {budget} bytes: ask for fewer results, or give a larger max_bytes"
    }


def pages(text: str, size: int) -> Iterable[str]:
    """A text in pages of at most `size` bytes, which end at the end of a line where there is one."""
    data = text.encode("utf-8", "replace")
    at = 0
    while at < len(data):
        end = min(len(data), at + size)
        if end < len(data):
            newline = data.rfind(b"\n", at + size // 2, end)
            end = newline + 1 if newline >= 0 else end
            while data[end] & 0xC0 == 0x80:  # not inside a character
                end -= 1
        yield data[at:end].decode()
        at = end
