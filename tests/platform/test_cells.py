"""Widths of text in columns: one table for both faces, that which draws the screen."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hermes_tui.cells import fit, pad, width_of
from hermes_tui.display import PIN, safe

ANY_TEXT = st.text(st.characters())


@given(ANY_TEXT, st.integers(0, 40), st.booleans())
def test_padded_text_has_exactly_the_width(text: str, width: int, right: bool) -> None:
    assert width_of(pad(safe(text), width, right=right)) == width
    assert width_of(fit(safe(text), width)) <= width


def test_wide_characters_are_not_halved() -> None:
    assert pad("日本語", 4) == "日… "
    assert pad("日本語", 6) == "日本語"
    assert pad("ab", 4, right=True) == "  ab"


def test_every_character_takes_what_the_screen_gives_it() -> None:
    """Those that are counted without a look into the table, too."""
    planes = (*range(0x20000), *range(0x1FFF0, 0x20010))
    shown = [char for char in map(chr, planes) if safe(char) == char]
    assert len(shown) > 100_000
    assert [char for char in shown if width_of(char) != cell_len(char)] == []


@pytest.mark.parametrize(("text", "looked_up"), [(f"  — {PIN} café “…” │", False), ("த்", True)])
def test_the_command_line_asks_for_the_table_when_it_needs_it(text: str, looked_up: bool) -> None:
    code = "import sys; from hermes_tui.cells import pad; pad(sys.argv[1], 3); print('rich' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code, text], env=os.environ, capture_output=True, text=True, timeout=180, check=True
    )
    assert ran.stdout.strip() == str(looked_up)
