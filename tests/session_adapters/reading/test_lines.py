"""Lines are what stands between newlines, in bounded memory."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from session_adapters.reading import lines as module
from session_adapters.reading.files import open_file
from session_adapters.reading.lines import JUNK, LINE_LIMIT, Line, is_whole, lines

LINE = st.binary(max_size=60).map(lambda data: data.replace(b"\n", b"")).filter(lambda data: bool(data.strip(JUNK)))


def found(path: Path, start: int = 0, stop: int | None = None) -> list[Line]:
    with open_file(path) as fd:
        return list(lines(fd, start, stop))


@examples(60)
@given(st.lists(LINE, max_size=8), st.booleans(), st.integers(1, 40))
def test_lines_are_what_stands_between_newlines(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], newline: bool, block: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "f"
    path.write_bytes(b"\n".join(rows) + (b"\n" if newline and rows else b""))
    before, module.BLOCK = module.BLOCK, block
    try:
        got = found(path)
    finally:
        module.BLOCK = before
    assert [line.data for line in got] == rows
    assert [line.complete for line in got] == [True] * (len(rows) - 1) + [newline] * bool(rows)
    data = path.read_bytes()
    assert all(data[line.offset : line.offset + len(line.data)] == line.data for line in got)


def test_only_the_newline_ends_a_line(tmp_path: Path) -> None:
    text = '{"s": "a\u2028b\u0085c\x0bd\re"}'
    (tmp_path / "f").write_text(f"{text}\r\n\n \x00\n{text}\n", encoding="utf-8", newline="")
    assert [line.data for line in found(tmp_path / "f")] == [text.encode() + b"\r", text.encode()]


def test_a_line_over_the_limit_is_passed_over_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with path.open("wb") as file:
        file.write(b'{"n":1}\n{"s":"')
        file.seek(200 << 20, os.SEEK_CUR)
        file.write(b'"}\n{"n":2}\n')
    tracemalloc.start()
    got = found(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(line.data, bool(line.too_long), line.complete) for line in got] == [
        (b'{"n":1}', False, True),
        (b"", True, True),
        (b'{"n":2}', False, True),
    ]
    assert got[1].offset == 8
    assert got[1].too_long == (200 << 20) + 8
    assert got[1].excess == "the line is too long to be read (209,715,208 bytes)"
    assert peak < 2 * LINE_LIMIT


def test_a_line_over_the_limit_at_the_end_is_unfinished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_LIMIT", 100)
    monkeypatch.setattr(module, "BLOCK", 32)
    (tmp_path / "f").write_bytes(b"short\n" + b"x" * 500)
    assert [(line.offset, line.too_long, line.complete) for line in found(tmp_path / "f")] == [
        (0, 0, True),
        (6, 500, False),
    ]


def test_a_file_may_shrink_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 64)
    path = tmp_path / "f"
    path.write_bytes(b'{"n":1}\n' * 100)
    with open_file(path) as fd:
        walk = lines(fd, 0, 800)
        first = next(walk)
        os.truncate(path, 100)
        rest = list(walk)
    assert first.data == b'{"n":1}'
    assert len(rest) < 20
    assert not rest[-1].complete


@pytest.mark.parametrize("block", [2, 64, 1 << 20])
def test_of_a_run_of_lines_without_a_record_the_first_are_given_and_the_rest_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr("session_adapters.reading.lines.BLOCK", block)
    path = tmp_path / "f"
    path.write_bytes(b'{"a":1}\n' + b"xy\n" * 3000 + b' {"a":2}\n' + b"z\n" * 1001 + b"torn")
    with open_file(path) as fd:
        found = list(lines(fd))
    assert [one.data for one in found if b"a" in one.data] == [b'{"a":1}', b' {"a":2}']
    assert len(found) == 1 + 1001 + 1 + 1001 + 1
    (first, second) = (one for one in found if one.too_long)
    assert (first.offset, first.excess) == (8 + 3000, "2,000 more lines without a record")
    assert first.offset + first.too_long == 8 + 9000
    assert (second.offset, second.too_long, second.more) == (8 + 9000 + 9 + 2000, 2, 1)
    assert (found[-1].data, found[-1].complete) == (b"torn", False)


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.booleans())), st.integers(0, 400))
def test_a_torn_record_is_not_whole(record: dict[str, object], at: int) -> None:
    data = json.dumps(record).encode()
    assert is_whole(data)
    assert is_whole(b"\x00" + data + b"\r")
    assert not is_whole(data[: min(at, len(data) - 1)])
