"""Every key once; a user's keymap is checked as a whole before any of it is used."""

from __future__ import annotations

import re

import pytest
from textual.binding import Binding

from hermes_tui.tui.key_contexts import CONTEXTS
from hermes_tui.tui.keymap import KEYS, bindings, key_label
from hermes_tui.tui.user_keymap import validate_keymap


def test_ids_are_unique_and_say_their_context() -> None:
    ids = [key.id for key in KEYS]
    assert len(ids) == len(set(ids))
    for key in KEYS:
        assert key.context in CONTEXTS
        assert re.fullmatch(r"[a-z]+\.[a-z_]+", key.id)
        assert key.description[0].isupper() and not key.description.endswith(".")


def test_the_transcripts_keys_are_among_all() -> None:
    assert {"transcript.follow", "transcript.down"} <= {key.id for key in KEYS}


def test_the_keys_as_shipped_pass_their_own_check() -> None:
    """Each binding given its own keys: a real name, and no two meanings in one place among the changed ones."""
    for key in KEYS:
        assert [one for one in validate_keymap({key.id: key.keys}) if "is no key name" in one] == []
    inside: dict[str, list[str]] = {}
    for key in KEYS:
        inside.setdefault(key.context, []).extend(key.keys.split(","))
    for context, keys in inside.items():
        assert len(keys) == len(set(keys)), context


def test_every_key_is_bound_under_its_id() -> None:
    for context in CONTEXTS:
        for binding, key in zip(bindings(context), [one for one in KEYS if one.context == context], strict=True):
            assert isinstance(binding, Binding)
            assert (binding.id, binding.key, binding.action) == (key.id, key.keys, key.action)


@pytest.mark.parametrize(
    "good",
    [
        "ctrl+r",
        "f5",
        "J",
        "question_mark",
        "?",
        "ctrl+shift+left",
        "space",
        "percent_sign",
        "%",
        "f24",
        "alt+x,ctrl+alt+y",
    ],
)
def test_key_names_that_exist(good: str) -> None:
    assert validate_keymap({"main.refresh": good}) == [] or good in ("J", "?", "question_mark", "space")
    assert not any("is no key name" in one for one in validate_keymap({"main.refresh": good}))


@pytest.mark.parametrize("bad", ["ctrl+", "crtl+x", "f25", "nokey", "ctrl+nokey", "ctrl+ctrl+x", "xx"])
def test_key_names_that_do_not(bad: str) -> None:
    (wrong,) = validate_keymap({"main.refresh": bad})
    assert "main.refresh" in wrong and repr(bad) in wrong and "is no key name" in wrong


def test_everything_wrong_is_told_at_once() -> None:
    wrong = validate_keymap(
        {
            "list.opne": "o",
            "list.open": "ctrl+nokey",
            "list.down": "k",
            "app.quit": " ",
            "page.close": "ctrl+w",
        }
    )
    assert len(wrong) == 4
    text = "\n".join(wrong)
    assert "no binding 'list.opne'; did you mean 'list.open'?" in text
    assert "'ctrl+nokey' is no key name" in text
    assert "'k' means both" in text and "list.down" in text and "list.up" in text
    assert "app.quit has no key" in text


def test_a_key_of_an_outer_context_clashes_inside() -> None:
    assert validate_keymap({"list.open": "q"}) == ["keymap: 'q' means both list.open and app.quit"]
    assert validate_keymap({"list.open": "m"}) == []
    # Characters typed into the filter box are text.
    assert validate_keymap({"search.keep": "enter,ctrl+g"}) == []


def test_swapping_two_keys_is_no_clash() -> None:
    assert validate_keymap({"list.down": "k", "list.up": "j"}) == []


def test_labels() -> None:
    assert key_label("enter,l") == "↵ l"
    assert key_label("question_mark") == "?"
    assert key_label("ctrl+d,pagedown") == "ctrl+d pgdn"
    assert key_label("shift+tab") == "shift+tab"
    assert key_label("exclamation_mark") == "!"
