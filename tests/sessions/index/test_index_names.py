"""Roles, tools and files in the search index: which names a filter means, and which messages they are of."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.sessions.index.reading import named as looking
from hermes_tui.sessions.index.reading.named import Named
from hermes_tui.sessions.index.reading.names import IndexNames
from hermes_tui.sessions.index.reading.postings import common
from hermes_tui.sessions.index.reading.questions import Name
from hermes_tui.sessions.index.schema import FILE, KINDS, ROLE, TOOL, open_writer

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


@pytest.mark.parametrize(("merged", "few"), [(40, 4096), (0, 4096), (0, 5)])
def test_messages_are_the_same_whichever_way_they_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, merged: int, few: int
) -> None:
    monkeypatch.setattr(looking, "_MERGED", merged)
    monkeypatch.setattr(looking, "_FEW", few)
    monkeypatch.setattr(looking, "_FIRST", 3)
    connection = open_writer(tmp_path / "i.db")
    texts = ((TOOL, "bash"), (TOOL, "bashful"), (FILE, "/a/b.py"), (FILE, "/a/c.py"), (ROLE, "user"))
    for number, (kind, text) in enumerate(texts):
        connection.execute("INSERT INTO name VALUES(?,?,?)", (number, kind, text))
    about: dict[int, tuple[set[int], int]] = {}
    for row in range(1, 60):
        mine, unit = {number for number in range(len(texts)) if row % (number + 2) == 0}, row % 4
        about[row] = mine, unit
        said, wrote = (1 if unit & 1 else None), (1 if unit & 2 else None)
        facts = (row, 1, str(row), "user", 0, said, wrote, " ".join(map(str, sorted(mine))) or None)
        columns = "id, session, key, role, visibility, prose, tool, names"
        connection.execute(f"INSERT INTO message({columns}) VALUES(?,?,?,?,?,?,?,?)", facts)
        connection.executemany("INSERT INTO called VALUES(?,?,?)", ((name, unit, row) for name in mine))
    named = Named(IndexNames(), "one")
    for kind, value in ((TOOL, "bash"), (TOOL, "ful"), (FILE, ".py"), (FILE, "/a/b"), (ROLE, "us"), (ROLE, "ser")):
        meant = {
            number
            for number, (its, text) in enumerate(texts)
            if its == kind and (text.startswith(value) if kind == ROLE else value in text)
        }
        for units in ((0, 1, 2, 3), (1, 3), (2, 3), (0, 1, 3)):
            for before in (60, 31):
                stream = named.stream(connection, Name(kind, value), 7, units)
                expected = [row for row, (mine, unit) in about.items() if mine & meant and unit in units]
                found = list(common([stream], [], before))
                rows = sorted((row for row in expected if 7 <= row < before), reverse=True)
                assert found == rows, (KINDS[kind], value, units)
    connection.close()
