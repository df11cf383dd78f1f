"""Makes a store's text safe for a terminal, and figures short for columns.

Every byte of a transcript is untrusted (law 5). After `safe` nothing is left that a terminal acts on: colours
are taken out, other control characters are shown as a picture of themselves, what is invisible and changes how the
rest is read (bidi overrides, zero-width characters, tags) is replaced or taken out.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from session_adapters.model import EPOCH, Attachment, Cost

__all__ = [
    "APART",
    "PIN",
    "age",
    "attachment_facts",
    "compact",
    "count",
    "count_lines",
    "counted",
    "dollars",
    "duration",
    "money",
    "priced",
    "safe",
    "size",
    "until",
    "with_tilde",
]

APART = {"rewound": "taken back", "compacted": "compacted", "branch": "on another branch"}
"""`Message.visibility` of what does not stand in the conversation as the agent has it → what is said of it."""

PIN = "★"
"""Stands before the title of a session that the user pinned."""

_COLOUR = re.compile("(?:\x1b\\[|\x9b)[0-9;:]*m")
_NEWLINE = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_TOO_MANY_MARKS = re.compile(
    "([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]{3})"
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]+"
)

_REPLACED = "\ufffd"
_MOST = 10**18
"""What is more is shown as this: a file may name a number of any length."""


_INVISIBLE = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u3164\ufeff\uffa0"
    "\u180b-\u180f"
    "\u200b-\u200f"  # zero width, joiners, direction marks
    "\u2060-\u2065"
    "\ufe00-\ufe0f"  # variation selectors: terminals disagree on the width of what they change
    "\U00013430-\U00013455"
    "\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"  # tags and more selectors: text that people cannot see
)
"""Taken out."""
_DECEPTIVE = (
    "\x80-\x9f"  # C1: 0x9b alone begins a sequence
    "\u202a-\u202e\u2066-\u206f"  # bidi
    "\ud800-\udfff"
    "\ufff9-\ufffb"  # interlinear annotation
)
"""Replaced."""
_UNSAFE = re.compile(f"([{_INVISIBLE}]+)|[{_DECEPTIVE}]|[\x00-\x1f\x7f]")
_UNSAFE_IN_LINES = re.compile(f"([{_INVISIBLE}]+)|[{_DECEPTIVE}]|[\x00-\x09\x0b-\x1f\x7f]")


_PICTURES = {**{code: chr(0x2400 + code) for code in range(0x20)}, 0x7F: "\u2421"}
_PICTURES_IN_LINES = {**_PICTURES, 0x0A: "\n"}
"""For ASCII, which goes faster by table."""


def _made_safe(found: re.Match[str]) -> str:
    return "" if found[1] is not None else _PICTURES.get(ord(found[0]), _REPLACED)


def safe(text: str, *, keep_newlines: bool = False) -> str:
    """`text` without anything that a terminal would act on or that deceives the eye.

    Line ends of every kind become a space, or with `keep_newlines` a newline; tabs become spaces. Not Rich markup:
    give the result to `Text` or `Content`, never to `from_markup`.
    """
    if text.isprintable() and text.isascii():
        return text
    if "\x1b" in text or "\x9b" in text:
        text = _COLOUR.sub("", text)
    if keep_newlines:
        text = _NEWLINE.sub("\n", text).expandtabs(8)
        if text.isascii():
            return text.translate(_PICTURES_IN_LINES)
        text = _UNSAFE_IN_LINES.sub(_made_safe, text)
    else:
        text = _NEWLINE.sub(" ", text).replace("\t", " ")
        if text.isascii():
            return text.translate(_PICTURES)
        text = _UNSAFE.sub(_made_safe, text)
    return _TOO_MANY_MARKS.sub(r"\1", text)


def count_lines(text: str) -> int:
    """Lines of `text`; a newline at its end starts no further one."""
    if not text:
        return 0
    return text.count("\n") + (not text.endswith("\n"))


def compact(text: str, length: int = 400) -> str:
    """The beginning of `text` on one safe line, white space collapsed."""
    # Four times as much, for the white space and the colours that go; all of it may be megabytes.
    return safe(" ".join(text[: length * 4].split()))[:length]


# Figures ---------------------------------------------------------------------------------------------------------


def with_tilde(text: str, home: str | None) -> str:
    """The text with that home written `~` wherever a path begins with it; as it is where the home is None or `/`."""
    if home is None or not (home := home.rstrip("/")):
        return text
    return re.sub(rf"(?<![\w./~-]){re.escape(home)}(?![\w-]|\.\w)", "~", text)


def age(moment: datetime | None, now: datetime) -> str:
    """How long ago, in three characters: ` 3m`, `12h`, `99d`, `14w`, ` 2y`; `now` under a minute, `  —` unknown."""
    if moment is None or moment <= EPOCH:
        return "  —"
    minutes = int((now - moment).total_seconds() // 60)
    if minutes < 1:
        return "now"
    days = minutes // 1440
    if minutes < 60:
        return f"{minutes:2}m"
    if days < 1:
        return f"{minutes // 60:2}h"
    if days < 100:
        return f"{days:2}d"
    return f"{days // 7:2}w" if days < 700 else f"{days // 365:2}y"


def duration(span: timedelta) -> str:
    """The two largest units: `3d 4h`, `5m 10s`, `42s`."""
    seconds = max(0, int(span.total_seconds()))
    parts = (("d", seconds // 86400), ("h", seconds // 3600 % 24), ("m", seconds // 60 % 60), ("s", seconds % 60))
    first = next((index for index, (_, value) in enumerate(parts) if value), 3)
    return " ".join(f"{value}{unit}" for unit, value in parts[first : first + 2] if value) or "0s"


def until(moment: datetime, now: datetime) -> str:
    """`until Sun 23:12`, `was until …` once that is over; with the date where it is not within six days. `moment` is
    in the reader's zone."""
    near = abs(moment - now) < timedelta(days=6)
    return f"{'until' if moment > now else 'was until'} {moment:{'%a %H:%M' if near else '%a %d %b %H:%M'}}"


