"""Reads text out of columns in which SQLite may keep anything."""

from __future__ import annotations

from typing import Any

__all__ = ["as_bytes", "json_of", "text_of"]


def as_bytes(column: str) -> str:
    """A text column as its bytes: text that is no UTF-8 in one row would otherwise hide all the others."""
    return f"CAST({column} AS BLOB)"


def json_of(value: Any) -> str:
    """JSON that is no UTF-8 is none: what is read of it could not be compared with what stands there."""
    try:
        return value.decode() if isinstance(value, bytes) else text_of(value)
    except UnicodeDecodeError:
        return f"\ufffd{text_of(value)}"


def text_of(value: Any) -> str:
    """Whatever stands there; what is no UTF-8 is replaced."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
