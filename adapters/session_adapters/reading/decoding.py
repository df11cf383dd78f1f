"""Decodes the JSON of a line: fast and typed first, then forgiving.

A line may hold half a record, two of them glued together, half characters, or ten million values.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from session_adapters.reading.bounds import CROWDED, is_crowded
from session_adapters.reading.lines import JUNK, READING
from session_adapters.text import scrub_json

__all__ = ["Decoder", "Effort", "QuickDecoder", "RecordDecoder", "has_text_keys", "take_apart"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class RecordDecoder(Protocol[T_co]):
    """What makes records of lines."""

    def all(self, data: bytes) -> tuple[Sequence[T_co], bool]:
        """Every record that can be had from a line, and whether something in it was lost."""


class Decoder(Generic[T]):
    """Decodes lines into one record type: fast and typed first, then forgiving.

    A line that the typed decoder refuses (lone surrogates, NaN, a byte order mark, a field of another type) is
    tried again with the standard library; glued and half records are taken apart.
    """

    def __init__(self, record: type[T]) -> None:
        self._type = record
        self._decode = msgspec.json.Decoder(record).decode

    def one(self, data: bytes) -> T:
        """The record in `data`. Raises `ValueError` when there is none, or more than one, or too many values."""
        if is_crowded(data):
            raise ValueError(CROWDED)
        try:
            return self._decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            if b"[" not in data and not _may_hold_object(data):
                raise ValueError(str(error)) from error
            try:
                value = _LENIENT.decode(_text(data))
            except RecursionError as deep:
                raise ValueError("nested too deeply") from deep
            return self._convert(value, data)

    def all(self, data: bytes) -> tuple[list[T], bool]:
        """Every record that can be had from a line, and whether something in it was lost."""
        if is_crowded(data):
            return [], True
        try:
            record = self._decode(data)
            if has_text_keys(data):
                return [record], False
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            if not _may_hold_object(data):
                READING.run.damaged += 1
                return [], bool(data.strip(JUNK))
        values, lost = take_apart(_text(data))
        lost = lost or not has_text_keys(data)
        records: list[T] = []
        for value in values:
            try:
                records.append(self._convert(value, data))
            except ValueError:
                lost = True
        READING.run.damaged += lost
        return records, lost

    def quick(self, record: type[T]) -> QuickDecoder[T]:
        """One that makes `record`s, of a subclass that passes over fields, of whole lines; damaged ones are left to
        this one."""
        return QuickDecoder(record, self)

    def _convert(self, value: object, data: bytes) -> T:
        if _SURROGATE.search(data):  # else there is none: of a million values each would be looked at
            value = scrub_json(value)
        try:
            return msgspec.convert(value, self._type, strict=False)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError(str(error)) from error


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class QuickDecoder(Generic[T]):
    """See `Decoder.quick`."""

    def __init__(self, record: type[T], full: Decoder[T]) -> None:
        self._decode = msgspec.json.Decoder(record).decode
        self._full = full

    def all(self, data: bytes) -> tuple[Sequence[T], bool]:
        """See `Decoder.all`."""
        if is_crowded(data):
            return (), True
        try:
            record = self._decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            # The full decoder may make something of it, and says what it lost.
            return self._full.all(data)
        return ((record,), False) if has_text_keys(data) else self._full.all(data)


def has_text_keys(data: bytes) -> bool:
    """Whether no name of a field holds bytes that are no UTF-8: such a field is passed over, and what it held is
    lost. In a value they are shown as replacement characters."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return not _BROKEN_KEY.search(data.decode("utf-8", "replace"))
    return True


_BROKEN_KEY = re.compile(r'[{,]\s*"[^"\\\ufffd]*+(?:\\.[^"\\\ufffd]*+)*+\ufffd[^"\\]*+(?:\\.[^"\\]*+)*+"\s*:')


def _may_hold_object(data: bytes) -> bool:
    """Whether what no decoder took may hold an object: there may be millions of lines that do not."""
    return b"{" in data and b'"' in data and b"}" in data


_LENIENT = json.JSONDecoder(strict=False)
"""Raw control characters inside strings are no loss. Made once: there may be millions of damaged lines."""


def _text(data: bytes) -> str:
    return data.strip(JUNK).decode("utf-8", "replace")


# Of damaged text, whole values: each `{"` may be the beginning of one, and decoding from each takes time that grows
# with the square of the length.

_LEVEL = 200
"""As many characters count for a level of nesting, where values nest as deeply as Python lets them: how deeply that
is differs from process to process."""
_TIMES = 16
"""As often each character of a damaged line is looked at."""
_BLANK = re.compile("[\x00 \t\r]*")


class Effort:
    """Characters that may still be looked at."""

    def __init__(self, left: int) -> None:
        self.left = left

    def decode(self, text: str, at: int) -> tuple[Any, int] | None:
        """The value that begins there, and where it ends; None where none is whole. Either is charged for."""
        try:
            value, end = _LENIENT.raw_decode(text, at)
        except RecursionError:
            self.left -= _LEVEL * sys.getrecursionlimit()
        except json.JSONDecodeError as error:
            self.left -= (len(text) if error.msg.startswith("Unterminated") else error.pos) - at
            self.left -= error.pos // 16  # it has counted the lines before it
        except ValueError:  # a number of thousands of digits
            self.left -= len(text) - at
        else:
            self.left -= end - at
            return value, end
        return None


def take_apart(text: str) -> tuple[list[object], bool]:
    """The JSON objects in a damaged line, whole ones glued together or a whole one after half of another; and whether
    something was lost."""
    values: list[object] = []
    lost = False
    at = 0
    effort = Effort(_TIMES * len(text))
    while 0 <= at < len(text):
        value, end = effort.decode(text, at) or (None, at)
        behind = _BLANK.match(text, end).end()  # type: ignore[union-attr]
        # After half a record an inner object decodes too. But then something is left behind it, or the half ends with
        # it, just before the next record.
        inner = text[max(0, at - 2) : at].rstrip().endswith((":", ",", "["))
        if isinstance(value, dict) and (behind == len(text) or (text.startswith("{", behind) and not inner)):
            values.append(value)
            at = behind
        else:
            lost = True
            at = text.find('{"', at + 1) if effort.left > 0 else -1
    return values, lost
