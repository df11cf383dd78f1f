"""Reading files without touching them."""

from __future__ import annotations

import json
import os
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calls import calls_of
from chances import examples
from session_adapters.reading import files
from session_adapters.reading.files import Decoder, file_stamp, is_whole, lines, open_file, read_at, read_small


class Row(msgspec.Struct):
    """A record of one number and one text."""

    n: int | None = None
    s: str | None = None


ROWS = Decoder(Row)
LINE = (
    st.binary(max_size=60)
    .map(lambda data: data.replace(b"\n", b""))
    .filter(lambda data: bool(data.strip(files.JUNK)))
)


def found(path: Path, start: int = 0, stop: int | None = None) -> list[files.Line]:
    with open_file(path) as fd:
        return list(lines(fd, start, stop))


@examples(60)
@given(st.lists(LINE, max_size=8), st.booleans(), st.integers(1, 40))
def test_lines_are_what_stands_between_newlines(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], newline: bool, block: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "f"
    path.write_bytes(b"\n".join(rows) + (b"\n" if newline and rows else b""))
    before, files.BLOCK = files.BLOCK, block
    try:
        got = found(path)
    finally:
        files.BLOCK = before
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
    assert peak < 2 * files.LINE_LIMIT


def test_a_line_over_the_limit_at_the_end_is_unfinished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LINE_LIMIT", 100)
    monkeypatch.setattr(files, "BLOCK", 32)
    (tmp_path / "f").write_bytes(b"short\n" + b"x" * 500)
    assert [(line.offset, line.too_long, line.complete) for line in found(tmp_path / "f")] == [
        (0, 0, True),
        (6, 500, False),
    ]


def test_nothing_but_regular_files_is_opened_and_nothing_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("pipe", ".", "loop", "absent"):
        with pytest.raises(OSError), open_file(tmp_path / name):
            pass


def test_descriptors_are_given_back_also_after_errors(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"{}\n" * 10)
    table = Path("/proc/self/fd") if Path("/proc/self/fd").is_dir() else Path("/dev/fd")
    before = len(list(table.iterdir()))
    for _ in range(50):
        found(tmp_path / "f")
        with pytest.raises(OSError), open_file(tmp_path):
            pass
        with pytest.raises(ZeroDivisionError), open_file(tmp_path / "f"):
            raise ZeroDivisionError
    assert len(list(table.iterdir())) == before


def test_reading_leaves_the_access_time_alone(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * 100)
    os.utime(path, (1_000_000, 2_000_000))
    assert read_small(path) == b"x" * 100
    status = path.stat()
    assert status.st_mtime == 2_000_000
    if hasattr(os, "O_NOATIME"):
        assert status.st_atime == 1_000_000


def test_small_files_must_be_small(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 11)
    with pytest.raises(OSError, match="larger than expected"):
        read_small(tmp_path / "f", 10)


def test_the_stamp_changes_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"one")
    first = file_stamp(path.stat())
    assert file_stamp(path.stat()) == first
    path.write_bytes(b"three")
    second = file_stamp(path.stat())
    other = tmp_path / "g"
    other.write_bytes(b"three")
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)
    assert len({first, second, file_stamp(path.stat())}) == 3


def test_reading_past_the_end_gives_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    with open_file(tmp_path / "f") as fd:
        assert read_at(fd, 1, 100) == b"bc"
        assert read_at(fd, 50, 100) == b""


def test_a_file_may_shrink_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK", 64)
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


