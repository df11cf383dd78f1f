"""The notation of the demo's data: times before now and named values, in «».

- `«-3h5m»` is a time; with a word after it, in another form: `«-3h5m ms»`, `«-1d@04:00:02 %d %B»` (`FORMS`).
- `«title»` is a named value; `«asked ms»` is one that is a time.
- `«uuid a/b»`, `«hex 8 a/b»` are made of what stands there; a part that is a name stands for its value.
- `«each table.jsonl»` … `«end»`: these lines for each row of a table, whose first line names the columns.
- `«when name»{…}`: a line that is left out where `name` has no value.
- `«bytes other.jsonl 9»`: the size of the first nine lines of a file that was written before.
- `"«line»"`: how many lines of the file stand above.
- `«pad 256»`: spaces that make the line so long, its end included.

In JSON, `"«-3h ms»"` becomes a bare number, because its value is one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any

from hermes_tui.errors import HermesTuiError

__all__ = ["Template", "rows_of"]

_BLOCK = re.compile(r"^«each ([\w.-]+)»\n(.*?)^«end»\n", re.MULTILINE | re.DOTALL)
_WHEN = re.compile(r"^«when (\w+)»(.*\n?)", re.MULTILINE)
_LINE = '"«line»"'
_PAD = re.compile(r"^(.*)«pad (\d+)»(.*\n)", re.MULTILINE)
_TERM = re.compile(r"([+-])(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?|@(\d\d):(\d\d):(\d\d)")


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _uuid7(at: datetime) -> str:
    digits = f"{_milliseconds(at):012x}"
    return f"{digits[:8]}-{digits[8:]}"


FORMS: dict[str, Callable[[datetime], str | int | float]] = {
    "": _iso,
    "utc": _iso,
    "ms": _milliseconds,
    "s": lambda at: int(at.timestamp()),
    "seconds": lambda at: at.timestamp(),
    "iso": lambda at: at.isoformat(),
    "local": lambda at: at.astimezone().replace(tzinfo=None).isoformat(),
    "go": lambda at: f"{at:%Y-%m-%d %H:%M:%S.%f}".rstrip("0").rstrip(".") + "+00:00",
    "file": lambda at: re.sub("[:.]", "-", _iso(at)),
    "uuid7": _uuid7,
    "up": lambda at: f"{_milliseconds(at) << 12 & 0xFFFFFFFFF000:012x}"[:9],
    "down": lambda at: f"{~(_milliseconds(at) << 12) & 0xFFFFFFFFFFFF:012x}"[:9],
}
"""How a time is written: in UTC to the millisecond with Z, unless a word says otherwise. `ms`, `s` and `seconds`
count from the epoch (the last with a fraction), `iso` has the offset, `local` none, `go` is as Go prints it, `file`
as some agents put it into names, `uuid7` what stands of it in such an id, `up` and `down` what is in OpenCode's."""


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a table: its first line names the columns, each further one is an array."""
    with path.open(encoding="utf-8") as lines:
        names = json.loads(next(lines))
        for line in lines:
            yield dict(zip(names, json.loads(line), strict=True))


class Template:
    """Fills in what stands in « » as of `now`; tables are looked for in `folder`.

    `latest` is the latest time that was filled in since it was last set to None; `written` has the texts of files.
    """

    def __init__(self, now: datetime, folder: Path) -> None:
        self.folder = folder
        self.latest: datetime | None = None
        self.written: dict[str, str] = {}
        self._now = now.astimezone(UTC)
        self._times: dict[tuple[str, str], tuple[datetime, str | int | float]] = {}

    def fill(self, text: str, names: Mapping[str, Any], *, json_text: bool = True) -> str:
        """`text` with every place filled in; `json_text` escapes what is put into strings.

        Raises `HermesTuiError` for what is not understood.
        """
        if "«each " in text:
            text = _BLOCK.sub(
                lambda block: "".join(
                    self.fill(block[2], {**names, **row}, json_text=json_text)
                    for row in rows_of(self.folder / block[1])
                ),
                text,
            )
        if "«when " in text:
            text = _WHEN.sub(lambda line: "" if names.get(line[1]) is None else line[2], text)
        known: dict[str, tuple[str, bool]] = {}
        first, *pieces = text.split("«")
        filled = [first]
        for piece in pieces:
            place, _, rest = piece.partition("»")
            if place not in known:
                value = self._value(place, names)
                if not isinstance(value, str):
                    known[place] = json.dumps(value), False
                else:
                    known[place] = (encode_basestring(value)[1:-1] if json_text else value), True
            written, is_text = known[place]
            if not is_text and filled[-1].endswith('"') and rest.startswith('"'):
                filled[-1], rest = filled[-1][:-1], rest[1:]
            filled += written, rest
        return "".join(filled)

    def fill_file(self, text: str, names: Mapping[str, Any], *, json_text: bool = True) -> str:
        """`fill`, and then what depends on the lines around it."""
        text = self.fill(text, names, json_text=json_text)
        if _LINE in text:
            text = "\n".join(line.replace(_LINE, str(above)) for above, line in enumerate(text.split("\n")))
        return _PAD.sub(_padded, text) if "«pad " in text else text

    def _value(self, place: str, names: Mapping[str, Any]) -> Any:
        word, _, rest = place.partition(" ")
        try:
            if word == "uuid":
                text = _digest(rest, names)
                variant = "89ab"[int(text[16], 16) % 4]  # of which two bits are the same in every UUID
                return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:32]}"
            if word == "hex":
                length, _, parts = rest.partition(" ")
                return _digest(parts, names)[: int(length)]
            if word == "bytes":
                name, _, lines = rest.partition(" ")
                return sum(len(line.encode()) + 1 for line in self.written[name].split("\n")[: int(lines)])
            if word in ("pad", "line"):
                return f"«{place}»"
            if word[0] in "+-":
                return self.time(word, rest)
            return self.time(names[word], rest) if rest else names[word]
        except (KeyError, ValueError) as error:
            raise HermesTuiError(f"the demo's data in {self.folder}: «{place}» is not understood") from error

    def time(self, moment: str, form: str = "") -> str | int | float:
        """The time `moment`, written in `form`. Raises `KeyError` or `ValueError` for what is not understood."""
        known = self._times.get((moment, form))
        if known is None:
            at = self.at(moment)
            known = self._times[moment, form] = at, at.strftime(form) if "%" in form else FORMS[form](at)
        self.latest = known[0] if self.latest is None else max(self.latest, known[0])
        return known[1]

    def at(self, moment: str) -> datetime:
        """The time that `-1d@04:00:02+5s` means: a day ago, then at four o'clock (UTC), then five seconds on."""
        at, end = self._now, 0
        while end < len(moment):
            term = _TERM.match(moment, end)
            if term is None or term.end() == end + 1:
                raise ValueError(moment)
            end = term.end()
            if term[6]:
                at = at.replace(hour=int(term[6]), minute=int(term[7]), second=int(term[8]), microsecond=0)
            else:
                days, hours, minutes = (int(term[group] or 0) for group in (2, 3, 4))
                span = timedelta(days, float(term[5] or 0), hours=hours, minutes=minutes)
                at = at + span if term[1] == "+" else at - span
        return at


def _digest(parts: str, names: Mapping[str, Any]) -> str:
    """64 hexadecimal digits."""
    values = (str(names.get(part, part)) for part in parts.split("/"))
    return hashlib.sha256("\x1f".join(values).encode()).hexdigest()


def _padded(line: re.Match[str]) -> str:
    """The line with spaces where it says so; it has as many bytes as it says."""
    before, size, after = line.groups()
    return before + " " * (int(size) - len((before + after).encode())) + after
