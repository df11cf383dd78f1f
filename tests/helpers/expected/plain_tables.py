"""Rows of a database, read by the SQLite of Python from a copy, so that nothing beside it changes."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

__all__ = ["rows"]


def rows(path: Path, query: str, *parameters: object) -> list[dict[str, Any]]:
    """Every column by name; none where the table is missing."""
    with tempfile.TemporaryDirectory() as folder:
        for one in path.parent.glob(f"{path.name}*"):
            shutil.copy(one, folder)
        with closing(sqlite3.connect(Path(folder) / path.name)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, parameters)]
