"""What records can be had from a line, damaged ones too."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calls import calls_of
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.files import open_file
from session_adapters.reading.lines import JUNK, is_whole, lines


class Row(msgspec.Struct):
    """A record of one number and one text."""

    n: int | None = None
    s: str | None = None


ROWS = Decoder(Row)


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
    assert records or lost or not data.strip(JUNK)
    assert is_whole(data) in (True, False)


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
        with open_file(tmp_path / name) as fd:
            results[name] = [ROWS.one(line.data).n for line in lines(fd)]

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
