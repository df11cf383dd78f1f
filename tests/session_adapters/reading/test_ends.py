"""The ends of a long file, read in whole lines, and the lines between them that hold a word; on random files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from session_adapters.reading import ends as module
from session_adapters.reading import lines
from session_adapters.reading.ends import Ends, marked_lines, read_ends
from session_adapters.reading.files import METER, open_file

LINE = st.binary(min_size=1, max_size=60).map(lambda data: b"{" + data.replace(b"\n", b" "))
ROWS = st.lists(LINE, min_size=1, max_size=30)
SPAN = st.integers(1, 200)


def written(folder: Path, rows: list[bytes]) -> Path:
    path = folder / "f"
    path.write_bytes(b"".join(row + b"\n" for row in rows))
    return path


def ends_of(path: Path, head: int, tail: int, **more: object) -> Ends:
    with open_file(path) as fd:
        return read_ends(fd, path.stat().st_size, head, tail, **more)  # type: ignore[arg-type]


def marked(path: Path, start: int, stop: int, *marks: bytes) -> list[bytes]:
    with open_file(path) as fd:
        found = list(marked_lines(fd, start, stop, marks))
    data = path.read_bytes()
    assert all(data[line.offset :].startswith(line.data + b"\n") for line in found)
    return [line.data for line in found]


@examples(150)
@given(ROWS, SPAN, SPAN)
def test_ends_are_the_whole_lines_that_the_ends_touch(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], head: int, tail: int
) -> None:
    path = written(tmp_path_factory.mktemp("ends"), rows)
    size = path.stat().st_size
    starts = [sum(len(row) + 1 for row in rows[:number]) for number in range(len(rows) + 1)]
    first = next(number for number, start in enumerate(starts) if start >= min(head, size))
    # A newline is a byte of its line.
    last = next(number for number in range(len(rows)) if starts[number + 1] > max(size - tail, 0))
    METER.reset()
    found = ends_of(path, head, tail)
    got, rest = [line.data for line in found.head], [line.data for line in found.tail]
    if size <= head + tail or last <= first:
        assert found.whole
        assert got + rest == rows
    else:
        assert (got, rest) == (rows[:first], rows[last:])
        assert found.gap == (starts[first], starts[last])
    assert METER.bytes <= head + tail + 2 * (61 + module.STEP)


@given(ROWS, SPAN, SPAN, st.integers(1, 2000))
def test_more_is_read_until_it_is_enough(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], head: int, tail: int, reach: int
) -> None:
    path = written(tmp_path_factory.mktemp("ends"), rows)
    begun: list[bytes] = []
    ended: list[bytes] = []

    def count(new: object) -> bool:
        begun.extend(line.data for line in new)  # type: ignore[attr-defined]
        return len(begun) > 3

    def weigh(new: object) -> bool:
        ended[:0] = [line.data for line in new]  # type: ignore[attr-defined]
        return len(ended) > 3

    found = ends_of(path, head, tail, reach=reach, begun=count, ended=weigh)
    assert begun == [line.data for line in found.head]  # each line once, in order
    if not found.whole:
        assert ended == [line.data for line in found.tail]
        assert len(begun) > 3 or found.gap[0] >= reach
        assert len(found.tail) > 3 or path.stat().st_size - found.gap[1] >= reach


@examples(150)
@given(ROWS, st.integers(0, 29), st.integers(0, 29), st.integers(1, 120))
def test_marked_lines_are_those_that_hold_a_mark(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], low: int, high: int, block: int
) -> None:
    path = written(tmp_path_factory.mktemp("marked"), rows)
    low, high = min(low, len(rows)), min(high, len(rows))
    start, stop = (sum(len(row) + 1 for row in rows[:number]) for number in (low, high))
    marks = [rows[0][:2], b"{\x00"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        assert marked(path, start, stop, *marks) == [
            row for row in rows[low:high] if any(mark in row for mark in marks)
        ]


def test_a_line_over_the_limit_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the ends it comes with its place; between them it is passed over, and what stands behind it is found."""
    for where in (module, lines):
        monkeypatch.setattr(where, "LINE_LIMIT", 4000)
        monkeypatch.setattr(where, "BLOCK", 1000)
    long = b'{"here' + b"x" * 30_000 + b'here"}'
    path = written(tmp_path, [long, b'{"a":1}', *[b'{"b":2}'] * 100, b'{"here":3}', long])
    found = ends_of(path, 100, 100)
    assert [line.too_long for line in found.head] == [1]
    assert [line.too_long for line in found.tail] == [1]
    assert found.gap[0] == found.head[0].offset == 0
    assert path.stat().st_size - len(long) - 1 <= found.tail[0].offset == found.gap[1]
    assert marked(path, 0, path.stat().st_size, b"here") == [b'{"here":3}']


def test_only_the_newest_of_very_many_bytes_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SCANNED", 1000)
    path = written(tmp_path, [b'{"here":%03d}' % number for number in range(200)])
    found = marked(path, 0, path.stat().st_size, b"here")
    assert found[-1] == b'{"here":199}'
    assert 1000 <= sum(len(line) + 1 for line in found) <= 1020
