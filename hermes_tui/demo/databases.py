"""Writes the demo's SQLite databases from rows, and Cursor's chats as rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw

__all__ = ["chat_rows", "write_database"]

Row = Mapping[str, Mapping[str, Any]]
"""The name of a table, and under it the columns that are not empty."""


def write_database(path: Path, schema: str, rows: Iterable[Row], spaced: bool) -> None:
    """Make the database at `path`, complete and without a write-ahead log. Objects and arrays become JSON text,
    as Python writes it when `spaced`, else as JavaScript and Go do.

    Raises `apsw.Error` when it cannot be written.
    """
    encode = json.JSONEncoder() if spaced else json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    database = apsw.Connection(str(path))
    try:
        database.pragma("synchronous", "OFF")  # a demo that is lost with the machine is no loss
        database.pragma("journal_mode", "WAL")
        with database:
            database.execute(schema)
            for row in rows:
                ((table, columns),) = row.items()
                values = [
                    encode.encode(value) if isinstance(value, dict | list) else value for value in columns.values()
                ]
                names, marks = ", ".join(columns), ", ".join("?" * len(columns))
                database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", values)  # noqa: S608
        database.pragma("wal_checkpoint(TRUNCATE)")
    finally:
        database.close()


# Cursor's chats ----------------------------------------------------------------------------------------------


def chat_rows(lines: Iterable[dict[str, Any]]) -> Iterator[Row]:
    """The rows of a chat of Cursor's command line: each message is a blob that is named by its SHA-256, and a root
    blob (protobuf) holds their order. The first line is what the chat's own row says, and what the root says."""
    lines = iter(lines)
    about = next(lines)
    messages = [_compact(message) for message in lines]
    order = [hashlib.sha256(message).hexdigest() for message in messages]
    root = about["root"]
    context = _varint(1 << 3) + _varint(21000) + _varint(2 << 3) + _varint(256000)
    # The ids in order, the size of the context, the directory, what kind of client it is, the time.
    fields = [_field(1, bytes.fromhex(name)) for name in order]
    fields += [_field(5, context), _field(9, f"file://{root['cwd']}".encode()), _field(22, b"cli")]
    top = b"".join((*fields, _varint(26 << 3) + _varint(root["updatedAt"]), _field(27, b"Etc/UTC")))
    name = hashlib.sha256(top).hexdigest()
    for key, data in dict(zip([*order, name], [*messages, top], strict=True)).items():
        yield {"blobs": {"id": key, "data": data}}
    yield {"meta": {"key": "0", "value": _compact({**about["meta"], "latestRootBlobId": name}).hex()}}


def _compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def _field(number: int, data: bytes) -> bytes:
    """A protobuf field with a length."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data
