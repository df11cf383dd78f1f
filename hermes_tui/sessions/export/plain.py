"""Removes from exported text what acts on a terminal or deceives the reader.

The screen is stricter (`hermes_tui.display.safe`): it also takes out what terminals disagree about. A document keeps
that: tabs, joiners (without them families and flags fall apart), soft hyphens, variation selectors.
"""

from __future__ import annotations

import re

__all__ = ["line", "plain"]

_COLOUR = re.compile("(?:\x1b\\[|\x9b)[0-9;:]*m")
_NEWLINE = re.compile("\r\n|[\r\x85\u2028\u2029]")
_FLAG = re.compile("(?<=\U0001f3f4)[\U000e0020-\U000e007e]{1,8}\U000e007f")
_DANGEROUS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters; 0x9b alone begins a sequence
    "\u202a-\u202e\u2066-\u206f"  # what turns the direction of text, so that it reads as something else
    "\ufff9-\ufffb"  # interlinear annotation
    "\ud800-\udfff"
    "\U000e0000-\U000e007f]"  # tags: whole sentences that nobody sees, but a model reads
)


def plain(text: str) -> str:
    """`text` with line ends as `\\n` and without terminal colours; any other control character as a picture of itself
    (`␛`), what cannot be seen and deceives by its code (`[U+202E]`), a lone surrogate as U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text or "\x9b" in text:
        text = _COLOUR.sub("", text)
    text = _NEWLINE.sub("\n", text)
    if "\U000e007f" not in text:
        return _DANGEROUS.sub(_shown, text)
    # The flags of England, Scotland and Wales are spelled with tags.
    parts: list[str] = []
    at = 0
    for flag in _FLAG.finditer(text):
        parts += [_DANGEROUS.sub(_shown, text[at : flag.start()]), flag[0]]
        at = flag.end()
    return "".join((*parts, _DANGEROUS.sub(_shown, text[at:])))


def line(text: str) -> str:
    """`plain`, on one line."""
    return plain(text).replace("\n", " ").replace("\t", " ")


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if 0xD800 <= code < 0xE000 else f"[U+{code:04X}]"
