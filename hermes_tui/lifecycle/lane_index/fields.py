"""Checks the values of Hermes' JSON field by field, with a reason if refused.

Hermes takes what it finds and stumbles later (a number where a text should be, a time with a zone). What is read
here may be written back, so it is looked at first. null counts as absent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import Any, NoReturn

from hermes_tui.errors import EntryError

__all__ = ["Fields", "decode_object"]

_BITS = 63
"""Of a whole number: what a database can hold, and more than any count of tokens."""
_YEARS = range(2, 9998)
"""Of a time: beside them it falls off the calendar as soon as a zone or a policy is added."""
_SHOWN = 60
"""Characters of a wrong value that an error shows."""


def decode_object(text: str | bytes) -> dict[str, Any]:
    """A JSON object as Hermes writes it. Raises `EntryError` for what is no JSON, no object, not finite (NaN,
    Infinity), or has the same key twice anywhere in it: nobody can say which of the two was meant."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_not_finite)
    except EntryError:
        raise
    except (ValueError, RecursionError) as error:  # also: bytes that are no UTF-8, integers of thousands of digits
        raise EntryError("", f"it is no JSON: {str(error)[:200]}") from None
    if not isinstance(value, dict):
        raise EntryError("", f"it is {_kind(value)}, not an object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise EntryError(key, "is there twice")
            seen.add(key)
    return found


def _not_finite(constant: str) -> NoReturn:
    raise EntryError("", f"it has the number {constant}, which is no JSON")


class Fields:
    """The members of one JSON object; each is taken by the type that it must have.

    Every method raises `EntryError`. What was not asked for by the end is `rest`.
    """

    def __init__(self, values: Any, place: str = "") -> None:
        """`place` is put before each field's name in errors: `origin.`."""
        if not isinstance(values, Mapping):
            raise EntryError(place.rstrip("."), f"is {_kind(values)}, not an object")
        self._values: dict[str, Any] = dict(values)
        self._place = place

    @property
    def rest(self) -> dict[str, Any]:
        """What nobody took: fields of another version of Hermes, to be written back as they were."""
        return dict(self._values)

    def taken(self, name: str) -> Any:
        """The value as it is, None if there is none."""
        return self._values.pop(name, None)

    def text(self, name: str) -> str | None:
        """A text. Identifiers that some platforms give as numbers become the digits that their keys have."""
        value = self.taken(name)
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:  # half a surrogate pair: a text to JSON and none to a database
                raise EntryError(f"{self._place}{name}", "is no valid Unicode") from None
            return value
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise self._wrong(name, value, "a text")

    def required(self, name: str) -> str:
        """A text that must be there; it may be empty."""
        value = self.text(name)
        if value is None:
            raise EntryError(f"{self._place}{name}", "is missing")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false; also as SQL's 1 and 0."""
        value = self.taken(name)
        if value is None:
            return default
        if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
            return bool(value)
        raise self._wrong(name, value, "true or false")

    def count(self, name: str) -> int:
        """A whole number; 0 if absent."""
        value = self.taken(name)
        if value is None:
            return 0
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << _BITS:
            return value
        raise self._wrong(name, value, "a whole number that can be one")

    def number(self, name: str) -> float:
        """A finite number; 0.0 if absent."""
        value = self.taken(name)
        if value is None:
            return 0.0
        if isinstance(value, float) and isfinite(value):
            return value
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 1000:
            return float(value)  # above 2**1024 there is none
        raise self._wrong(name, value, "a finite number")

    def time(self, name: str) -> datetime | None:
        """A local time without a zone: what Hermes writes and the only thing that it can compare."""
        value = self.taken(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            raise self._wrong(name, value, "a time as text")
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise self._wrong(name, value, "a time") from None
        if moment.tzinfo is not None:
            raise self._wrong(name, value, "a local time without a zone: Hermes fails on one with")
        if moment.year not in _YEARS:
            raise self._wrong(name, value, "a time of this age")
        return moment

    def required_time(self, name: str) -> datetime:
        """A local time that must be there."""
        value = self.time(name)
        if value is None:
            raise EntryError(f"{self._place}{name}", "is missing")
        return value

    def _wrong(self, name: str, value: Any, wanted: str) -> EntryError:
        if isinstance(value, list | dict):
            shown = _kind(value)
        elif isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 200:
            shown = "a number of many digits"  # Python refuses to write out thousands of them
        else:
            text = json.dumps(value)  # escapes control characters and lone surrogates
            shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
        return EntryError(f"{self._place}{name}", f"is {shown}, not {wanted}")


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "an object"
    return "a number"
