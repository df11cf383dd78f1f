"""Roles, tools and files in the search index: which names a filter means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.sessions.index.reading.names import IndexNames
from hermes_tui.sessions.index.reading.questions import Name
from hermes_tui.sessions.index.schema import FILE, ROLE, TOOL, open_writer

_PATHS = st.text("ab/.é漢\n", max_size=6)


@given(first=st.lists(_PATHS, max_size=8), later=st.lists(_PATHS, max_size=4), part=_PATHS.filter(bool))
@examples(60)
def test_files_are_meant_by_any_part_of_their_paths(
    tmp_path_factory: pytest.TempPathFactory, first: list[str], later: list[str], part: str
) -> None:
    connection = open_writer(tmp_path_factory.mktemp("index") / "i.db")
    names = IndexNames()
    there: dict[str, int] = {}
    for paths in (first, later):
        for path in paths:
            connection.execute("INSERT OR IGNORE INTO name(kind, text) VALUES(?,?)", (FILE, path))
            connection.execute("INSERT OR IGNORE INTO name(kind, text) VALUES(?,?)", (TOOL, path))
        there = dict(connection.execute("SELECT text, id FROM name WHERE kind = ?", (FILE,)))
        found = names.meant(connection, "one", Name(FILE, part))
        assert sorted(found) == sorted(number for path, number in there.items() if part in path)
    assert not names.meant(connection, "one", Name(ROLE, "nobody"))
    connection.execute("DELETE FROM name")
    assert not names.meant(connection, "another", Name(FILE, part))
    connection.close()