def count(number: int) -> str:
    """A whole number in at most four characters below 1,000 billion: `999`, `1.2k`, `31k`, `1.2M`."""
    if abs(number) < 1000:
        return str(number)
    value = float(max(-_MOST, min(number, _MOST)))
    for unit in "kMBT":
        value /= 1000
        if abs(value) < 9.95:  # from there on it would be rounded to `10.0`
            return f"{value:.1f}{unit}"
        if abs(value) < 999.5 or unit == "T":
            break
    return f"{value:.0f}{unit}"


def counted(number: int, noun: str) -> str:
    """`1 message`, `1,284 messages`: of nouns that take an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def attachment_facts(attachment: Attachment) -> list[str]:
    """What is known of it: `image/png`, its name, `640 × 480`, `23 kB`; as the store has them, not safe to show."""
    one = attachment
    pixels = [f"{one.width} × {one.height}"] if one.width and one.height else []
    return [one.media_type, *([one.name] if one.name else []), *pixels, *([size(one.size)] if one.size else [])]


def size(octets: int) -> str:
    """Bytes as `812 B`, `1.2 kB`, `31 MB`."""
    # `count` says B for a billion.
    return f"{octets} B" if octets < 1000 else f"{count(octets)[:-1]} {count(octets)[-1]}B".replace("BB", "GB")


def money(cost: Cost | None) -> str:
    """US dollars without the sign: `1.83`, `~1.83` when estimated, `<0.01`; empty when unknown."""
    return "" if cost is None else dollars(cost.total_usd, estimated=cost.estimated)


def priced(cost: Cost | None) -> str:
    """The same with its sign, for running text: `$1.83`, `~$1.83`, `<$0.01`."""
    text = money(cost)
    digits = text.lstrip("~<")
    return f"{text[: len(text) - len(digits)]}${digits}" if text else ""


def dollars(usd: float, *, estimated: bool = False, unpriced: bool = False) -> str:
    """A sum of US dollars, in the same form; `?` where none of it has a price, `1.83+` where a part has none."""
    if unpriced and not usd:
        return "?"
    text = "<0.01" if 0 < usd < 0.005 else f"{usd:,.2f}"  # so little would be rounded to nothing
    return f"{'~' if estimated else ''}{text}{'+' if unpriced else ''}"
