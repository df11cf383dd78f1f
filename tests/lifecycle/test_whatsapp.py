"""One name for one person, the same that the real Hermes takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.lifecycle.keys import build_session_key
from hermes_tui.lifecycle.source import SessionSource
from hermes_tui.lifecycle.whatsapp import (
    WhatsAppAliases,
    canonical_whatsapp_identifier,
    normalize_whatsapp_identifier,
)
from oracle.hermes import Oracle, OracleError

NAMES = ("1", "22", "333", "4444", "55555", "999000111", "15551234567", "a.b", "x-y")
FORMS = ("{}", "+{}", "{}@lid", "{}@s.whatsapp.net", "{}:47@s.whatsapp.net", " {} ")
JUNK = (b"", b"{", b"null", b"[]", b'{"a": 1}', b"15", b"1.5", b"true", b'"a b"', b"NaN", b'"../../etc"', b'"@lid"')

identifiers = st.builds(lambda form, name: form.format(name), st.sampled_from(FORMS), st.sampled_from(NAMES))
contents = identifiers.map(lambda one: json.dumps(one).encode()) | st.sampled_from(JUNK)
mappings = st.dictionaries(st.tuples(st.sampled_from(NAMES), st.sampled_from(("", "_reverse"))), contents, max_size=8)


def lay_out(folder: Path, files: dict[tuple[str, str], bytes]) -> None:
    """The bridge's folder, with these mapping files alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for (name, suffix), content in files.items():
        (folder / f"lid-mapping-{name}{suffix}.json").write_bytes(content)


@examples(50)
@given(new=mappings, old=mappings | st.just({}), asked=st.lists(identifiers, min_size=1, max_size=6))
def test_names_are_those_of_hermes(
    hermes: Oracle,
    new: dict[tuple[str, str], bytes],
    old: dict[tuple[str, str], bytes],
    asked: list[str],
) -> None:
    """Chains, circles, junk; and an old folder, which hides the new one as soon as anything is in it."""
    lay_out(hermes.home / "platforms" / "whatsapp" / "session", new)
    lay_out(hermes.home / "whatsapp" / "session", old)
    ours = WhatsAppAliases(hermes.home)
    for identifier in asked:
        assert sorted(ours.all_of(identifier)) == hermes.ask("aliases", {"identifier": identifier})
        assert canonical_whatsapp_identifier(identifier, hermes.home) == hermes.canonical(identifier)
        dm: dict[str, Any] = {"platform": "whatsapp", "chat_id": identifier}
        for fields in (dm, {**dm, "chat_id": "1203630@g.us", "chat_type": "group", "user_id": identifier}):
            assert build_session_key(SessionSource(**fields), canonical=ours.canonical) == hermes.key(fields)


@pytest.mark.parametrize("identifier", ["a b", "x_y", "{}", "٣٣"])
def test_what_no_file_can_be_named_after_is_normalised_where_hermes_raises(hermes: Oracle, identifier: str) -> None:
    with pytest.raises(OracleError, match="ValueError"):
        hermes.canonical(identifier)
    assert WhatsAppAliases(hermes.home).canonical(f"+{identifier}@lid") == identifier


def test_a_mapping_in_another_encoding_is_passed_over_where_hermes_raises(hermes: Oracle) -> None:
    lay_out(hermes.home / "whatsapp" / "session", {("1", ""): b'"\xff\xfe"', ("1", "_reverse"): b'"0"'})
    with pytest.raises(OracleError, match="UnicodeDecodeError"):
        hermes.canonical("1")
    assert WhatsAppAliases(hermes.home).canonical("1") == "0"


def test_the_sample_store_names_the_lid_after_the_phone(store: Callable[..., Path]) -> None:
    """The two files of the sample home lead from the one to the other."""
    home = store("hermes", "home") / ".hermes"
    assert WhatsAppAliases(home).canonical("999000111222333@lid") == "15551234567"
    assert canonical_whatsapp_identifier("999000111222333@lid") == "999000111222333"  # no home, no mappings
    assert normalize_whatsapp_identifier("999000111222333@lid") == "999000111222333"


@pytest.mark.parametrize("nothing", [None, "", "  ", "+", "@lid"])
def test_nothing_is_nobody(hermes: Oracle, nothing: str | None) -> None:
    assert WhatsAppAliases(hermes.home).canonical(nothing) == "" == hermes.ask("canonical", {"identifier": nothing})