# Decoding --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "numbers", "lost"),
    [
        (b'{"n":1}', [1], False),
        (b'\xef\xbb\xbf{"n":1}\r', [1], False),
        (b'\x00\x00\x00{"n":1}\x00\x00', [1], False),
        (b'{"n":"1"}', [1], False),
        (b'{"n":1,"x":NaN}', [1], False),
        (b'{"n":1,"s":"\\ud800"}', [1], False),
        (b'{"n":1,"s":"\xff\xfe"}', [1], False),
        (b'{"n":1}{"n":2}', [1, 2], False),
        (b'{"n":1}\x00\x00{"n":2}', [1, 2], False),
        (b'{"n":1,"s":"half{"n":2,"s":"whole"}', [2], True),
        (b'{"n":1,"x":{"y":{"z":[{"a":1}]},"s":"ha{"n":2,"x":{"y":3}}', [2], True),
        (b'{"n":1', [], True),
        (b'{"n":[1]}', [], True),
        (b"[1,2]", [], True),
        (b"garbage", [], True),
        (b'{"a":' * 5_000, [], True),
    ],
)
def test_what_can_be_had_from_a_line(data: bytes, numbers: list[int], lost: bool) -> None:
    records, gone = ROWS.all(data)
    assert [record.n for record in records if record.n is not None] == numbers
    assert gone is lost


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_half_a_record_cut_anywhere_costs_that_record_alone(separators: tuple[str, str]) -> None:
    whole = {"n": 1, "x": {"n": 3, "s": "a"}, "y": [{"n": 4, "s": "b"}, {"n": 5}], "z": {"n": {"n": 6}}}
    data = json.dumps(whole, separators=separators).encode()
    for cut in range(1, len(data)):
        records, lost = ROWS.all(data[:cut] + b'{"n":2,"x":{"n":7}}')
        assert ([record.n for record in records], lost) == ([2], True), data[:cut]


def test_lone_surrogates_become_replacement_characters() -> None:
    assert ROWS.one(b'{"s":"a\\udc00b"}').s == "a�b"


@pytest.mark.parametrize("data", [b"", b"x", b"[]", b'{"n":1}{"n":2}', b'{"n":{}}', b"[" * 100_000])
def test_one_refuses_what_is_not_one_record(data: bytes) -> None:
    with pytest.raises(ValueError):
        ROWS.one(data)


@given(st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    records, lost = ROWS.all(data)
    assert records or lost or not data.strip(files.JUNK)
    assert is_whole(data) in (True, False)


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.booleans())), st.integers(0, 400))
def test_a_torn_record_is_not_whole(record: dict[str, object], at: int) -> None:
    data = json.dumps(record).encode()
    assert is_whole(data)
    assert is_whole(b"\x00" + data + b"\r")
    assert not is_whole(data[: min(at, len(data) - 1)])


@pytest.mark.parametrize("limit", [1000, 8000])
@pytest.mark.parametrize(
    "data",
    [b'{"s":"' + b'{"x":[' * 400_000 + b"}", b'{"x":' * 4000 + b"}", b'{"x":' * 900 + b"}"],
    ids=["large", "deep", "small"],
)
def test_a_damaged_line_does_not_take_long(data: bytes, limit: int) -> None:
    """The work is bounded, not only the time, and grows neither with the square of the length nor with how deeply
    Python lets values nest."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        with calls_of(json.JSONDecoder.raw_decode) as tried:
            assert ROWS.all(data) == ([], True)
    finally:
        sys.setrecursionlimit(usual)
    spent = sum(min(len(one["s"]) - one["idx"], 6 * limit) for one in tried)
    assert 0 < spent < 20 * len(data) + 20 * limit


def test_a_record_behind_half_of_another_is_found_however_much_stands_in_the_half() -> None:
    whole = b'{"n":7}'
    half = b'{"list":[' + b'{"a":{"b":{"c":[{"d":1},{"d":2}]}}},' * 5000 + b'{"e":"cut'
    assert ROWS.all(half + whole)[0] == ROWS.all(whole)[0]


def test_readers_in_several_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / name).write_bytes(b"".join(b'{"s":"%s","n":%d}\n' % (name.encode(), n) for n in range(2_000)))
    results: dict[str, list[int | None]] = {}

    def read(name: str) -> None:
        results[name] = [ROWS.one(line.data).n for line in found(tmp_path / name)]

    threads = [threading.Thread(target=read, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {name: list(range(2_000)) for name in "abcd"}


def test_raw_control_characters_inside_strings_are_no_loss() -> None:
    decoder: Decoder[dict[str, Any]] = Decoder(dict)
    assert decoder.one(b'{"text": "one\ntwo\ttab"}') == {"text": "one\ntwo\ttab"}
    assert decoder.all(b'{"a": "\x01"}{"b": "\t"}') == ([{"a": "\x01"}, {"b": "\t"}], False)


@pytest.mark.parametrize("block", [2, 64, 1 << 20])
def test_of_a_run_of_lines_without_a_record_the_first_are_given_and_the_rest_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr("session_adapters.reading.files.BLOCK", block)
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
