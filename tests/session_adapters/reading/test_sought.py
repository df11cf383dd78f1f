"""`Seeker`: the records of the lines that hold a word are those that reading line by line finds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from session_adapters.reading.files import BLOCK, LINE_LIMIT, Decoder, lines
from session_adapters.reading.scanner import Seeker

NEEDLES = [b"needle", re.compile(rb"ne{2}dle"), re.compile(rb"n(?:ee|oo)dle")]


class Record(Struct):
    a: int | None = None
    s: str | None = None


def sought(path: Path, wanted: bytes | re.Pattern[bytes], within: int | None = None) -> list[tuple[Record, int, int]]:
    with path.open("rb") as file:
        return list(Seeker(Record, wanted, within=within).read(file.fileno(), path.stat().st_size))


def one_by_one(path: Path) -> list[tuple[Record, int, int]]:
    decoder = Decoder(Record)
    with path.open("rb") as file:
        return [
            (record, line.offset, number)
            for line in lines(file.fileno(), 0, path.stat().st_size)
            if b"needle" in line.data
            for number, record in enumerate(decoder.all(line.data)[0])
        ]


PIECES = st.sampled_from(
    [
        *(b'{"a":1,"s":"needle"}', b'{"a":2,"s":"needle needle"}', b'{"a":3,"s":"else"}', b"", b"needle", b"  "),
        *(b'{"a":4,"s":"needle"}{"a":5,"s":"glued"}', b'{"a":6,"s":"nee{"a":7,"s":"needle"}', b'{"s":"needle",'),
        *(b'{"a":"needle"}', b'\xef\xbb\xbf{"a":8,"s":"needle"}', b'\0\0{"a":9,"s":"needle"}', b"{", b"}"),
    ]
)


@given(st.lists(PIECES, max_size=8), st.booleans(), st.sampled_from(NEEDLES))
def test_they_are_those_of_reading_line_by_line(
    tmp_path_factory: pytest.TempPathFactory,
    pieces: list[bytes],
    finished: bool,
    wanted: bytes | re.Pattern[bytes],
) -> None:
    path = tmp_path_factory.getbasetemp() / "sought"
    path.write_bytes(b"\n".join(pieces) + (b"\n" if finished else b""))
    assert sought(path, wanted) == one_by_one(path)


@pytest.mark.parametrize("wanted", NEEDLES)
@pytest.mark.parametrize("filler", [10, (4 << 20) - 30, 5 << 20, 9 << 20])
def test_in_files_larger_than_what_is_read_at_once(
    tmp_path: Path, filler: int, wanted: bytes | re.Pattern[bytes]
) -> None:
    path = tmp_path / "large"
    record = b'{"a":%d,"s":"needle"}\n'
    path.write_bytes(record % 1 + b'{"s":"' + b"x" * filler + b'"}\n' + record % 2 + b"needle")
    found = sought(path, wanted)
    assert found == one_by_one(path)
    assert [one.a for one, _, _ in found] == [1, 2]


def test_lines_that_are_too_long_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.write(b'{"a":1,"s":"needle"}\n{"a":2,"s":"needle')
        file.seek(LINE_LIMIT + BLOCK, 1)
        file.write(b'"}\n{"a":3,"s":"needle"}')
    assert [one.a for one, _, _ in sought(path, b"needle")] == [1, 3]


def test_what_begins_too_late_in_its_line_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "late"
    early, late = json.dumps({"s": "needle"}), json.dumps({"a": 1, "s": "x" * 50 + "needle"})
    path.write_text("\n".join([late, early, late, early]))
    assert [one.a for one, _, _ in sought(path, b"needle", within=30)] == [None, None]
    assert len(sought(path, b"needle", within=100)) == 4
