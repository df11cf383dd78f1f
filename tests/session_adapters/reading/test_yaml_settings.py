"""Settings in YAML: the values that PyYAML reads, within bounds, and one sentence for everything else."""

from __future__ import annotations

import math
import time
import tracemalloc
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from session_adapters.reading.yaml_settings import read_yaml

_plain = (
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False) | st.text(max_size=20)
)
_values = st.recursive(
    _plain,
    lambda one: st.lists(one, max_size=4) | st.dictionaries(st.text(max_size=8), one, max_size=4),
    max_leaves=20,
)


@given(_values)
def test_what_was_dumped_is_read_as_the_library_reads_it(value: Any) -> None:
    for text in (yaml.safe_dump(value), yaml.safe_dump(value, default_flow_style=True, allow_unicode=True)):
        assert read_yaml(text.encode()) == yaml.safe_load(text)


@pytest.mark.parametrize(
    "text",
    [
        "yes", "No", "on", "OFF", "~", "null", "''", '"true"', "010", "08", "0x1F", "0b11", "1_000", "1:30",
        "-5", "1e3", "1.5e+3", ".5", "-.inf", "a: 1\na: 2", "a: &x 1\nb: *x", "base: &b {x: 1, y: 2}\nown: {<<: *b}",
        "a: &a {x: 1}\nb: &b {x: 2, z: 3}\nc: {<<: [*a, *b]}", "? a\n: b", "a: |\n  x\n  y\n", "a: >\n  x\n  y\n",
        "- [1, {a: b}]\n- !!str 5\n- !!int '7'\n- !!null ''", "", "# nothing", "---\na: b\n...\n", "=: 1",
        "<<: {a: 1}",
    ],
)  # fmt: skip
def test_values_are_those_of_the_library(text: str) -> None:
    assert read_yaml(text) == yaml.safe_load(text)


def test_no_number_is_not_a_number() -> None:
    assert math.isnan(read_yaml(".nan"))


def test_dates_and_endless_numbers_stay_texts() -> None:
    assert read_yaml("a: 2026-01-01") == {"a": "2026-01-01"}
    assert read_yaml("a: " + "9" * 5000) == {"a": "9" * 5000}


def bomb(levels: int) -> str:
    """`lol`, nine times nine …; read by reference it is small, merged it is not."""
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{level}: &a{level} {{l: [{', '.join([f'*a{level - 1}'] * 9)}]}}" for level in range(1, levels)]
    return "\n".join(lines)


def merges(levels: int, width: int) -> str:
    lines = ["a0: &a0 {" + ", ".join(f"k{number}: 1" for number in range(width)) + "}"]
    lines += [
        f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 9)}], n{level}: 1}}"
        for level in range(1, levels)
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested more than 32 deep"),
        ("{a: " * 50_000, "nested more than 32 deep"),
        ("- " * 50_000, "nested more than 32 deep"),
        ("".join(f"k{number}: v\n" for number in range(200_000)), "more than 100,000 values"),
        (merges(40, 2_000), "more than 100,000 values"),
        (bomb(200), "more than 1,000 aliases"),
        ("a: &a [*a]", "stands for nothing"),
        ("a: !!bool x", "'x' is no bool"),
        ('a: !!int ""', "'' is no int"),
        ("a: !!timestamp x", "timestamp is not read"),
        ("a: !!python/object:os.system x", "is not read"),
        ("a: !vault |\n  x", "the tag !vault is not read"),
        ("? [a]\n: b", "no name of a setting"),
        ("<<: 5", "only mappings can be merged"),
        ("a\n---\nb", "more than one document"),
        ("a: [", "expected"),
        ("x" * (5 << 20), "longer than 4 MB"),
        ("a: \x00", "control characters"),
    ],
    ids=range(18),
)
def test_what_is_too_much_or_no_yaml_is_one_sentence(text: str, said: str) -> None:
    tracemalloc.start()
    began = time.process_time()
    with pytest.raises(ValueError, match=said) as caught:
        read_yaml(text)
    assert "\n" not in str(caught.value)
    assert type(caught.value) is ValueError
    assert time.process_time() - began < 20  # seconds: a bound against what is endless, not a measurement
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()


def test_bytes_that_are_no_text_are_one_sentence() -> None:
    with pytest.raises(ValueError, match="not UTF-8"):
        read_yaml(b"a: \xff")
