"""Text made safe for a terminal (law 5), and figures in fixed widths."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.display import age, count, duration, money, priced, safe, size, until, with_tilde
from session_adapters.model import EPOCH, Cost

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)


# Signs that Arabic, Syriac and Kaithi put around numbers: format characters that have a shape.
SHAPED = {chr(code) for code in (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD)}


def test_no_character_of_unicode_acts_reorders_joins_or_hides() -> None:
    everything = "".join(map(chr, range(0x110000)))
    for keep in (False, True):
        out = set(safe(everything, keep_newlines=keep)) - SHAPED - ({"\n"} if keep else set())
        bad = [hex(ord(char)) for char in out if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
        assert bad == []


@given(ANY_TEXT)
def test_the_result_can_always_be_encoded(text: str) -> None:
    safe(text).encode("utf-8")
    safe(text, keep_newlines=True).encode("utf-8")


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0)])
def test_every_control_character(code: int) -> None:
    out = safe(f"a{chr(code)}b")
    assert chr(code) not in out
    assert out[0] + out[-1] == "ab"
    assert len(out) == 3  # it stays visible that there was something


@pytest.mark.parametrize("char", BIDI + "\u200b\u200c\u200d\u2060\ufeff\u00ad\U000e0041\ufe0f\U000e0101")
def test_what_deceives_the_eye(char: str) -> None:
    assert char not in safe(f"a{char}b")
    assert char not in safe(f"a{char}b", keep_newlines=True)


@given(st.text(alphabet="\x1b[]0123456789;:mKHJPX^_\\\x07\x9b\x9d\u202eab", max_size=30))
def test_no_escape_sequence_survives_in_any_arrangement(text: str) -> None:
    assert not set(safe(text)) & set("\x1b\x9b\x9d\x07\u202e")


def test_colours_are_taken_out_and_other_sequences_shown() -> None:
    assert safe("\x1b[1;31mred\x1b[0m plain \x9b32mgreen") == "red plain green"
    assert safe("\x1b]52;c;aGk=\x07") == "␛]52;c;aGk=␇"
    assert safe("\x1b[2J") == "␛[2J"
    assert safe("\x1b\x1b[0m[2J") == "␛[2J"  # taking out makes no new sequence


def test_line_ends_and_tabs() -> None:
    assert safe("a\r\nb\rc\nd\te\u2028f") == "a b c d e f"
    assert safe("a\r\nb\rc\nd\te\u2028f", keep_newlines=True) == "a\nb\nc\nd       e\nf"


def test_plain_text_comes_back_as_it_is() -> None:
    for text in ("plain", "", "Übung Süd", "日本語", "naïve café", "[red]not markup[/]", "한국어", "Ελλ", "😀"):
        assert safe(text) == text
    plain = "x" * 1000
    assert safe(plain) is plain


def test_piles_of_combining_marks_are_cut_down() -> None:
    assert len(safe("a" + "\u0301" * 500)) == 4
    assert safe("e\u0301\u0323") == "e\u0301\u0323"


def test_lone_surrogates_can_be_written_afterwards() -> None:
    assert safe("a\ud800b\udfff").encode() == "a\ufffdb\ufffd".encode()


@pytest.mark.parametrize(
    ("ago", "shown"),
    [
        (timedelta(seconds=-90), "now"),
        (timedelta(seconds=59), "now"),
        (timedelta(minutes=3), " 3m"),
        (timedelta(minutes=59, seconds=59), "59m"),
        (timedelta(hours=2), " 2h"),
        (timedelta(hours=23, minutes=59), "23h"),
        (timedelta(days=5), " 5d"),
        (timedelta(days=99), "99d"),
        (timedelta(days=100), "14w"),
        (timedelta(days=699), "99w"),
        (timedelta(days=800), " 2y"),
    ],
)
def test_age(ago: timedelta, shown: str) -> None:
    assert age(NOW - ago, NOW) == shown


@pytest.mark.parametrize(
    ("ahead", "shown"),
    [
        (timedelta(hours=3), "until Sat 13:00"),
        (timedelta(days=6), "until Fri 27 Nov 10:00"),
        (timedelta(seconds=0), "was until Sat 10:00"),
        (timedelta(days=-1), "was until Fri 10:00"),
        (timedelta(days=-30), "was until Thu 22 Oct 10:00"),
    ],
)
def test_until_says_when_it_is_over(ahead: timedelta, shown: str) -> None:
    assert until(NOW + ahead, NOW) == shown


@given(st.datetimes(datetime(1970, 1, 2), datetime(2060, 1, 1)))
def test_age_is_always_three_cells(moment: datetime) -> None:
    assert len(age(moment.replace(tzinfo=UTC), NOW)) == 3
    assert age(None, NOW) == age(EPOCH, NOW) == "  —"


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (1234, "1.2k"),
        (9949, "9.9k"),
        (9960, "10k"),
        (31_000, "31k"),
        (999_400, "999k"),
        (999_600, "1.0M"),
        (1_200_000, "1.2M"),
        (5_000_000_000, "5.0B"),
        (10**400, "1000000T"),
        (-(10**400), "-1000000T"),
    ],
)
def test_count(number: int, shown: str) -> None:
    assert count(number) == shown


@given(st.integers(0, 10**12))
def test_count_fits_four_cells(number: int) -> None:
    assert len(count(number)) <= 4


def test_money() -> None:
    assert money(None) == ""
    assert money(Cost(total_usd=1.834)) == "1.83"
    assert money(Cost(total_usd=1.834, estimated=True)) == "~1.83"
    assert money(Cost(total_usd=0.001)) == "<0.01"
    assert money(Cost(total_usd=0.0)) == "0.00"
    assert money(Cost(total_usd=1234.5)) == "1,234.50"


def test_money_in_running_text_has_its_sign_before_the_digits() -> None:
    assert priced(None) == ""
    assert priced(Cost(total_usd=1.834)) == "$1.83"
    assert priced(Cost(total_usd=1.834, estimated=True)) == "~$1.83"
    assert priced(Cost(total_usd=0.001)) == "<$0.01"
    assert priced(Cost(total_usd=0.001, estimated=True)) == "~<$0.01"


def test_duration_and_size() -> None:
    assert duration(timedelta(days=3, hours=4, minutes=5)) == "3d 4h"
    assert duration(timedelta(days=3, minutes=5)) == "3d"
    assert duration(timedelta(minutes=5, seconds=10)) == "5m 10s"
    assert duration(timedelta(0)) == "0s"
    assert (size(812), size(1200), size(31_000_000), size(4_000_000_000)) == ("812 B", "1.2 kB", "31 MB", "4.0 GB")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/root", "~"),
        ("/root/.claude, /root/x", "~/.claude, ~/x"),
        ("it is in /root. And in (/root)", "it is in ~. And in (~)"),
        ("/rootfs /root.d /root-a /srv/root ~/root", "/rootfs /root.d /root-a /srv/root ~/root"),
        ("/srv/root/x //root", "/srv/root/x //root"),
    ],
)
def test_a_home_is_written_as_a_tilde_where_a_path_begins(text: str, told: str) -> None:
    assert with_tilde(text, "/root") == with_tilde(text, "/root/") == told
    assert with_tilde(text, None) == with_tilde(text, "/") == text
