"""Text out of a store: valid, on one line, cut between visible characters."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from session_adapters.text import cut, one_line, scrub, scrub_json

ANY_TEXT = st.text(st.characters())
"""Hypothesis leaves surrogates out unless told otherwise."""
WITH_SURROGATES = st.text(st.characters(categories=("L", "Cs", "Cc", "Mn", "So", "Zs")))


@given(WITH_SURROGATES)
def test_scrubbed_text_can_be_encoded_and_keeps_its_length(text: str) -> None:
    clean = scrub(text)
    clean.encode()
    assert len(clean) == len(text)
    assert [a for a, b in zip(text, clean, strict=True) if a != b] == [c for c in text if "\ud800" <= c <= "\udfff"]


def test_scrubbing_reaches_into_values_and_keys() -> None:
    value = json.loads('{"a\\ud800": ["\\udfff", {"b": "ok", "n": 1.5, "t": true, "z": null}]}')
    assert scrub_json(value) == {"a�": ["�", {"b": "ok", "n": 1.5, "t": True, "z": None}]}


@given(WITH_SURROGATES, st.integers(1, 50))
def test_one_line_is_one_line_and_short(text: str, length: int) -> None:
    line = one_line(text, length)
    assert len(line) <= length
    assert line == line.strip()
    assert not any(ord(c) < 32 or 0x7F <= ord(c) <= 0x9F for c in line)
    line.encode()


@given(st.lists(st.sampled_from("ab\u0301\u200d👍🏽🇩🇪한ᄒ\n\t \0\x85"), max_size=80).map("".join), st.integers(4, 9))
@example("a" + " " * 40 + "b", 9)
def test_one_line_says_what_the_whole_text_says(text: str, length: int) -> None:
    whole = "".join(" " if unicodedata.category(char) in ("Cc", "Zs") else char for char in text)
    assert one_line(text, length) == cut(" ".join(part for part in whole.split(" ") if part), length)


def test_one_line_finds_text_behind_any_amount_of_white_space() -> None:
    assert one_line("\n\x00\t" * 50_000 + "Fix\r\n the   test", 20) == "Fix the test"


@pytest.mark.parametrize(
    ("text", "length", "kept"),
    [
        ("plain text", 5, "plain"),
        ("ab 👩‍👩‍👧 cd", 5, "ab"),  # a family joined by U+200D
        ("ab👍🏽c", 3, "ab"),  # a skin tone belongs to the hand
        ("x🇩🇪🇫🇷", 4, "x🇩🇪"),  # flags are pairs
        ("x🇩🇪🇫🇷", 3, "x🇩🇪"),
        ("ae\u0301b", 2, "a"),  # a combining accent
        ("a1\ufe0f\u20e3b", 3, "a"),  # a keycap: two marks, one of them without a combining class
        ("a1\ufe0f\u20e3b", 4, "a1\ufe0f\u20e3"),
        ("a\u1112\u1161\u11abb", 3, "a"),  # a Hangul syllable of three parts
        ("abc", 3, "abc"),
    ],
)
def test_a_cut_never_ends_inside_a_visible_character(text: str, length: int, kept: str) -> None:
    assert cut(text, length) == kept


def test_a_cut_through_nothing_but_marks_still_ends() -> None:
    assert cut("\u0301" * 500, 10) == "\u0301" * 10


@given(ANY_TEXT, st.integers(1, 30))
def test_a_cut_is_a_beginning(text: str, length: int) -> None:
    assert len(cut(text, length)) <= length
    assert text.startswith(cut(text, length))
