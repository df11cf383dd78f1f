"""Marks beside a plain dictionary, other processes, kills and full disks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples, repeatable
from hermes_tui.sessions.mark_store import MarkStore, MarksUnusable
from hermes_tui.sessions.marks import MarkChange, OwnMarks
from support import PATIENCE

TAGS = st.lists(st.sampled_from(["red", "green", "blue", "Needs Review", "#a,b"]), max_size=3).map(tuple)
TEXTS = st.none() | st.text(alphabet="aé\n \x1b'\"\ud800🧾", max_size=6)
FLAGS = st.booleans()
CHANGES = st.fixed_dictionaries(
    {
        "pinned": st.none() | st.booleans(),
        "tag": TAGS,
        "untag": TAGS,
        "note": TEXTS,
        "name": TEXTS,
        "clear": st.booleans(),
    }
)
STEPS = st.lists(st.tuples(st.integers(0, 2), st.sets(st.sampled_from("abc"), min_size=1), CHANGES), max_size=12)
WRITTEN = {"Needs Review": "needs-review", "#a,b": "a-b"}


def expected(old: OwnMarks | None, change: dict[str, object]) -> OwnMarks:
    """What a change comes to, said plainly."""
    old = OwnMarks() if old is None or change["clear"] else old
    tags = set(old.tags)
    for one in change["untag"]:  # type: ignore[attr-defined]
        tags.discard(WRITTEN.get(one, one))
    for one in change["tag"]:  # type: ignore[attr-defined]
        tags.add(WRITTEN.get(one, one))
    texts = {"note": old.note, "name": old.name}
    for field in texts:
        if change[field] is not None:
            text = str(change[field]).replace("\x1b", "").replace("\ud800", "\ufffd")
            texts[field] = text.strip() if field == "note" else " ".join(text.split())
    pinned = old.pinned if change["pinned"] is None else bool(change["pinned"])
    return OwnMarks(pinned=pinned, tags=tuple(sorted(tags)), **texts)


@repeatable
@examples(30)
@given(steps=STEPS)
def test_any_changes_of_several_programs_are_those_of_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, set[str], dict[str, object]]]
) -> None:
    path = tmp_path_factory.mktemp("marks") / "marks.db"
    programs = [MarkStore(path) for _ in range(3)]
    model: dict[str, OwnMarks] = {}
    for number, ids, change in steps:
        changed = programs[number].change(sorted(ids), MarkChange(**change))  # type: ignore[arg-type]
        for one in ids:
            model[one] = expected(model.get(one), change)
        assert changed == {one: model[one] for one in ids}
        model = {one: marks for one, marks in model.items() if marks != OwnMarks()}
        for program in programs:
            assert program.all() == model
    assert programs[0].all() is programs[0].all()
    for program in programs:
        program.close()
    assert MarkStore(path).all() == model


def start(code: str, *arguments: object) -> subprocess.Popen[bytes]:
    """Another process of ours."""
    heads = "import sys; from pathlib import Path; from hermes_tui.sessions.mark_store import MarkStore\n"
    heads += "from hermes_tui.sessions.marks import MarkChange; store = MarkStore(Path(sys.argv[1]))\n"
    words = [sys.executable, "-c", heads + code, *map(str, arguments)]
    # Unbuffered: what a line was read ahead of would be missing in the rest.
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)


def test_two_processes_lose_nothing_of_one_another(tmp_path: Path) -> None:
    path = tmp_path / "marks.db"
    code = "for n in range(15): store.change(['claude:a'], MarkChange(tag=(f'{sys.argv[2]}{n}',)))"
    running = [start(code, path, name) for name in "xy"]
    for one in running:
        _, said = one.communicate(timeout=PATIENCE)
        assert (one.returncode, said) == (0, b"")
    assert set(MarkStore(path).all()["claude:a"].tags) == {f"{name}{n}" for name in "xy" for n in range(15)}


def test_a_kill_leaves_all_of_a_change_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "marks.db"
    ids = [f"claude:{number}" for number in range(200)]
    code = (
        "ids = [f'claude:{n}' for n in range(200)]\n"
        "for n in range(10**9):\n"
        "    store.change(ids, MarkChange(name=f'n{n}', note=f'{n} ' * 500, tag=(f't{n % 5}',)))\n"
        "    print(n, flush=True)\n"
    )
    for attempt in range(5):
        running = start(code, path)
        assert running.stdout is not None
        said = int(running.stdout.readline())
        time.sleep(0.013 * attempt)
        running.kill()
        rest, _ = running.communicate(timeout=PATIENCE)
        done = [said, *map(int, rest.split())][-1]
        found = MarkStore(path).all()
        assert sorted(found) == sorted(ids)
        (name,) = {marks.name for marks in found.values()}
        (note,) = {marks.note for marks in found.values()}
        assert name in (f"n{done}", f"n{done + 1}")
        assert note == (f"{name[1:]} " * 500).strip()


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "marks.db"
    MarkStore(path).change(["claude:a"], MarkChange(name="kept"))
    code = (
        "import resource\n"
        "from hermes_tui.sessions.mark_store import MarksUnusable\n"
        "store.all(); resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
        "try: store.change([f'claude:{n}' for n in range(50)], MarkChange(note='x' * 9000))\n"
        "except MarksUnusable as error: print(error)\n"
        "print(sorted(store.all()))\n"
    )
    out, said = start(code, path).communicate(timeout=PATIENCE)
    assert said == b""
    sentence, there = out.decode().splitlines()
    assert sentence.startswith(f"marks of sessions cannot be kept in {path}: ")
    assert "move that file away" not in sentence  # all marks are in it
    assert there == "['claude:a']"
    assert MarkStore(path).all() == {"claude:a": OwnMarks(name="kept")}


def test_a_file_that_is_emptied_while_it_is_open_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "marks.db"
    store = MarkStore(path)
    store.change(["claude:a"], MarkChange(name="lost"))
    os.truncate(path, 0)
    with pytest.raises(MarksUnusable, match="move that file away"):
        store.all()
    store.change(["claude:b"], MarkChange(name="kept"))
    assert [one.name for one in store.all().values()] == ["kept"]


def test_a_place_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(MarksUnusable, match="Not a directory"):
        MarkStore(tmp_path / "state" / "marks.db").change(["claude:a"], MarkChange(pinned=True))


def written(path: Path, statements: Iterable[str]) -> None:
    """A file as another version of the program wrote it."""
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()
    path.chmod(0o600)


def test_a_file_of_an_earlier_version_keeps_what_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "marks.db"
    seen = "CREATE TABLE seen(id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID"
    fact = "CREATE TABLE fact(key TEXT PRIMARY KEY, value) WITHOUT ROWID"
    written(path, (fact, seen, "INSERT INTO seen VALUES('claude:a', 5.0)", "INSERT INTO fact VALUES('began', 3.0)"))
    store = MarkStore(path)
    store.change(["claude:a"], MarkChange(pinned=True))
    assert (store.seen(), store.began, store.all()) == ({"claude:a": 5.0}, 3.0, {"claude:a": OwnMarks(pinned=True)})


def test_a_file_of_a_later_version_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "marks.db"
    written(path, ("PRAGMA user_version = 99", "CREATE TABLE other(x)"))
    before = path.read_bytes()
    for use in (MarkStore(path).all, lambda: MarkStore(path).change(["a:b"], MarkChange(pinned=True))):
        with pytest.raises(MarksUnusable, match="newer hermes-tui"):
            use()
    assert path.read_bytes() == before


def test_a_file_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "marks.db"
    store = MarkStore(path)
    store.change(["claude:a"], MarkChange(pinned=True))
    path.rename(tmp_path / "old.db")
    assert store.all() == {}
    store.change(["claude:b"], MarkChange(pinned=True))
    assert set(store.all()) == {"claude:b"}
    assert set(MarkStore(tmp_path / "old.db").all()) == {"claude:a"}
