"""Lines decoded many at a time: the same records in the same places as one at a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from chances import examples
from session_adapters.reading import batches, files
from session_adapters.reading.batches import BatchDecoder
from session_adapters.reading.files import Decoder, is_whole, lines, open_file


class Brief(Struct):
    number: int | None = None


class Full(Brief):
    text: str | None = None


def one_by_one(path: Path) -> list[tuple[int, int, int | None]]:
    decoder = Decoder(Full)
    with open_file(path) as fd:
        return [
            (line.offset, index, record.number)
            for line in lines(fd, 0, path.stat().st_size)
            if not line.too_long and (line.complete or is_whole(line.data))
            for index, record in enumerate(decoder.all(line.data)[0])
        ]


def at_once(path: Path) -> list[tuple[int, int, int | None]]:
    decoder: BatchDecoder[Brief] = BatchDecoder(Brief, Decoder(Full))
    with open_file(path) as fd:
        return [
            (*batch.place(index), record.number)
            for batch in decoder.read(fd, path.stat().st_size)
            for index, record in enumerate(batch.records)
        ]


def cut_lines(path: Path) -> list[tuple[int, bytes]]:
    """Those that are not blank."""
    decoder: BatchDecoder[Brief] = BatchDecoder(Brief, Decoder(Full))
    with open_file(path) as fd:
        found = [line for batch in decoder.read(fd, path.stat().st_size) for line in batch.lines()]
    return [(offset, data) for offset, data in found if data.strip(b"\x00 \t\r")]


def lines_one_by_one(path: Path) -> list[tuple[int, bytes]]:
    with open_file(path) as fd:
        return [
            (line.offset, line.data)
            for line in lines(fd, 0, path.stat().st_size)
            if line.complete or is_whole(line.data)
        ]


whole = st.builds(
    lambda number, text: json.dumps({"number": number, "text": text}).encode(),
    st.integers(0, 99),
    st.text(max_size=90),
)
glued = st.lists(whole, min_size=2, max_size=3).map(b"".join)
odd = st.sampled_from(
    (
        b"",
        b"  ",
        b"\r",
        b"\x00\x00\x00",
        b'{"number": 1',
        b"]",
        b"3",
        b'{"number": "x"}',
        b'{"number": "7"}',
        b"\xff",
        b"{}\r",
    )
)


@given(
    made=st.lists(st.one_of(whole, whole, whole, glued, odd), max_size=30),
    end=st.sampled_from((b"\n", b"", b'\n{"number": 5}', b'\n{"numb')),
    block=st.sampled_from((40, 200, 5000)),
)
@examples(50)
def test_the_same_records_in_the_same_places(
    made: list[bytes], end: bytes, block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    path.write_bytes(b"\n".join(made) + end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "BLOCK", block)
        assert at_once(path) == one_by_one(path)
        assert cut_lines(path) == lines_one_by_one(path)


def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK", 1000)
    monkeypatch.setattr(batches, "BLOCK", 1000)
    monkeypatch.setattr(files, "LINE_LIMIT", 5000)
    path = tmp_path / "a.jsonl"
    long = json.dumps({"number": 2, "text": "x" * 9000})
    path.write_text('{"number": 1}\n' + long + '\n{"number": 3}\n')
    assert at_once(path) == one_by_one(path) == [(0, 0, 1), (len(long) + 15, 0, 3)]
