"""What may come in from a terminal."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.driver import PasteFilter

START, END = "\x1b[200~", "\x1b[201~"
PIECE = st.sampled_from(
    [START, END, "\x1b", "\x1b[", "\x1b[20", "0~", "1~", "[201~", "q", "\x1b[A", "\x1b\x1b[201~", "é"]
)


def plainly(text: str) -> str:
    """The same at once, for input that ends outside a paste."""
    return re.sub(
        f"{re.escape(START)}(.*?){re.escape(END)}",
        lambda paste: START + paste[1].replace("\x1b", "") + END,
        text,
        flags=re.DOTALL,
    )


@given(st.lists(PIECE, max_size=12), st.lists(st.integers(0, 80), max_size=8))
def test_escapes_are_taken_out_of_pastes_alone(pieces: list[str], cuts: list[int]) -> None:
    """However the input is cut into reads."""
    text = "".join(pieces) + END  # whatever paste was begun is over
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    clean = PasteFilter()
    got = "".join(clean(text[begin:end]) for begin, end in pairwise(places))
    assert got == plainly(text)


def test_keys_are_never_held_back() -> None:
    clean = PasteFilter()
    for key in ("\x1b", "[", "2", "0", "j", "\x1b[A", "\x1b"):
        assert clean(key) == key
