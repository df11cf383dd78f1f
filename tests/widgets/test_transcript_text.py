"""Plain text: cut, folded, counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hermes_tui.tui.widgets.transcript.layout.cut_text import compact, count_lines, excerpt, fold, whole


def test_an_excerpt_says_what_it_leaves_out() -> None:
    part = excerpt("\n".join(["x" * 1500, *(str(number) for number in range(300))]))
    assert len(part.lines) == 200
    assert part.hidden == 101
    assert part.shortened == 1
    assert part.lines[0] == "x" * 1000 + "…"
    assert excerpt("a\r\nb\tc\n") == (["a", "b   c"], 0, 0)
    assert excerpt("") == whole("") == ([], 0, 0)


def test_all_of_a_text_is_all_up_to_a_bound() -> None:
    assert whole("a\nb\n").lines == ["a", "b"]
    huge = whole("0123456789\n" * 400_000)
    assert len(huge.lines) + huge.hidden in (400_000, 400_001)
    assert huge.hidden > 0


@given(st.text(alphabet="ab \n", max_size=60))
def test_lines_are_counted_as_they_are_shown(text: str) -> None:
    assert count_lines(text) == len(whole(text).lines)
    assert count_lines(text) == len(excerpt(text).lines)


@given(st.text(alphabet=st.sampled_from("ab c日🎉\u0301é"), max_size=80), st.integers(2, 20))
def test_folding_loses_nothing_but_blanks(line: str, width: int) -> None:
    for words in (False, True):
        rows = fold([line], width, words=words)
        assert rows
        assert all(cell_len(row) <= width for row in rows)
        joined = "".join(rows)
        assert joined.replace(" ", "") == line.replace(" ", "") if words else cell_len(joined) == cell_len(line)


def test_words_stay_whole_and_indents_stay() -> None:
    assert fold(["the quick brown fox"], 10, words=True) == ["the quick", "brown fox"]
    assert fold(["    indented word"], 12, words=True) == ["    indented", "word"]
    assert fold(["x" * 25], 10, words=True) == ["x" * 10, "x" * 10, "x" * 5]
    assert fold([""], 10) == [""]


def test_one_line_of_a_long_text() -> None:
    assert compact("  a\n\n b\x1b[2J " + "x" * 10_000_000)[:8] == "a b␛[2J "
    assert len(compact("word " * 10_000)) == 400
