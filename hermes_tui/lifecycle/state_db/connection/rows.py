"""Rows as dictionaries, and values as they can be stored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import apsw

from hermes_tui.lifecycle.state_db.connection.failures import QueryRefused

__all__ = ["Row", "clean", "fetch"]

Row = dict[str, Any]
"""A row of a table by column, as it stands there."""

_SURROGATES = re.compile("[\ud800-\udfff]")


def fetch(connection: apsw.Connection, query: str, values: Sequence[object]) -> list[Row]:
    """What a SELECT finds. Raises `QueryRefused`, `apsw.Error`."""
    cursor = connection.cursor()
    found: list[Row] = []
    names: list[str] = []
    try:
        for row in cursor.execute(query, values):
            # With the first row: APSW describes no statement that has ended.
            names = names or [column[0] for column in cursor.get_description()]
            found.append(dict(zip(names, row, strict=True)))
    except apsw.SQLError as error:
        raise QueryRefused(f"The session store cannot answer that: {error}.") from error
    return found


def clean(values: Sequence[object]) -> list[object]:
    """Half a surrogate pair cannot be stored; Hermes puts the same mark in its place."""
    return [_SURROGATES.sub("\ufffd", value) if isinstance(value, str) else value for value in values]
