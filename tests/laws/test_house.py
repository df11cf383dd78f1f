"""The figures of the house only get better: lower a limit when its figure falls."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from laws import house

FULL = 16
"""Modules in a folder."""
LONG = 350
"""Lines of a module."""


@pytest.fixture(scope="module", autouse=True)
def parsed_once() -> Iterator[None]:
    """All figures are taken of one tree, which goes with the last of them."""
    yield
    house.forget()


def test_names_stand_for_one_thing() -> None:
    same, classes = house.homonyms()
    assert same.total() / classes <= 0.03, same.most_common()


def test_no_two_files_of_tests_have_one_name() -> None:
    """Of such two pytest collects one, and only a run of both tells."""
    names = Counter(path.name for path in Path(house.ROOT, "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_modules_are_short() -> None:
    assert {name: count for name, count in house.lines().items() if count > LONG} == {}


def test_folders_are_small() -> None:
    full = {
        name
        for place in (*house.PLACES, "tests")
        for name, count in house.folders(Path(house.ROOT, place)).items()
        if count > FULL
    }
    assert full == set()


def test_functions_are_called_twice_or_hide_a_decision() -> None:
    single, every = house.once()
    assert single / every <= 0.12


def test_comments_say_why() -> None:
    said, total = house.comments()
    assert said / total >= 0.015


def test_modules_import_each_other_in_no_circle() -> None:
    assert house.circles() == []


def test_two_threads_may_import_anything_at_once() -> None:
    """A package imports none of its own modules: whoever needs one names it."""
    assert house.waits() == []


def test_objects_keep_their_private_names_to_themselves() -> None:
    reached = house.private()
    assert reached.total() <= 8, reached


def test_two_files_share_few_private_names_of_one_object() -> None:
    found = house.shared()
    assert sum(map(len, found.values())) <= 15, found


def test_tests_ask_for_public_behaviour() -> None:
    found = house.reached_by_tests()
    assert len(found) <= 2, found


def test_maintenance_questions_are_answered_by_files_that_there_are() -> None:
    table = (house.ROOT / "docs/maintenance-questions.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (.+\?) \| `([^`]+)` \|$", table, re.M)
    assert [int(number) for number, _, _ in rows] == list(range(1, table.count("\n| ")))
    assert len({question for _, question, _ in rows}) == len({path for _, _, path in rows}) == len(rows) >= 30
    assert [path for _, _, path in rows if not (house.ROOT / path).is_file()] == []


def test_rooms_that_a_package_names_are_there() -> None:
    """The docstring of a package says what its modules are for; those that were renamed or are gone mislead."""
    gone, seen = [], 0
    for path in (path for place in house.PLACES for path in Path(house.ROOT, place).rglob("__init__.py")):
        told = re.search(r"^(?:The rooms|From the outside in): .*?(?=\n\n|\Z|\"\"\")", path.read_text(), re.M | re.S)
        rooms = re.findall(r"`(\w+)`", told[0]) if told else []
        seen += len(rooms)
        gone += [
            f"{path.parent.name}: {room}"
            for room in rooms
            if not (path.parent / f"{room}.py").is_file() and not (path.parent / room).is_dir()
        ]
    assert gone == []
    assert seen > 80
