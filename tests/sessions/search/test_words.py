"""Words as FTS5 sees them: compared with FTS5 itself."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from itertools import pairwise

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.sessions.words import TOKENIZER, Passage, located, spaced, spaced_bytes, tokens

SAMPLES = [
    "can't a@b.com /usr/bin C:\\x 100% #tag hello?",
    "Café ſtop K Åre İstanbul naïve e\u0301t\u0303e",
    "大别山 mixed東京tower かな 한국어 말",
    "x\u3099y ゴ゙ゴ \u302a漢\u302b",
    "straße ﬁne Ⅷ ² ½ 😀a😀 — … “q”",
    "กาแฟ ร้อน عربى १२३",
    "a\x00b\x1b[31mred\x07 lone \ud800 surrogate",
    "",
]
LETTERS = st.text(st.sampled_from("abcxyzABC019 _-.'\"\u00e9\u0130\u0301K—漢字かな한😀\u200d\n\x00"), max_size=40)


def fts(text: str, phrase: str) -> bool:
    """Whether a contentless FTS5 table with this tokenizer finds the phrase."""
    connection = apsw.Connection(":memory:")
    connection.execute(f'CREATE VIRTUAL TABLE t USING fts5(x, tokenize="{" ".join(TOKENIZER)}")')
    data = spaced(text).encode("utf-8", "replace").decode()
    connection.execute("INSERT INTO t VALUES (?)", (data,))
    return bool(connection.execute("SELECT count(*) FROM t WHERE t MATCH ?", (phrase,)).fetchone()[0])  # type: ignore[index]


@given(st.one_of(LETTERS, st.text(max_size=60), st.sampled_from(SAMPLES)))
def test_blanks_are_the_same_in_bytes(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    assert spaced_bytes(text.encode()).decode() == spaced(text)


@pytest.mark.parametrize("text", SAMPLES)
def test_each_word_stands_where_it_is_said_to(text: str) -> None:
    found = located(text)
    assert [token.word for token in found] == tokens(text)
    for token in found:
        assert tokens(text[token.start : token.end]) == [token.word]
    assert all(one.end <= other.start for one, other in pairwise(found))


@given(LETTERS)
@examples(50)
def test_every_word_stands_where_it_is_said_to(text: str) -> None:
    for token in located(text):
        assert tokens(text[token.start : token.end]) == [token.word]


@given(LETTERS, st.integers(0, 30), st.integers(1, 3), st.booleans())
@examples(50)
def test_a_phrase_is_found_where_fts5_finds_it(text: str, at: int, length: int, other: bool) -> None:
    words = tokens(text)[at % 5 : at % 5 + length]
    if other:
        words = [*words[:-1], words[-1] + "b"] if words else []
    if not words:
        return
    phrase = " + ".join(f'"{word}"' for word in words)
    assert Passage(text).holds(words) == fts(text, phrase)
    begun = [*words[:-1], words[-1][:1]]
    assert Passage(text).holds(begun, prefix=True) == fts(text, " + ".join(f'"{word}"' for word in begun) + "*")


def test_what_folding_makes_ascii_is_known() -> None:
    """The short way past texts without accents must not pass any."""
    for code in range(0x80, 0x30000):
        char = chr(code)
        if unicodedata.category(char) in ("Cs", "Cn"):
            continue
        joined = tokens(f"a{char}b")
        if len(joined) == 1 and joined[0].isascii():
            assert not Passage(char).plain, hex(code)


def test_spans_light_up_every_place() -> None:
    text = "Deploy: deploy-er déployé DEPLOYMENT 大别山deploy"
    assert [text[slice(*span)] for span in Passage(text).find(["deploy"])] == ["Deploy", "deploy", "deploy"]
    begun = [text[slice(*span)] for span in Passage(text).find(["deploy"], prefix=True)]
    assert begun == ["Deploy", "deploy", "déployé", "DEPLOYMENT", "deploy"]
    assert [text[slice(*span)] for span in Passage(text).find(["别", "山"])] == ["别山"]


def test_what_tells_han_kana_and_hangul_apart_is_made_when_a_text_needs_it() -> None:
    counted = (
        "from hermes_tui.sessions import words; size = lambda: words._cjk.cache_info().currsize;"
        "print(len(words.tokens('plain words')), size(), len(words.tokens('漢字')), size())"
    )
    found = subprocess.run([sys.executable, "-c", counted], check=True, capture_output=True, text=True).stdout
    assert found.split() == ["2", "0", "2", "1"]
