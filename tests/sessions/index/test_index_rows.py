"""The rows of an answer, read some at a time, and what they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.sessions.index.reading.questions import Field, Question, question
from hermes_tui.sessions.index.reading.rows import Facts, page
from hermes_tui.sessions.index.schema import KINDS, open_writer
from hermes_tui.sessions.query.tree import All, Any, MessageFilter, Not, Tree, Word

FIELDS: Sequence[Field] = ("prose", "tool")
WORD, BEGUN = Word(("word",)), Word(("wo",), prefix=True)
ROWS = st.sets(st.integers(1, 60))


def _asked(tree: Tree) -> Question:
    asked = question(tree)
    assert asked is not None
    return asked


def _message(connection: apsw.Connection, row: int, unit: int = 3) -> None:
    """With prose (1), tool text (2), both or none."""
    facts = (row, 1, f"k{row}", "user", 0, row if unit & 1 else None, row if unit & 2 else None)
    columns = "id, session, key, role, visibility, prose, tool"
    connection.execute(f"INSERT OR IGNORE INTO message({columns}) VALUES(?,?,?,?,?,?,?)", facts)


def _filled(path: Path, **tables: Sequence[int]) -> apsw.Connection:
    connection = open_writer(path)
    connection.execute("INSERT INTO source VALUES(1, 'a', 'p', 'n', '', 2, 0, '', 0)")
    connection.execute("INSERT INTO session(id, source, native) VALUES(1, 1, 's')")
    for table, rows in tables.items():
        for row in rows:
            connection.execute(f"INSERT INTO {table}(rowid, text) VALUES(?, 'word')", (row,))
            _message(connection, row)
    return connection


def _page(
    connection: apsw.Connection, tree: Tree, low: int, below: int, most: int, *, each: bool = True
) -> list[Facts]:
    return page(connection, _asked(tree), FIELDS, low, below, most=most, each=each)


def _told(found: Sequence[Facts]) -> list[tuple[int, int]]:
    """Rows, and 1 for prose."""
    return [(one[0] >> 1, one[0] & 1) for one in found]


@given(said=ROWS, wrote=ROWS, most=st.integers(1, 7), low=st.integers(0, 30), high=st.integers(20, 70))
@examples(60)
@pytest.mark.parametrize("tree", [WORD, BEGUN, Any((WORD, BEGUN)), Any((WORD, MessageFilter("role", "nobody")))])
def test_every_row_comes_once_however_many_are_taken(
    tmp_path_factory: pytest.TempPathFactory,
    tree: Tree,
    said: set[int],
    wrote: set[int],
    most: int,
    low: int,
    high: int,
) -> None:
    connection = _filled(tmp_path_factory.mktemp("rows") / "i.db", prose=[*said], tool=[*wrote])
    found: list[Facts] = []
    below = high << 1
    while some := _page(connection, tree, low, below, most):
        assert len(some) <= most
        found += some
        below = some[-1][-1]
    grouped = _page(connection, tree, low, high << 1, -1, each=False)
    connection.close()
    expected = [(row, 1) for row in said if low <= row < high] + [(row, 0) for row in wrote if low <= row < high]
    assert _told(found) == sorted(expected, reverse=True)
    assert sum(one[-2] for one in grouped) == len(expected)
    assert min((one[-1] for one in grouped), default=None) == min(
        (2 * row + prose for row, prose in expected), default=None
    )


NAMED = ((0, "user"), (1, "bash"), (1, "bashful"), (2, "/a/b.py"), (2, "/a/c.py"))


@pytest.mark.parametrize("stretches", [40, 0])
def test_messages_are_the_same_whichever_way_they_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stretches: int
) -> None:
    """Of names alone, of several, and of words beside them, against the rows one by one."""
    for name in ("_STRETCHES", "_LOOKS"):
        monkeypatch.setattr(f"hermes_tui.sessions.index.reading.rows.{name}", stretches)
    connection = _filled(tmp_path / "i.db")
    connection.executemany("INSERT INTO name VALUES(?,?,?)", ((at, *one) for at, one in enumerate(NAMED, 1)))
    about: dict[int, tuple[set[int], int]] = {}
    for row in range(1, 60):
        mine, unit = {at for at in range(1, len(NAMED) + 1) if row % (at + 1) == 0}, row % 4
        about[row] = mine, unit
        _message(connection, row, unit)
        for table, bit in (("prose", 1), ("tool", 2)):
            if unit & bit and row % 3:
                connection.execute(f"INSERT INTO {table}(rowid, text) VALUES(?, 'word')", (row,))
        connection.executemany("INSERT INTO called VALUES(?,?)", ((name, row) for name in mine))

    def holds(tree: Tree, row: int, prose: int) -> bool:
        mine, unit = about[row]
        match tree:
            case MessageFilter(field, value):
                kind = KINDS.index(field)
                return any(
                    its == kind and (text.startswith(value) if field == "role" else value in text) and at in mine
                    for at, (its, text) in enumerate(NAMED, 1)
                )
            case Word():
                return bool(unit & (1 if prose else 2)) and row % 3 != 0
            case Not(part):
                return not holds(part, row, prose)
            case All(parts):
                return all(holds(part, row, prose) for part in parts)
            case Any(parts):
                return any(holds(part, row, prose) for part in parts)
        raise AssertionError(tree)

    bash, full, code, user = (
        MessageFilter(*one) for one in (("tool", "bash"), ("tool", "ful"), ("file", ".py"), ("role", "us"))
    )
    for tree in (
        *(bash, full, code, user, MessageFilter("role", "ser"), All((bash, user)), All((code, bash, user))),
        *(All((WORD, bash)), All((WORD, user)), All((user, Not(bash))), All((bash, Not(WORD)))),
        *(All((WORD, Not(user))), All((WORD, Not(code))), Any((bash, WORD)), Any((All((bash, WORD)), code))),
    ):
        units = [(row, 1) for row, (_, unit) in about.items() if unit in (0, 1, 3)]
        units += [(row, 0) for row, (_, unit) in about.items() if unit & 2]
        expected = sorted((one for one in units if holds(tree, *one) and 7 <= one[0] < 50), reverse=True)
        assert _told(_page(connection, tree, 7, 50 << 1, -1)) == expected, tree
    connection.close()


PATHS = st.text("ab/.é漢\n", max_size=6)


@given(paths=st.lists(PATHS, max_size=8, unique=True), part=PATHS.filter(bool))
@examples(60)
def test_files_are_meant_by_any_part_of_their_paths(
    tmp_path_factory: pytest.TempPathFactory, paths: list[str], part: str
) -> None:
    connection = _filled(tmp_path_factory.mktemp("index") / "i.db")
    for number, path in enumerate(paths, 1):
        connection.execute("INSERT INTO name VALUES(?,2,?), (?,1,?)", (number, path, number + 20, path))
        connection.execute("INSERT INTO called VALUES(?,?)", (number, number))
        _message(connection, number, 2)
    found = _page(connection, MessageFilter("file", part), 0, 1 << 62, -1)
    connection.close()
    assert _told(found) == [(number, 0) for number in range(len(paths), 0, -1) if part in paths[number - 1]]


def test_what_a_message_is_called_may_be_anything(tmp_path: Path) -> None:
    connection = open_writer(tmp_path / "i.db")
    strange = 'a"\\\n\x00\x1b é漢\U0001f600'
    connection.execute("INSERT INTO source VALUES(1, 'a', ?, ?, '', 2, 0, '', 0)", (strange, strange))
    connection.execute("INSERT INTO session(id, source, native) VALUES(1, 1, ?)", (strange,))
    columns = "id, session, key, at, role, visibility, prose, tool"
    connection.execute(f"INSERT INTO message({columns}) VALUES(7, 1, ?, NULL, 'user', 0, 1, 1)", (strange,))
    connection.execute(f"INSERT INTO message({columns}) VALUES(9, 1, 'b', 5, 'tool', 0, NULL, 1)")
    connection.execute("INSERT INTO prose(rowid, text) VALUES(7, 'word')")
    connection.execute("INSERT INTO tool(rowid, text) VALUES(9, 'word')")
    newer, older = _page(connection, WORD, 0, 1 << 62, -1)
    assert newer == (18, 1, "a", strange, strange, strange, "b", 5, "tool", 0, 1, 18)
    assert older == (15, 1, "a", strange, strange, strange, strange, None, "user", 0, 1, 15)
    # One for each session, table, and whether the user wrote it.
    connection.execute(f"INSERT INTO message({columns}) VALUES(8, 1, 'c', 4, 'assistant', 0, NULL, 1)")
    connection.execute("INSERT INTO tool(rowid, text) VALUES(8, 'word')")
    same = _page(connection, WORD, 0, 1 << 62, -1, each=False)
    assert [(one[0], one[-2], one[-1]) for one in same] == [(18, 2, 16), (15, 1, 15)]
    connection.close()
