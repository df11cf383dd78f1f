"""Session keys are those of the real Hermes; a key can be read back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.lifecycle.keys import build_session_key, is_shared_multi_user_session, key_parts
from hermes_tui.lifecycle.source import SessionSource
from lifecycle.samples import PLATFORMS, sources
from oracle.hermes import Oracle, OracleError

REFUSED = "ValueError: min()"
"""What Hermes raises for an identifier of WhatsApp's with a character that no identifier has; ours is normalised."""

many = examples(50)


@many
@given(
    fields=sources(),
    per_user=st.booleans(),
    per_thread=st.booleans(),
    profile=st.sampled_from((None, "", "default", "main", "coder")),
)
def test_keys_are_those_of_hermes(
    hermes: Oracle, fields: dict[str, Any], per_user: bool, per_thread: bool, profile: str | None
) -> None:
    options: dict[str, Any] = {"group_sessions_per_user": per_user, "thread_sessions_per_user": per_thread}
    source = SessionSource(**fields)
    assert source.description == hermes.ask("description", fields)
    assert is_shared_multi_user_session(source, **options) == hermes.shared(fields, **options)
    ours = build_session_key(source, profile=profile, **options)
    try:
        assert ours == hermes.key(fields, profile=profile, **options)
    except OracleError as error:
        assert fields["platform"] == "whatsapp"
        assert str(error).startswith(REFUSED)


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("chat_type", ["dm", "group", "channel", "thread"])
def test_every_platform_and_type(hermes: Oracle, platform: str, chat_type: str) -> None:
    """Every combination of what is known and what is shared, not only what chance brings."""
    for bits in range(64):
        fields: dict[str, Any] = {
            "platform": platform,
            "chat_type": chat_type,
            "chat_id": "77" if bits & 1 else "",
            "user_id": "u1" if bits & 2 else None,
            "user_id_alt": "alt" if bits & 4 else None,
            "thread_id": "t9" if bits & 8 else None,
        }
        options: dict[str, Any] = {
            "group_sessions_per_user": bool(bits & 16),
            "thread_sessions_per_user": bool(bits & 32),
        }
        assert build_session_key(SessionSource(**fields), **options) == hermes.key(fields, **options)


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("agent:main:telegram:dm:12345", {"platform": "telegram", "chat type": "dm", "chat": "12345"}),
        ("agent:coder:signal:dm", {"namespace": "coder", "platform": "signal", "chat type": "dm"}),
        ("agent:main:discord:group:1:2:3", {"rest": "1:2:3"}),
        ("something else", {"key": "something else"}),
        ("", {"key": ""}),
    ],
)
def test_a_key_alone(key: str, parts: dict[str, str]) -> None:
    assert parts.items() <= dict(key_parts(key)).items()


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"chat_id": "1", "thread_id": "9"}, {"chat": "1", "thread": "9"}),
        ({"chat_id": "1", "thread_id": "1"}, {"chat": "1", "thread": "1"}),
        ({"chat_id": "a:b", "chat_type": "group", "user_id": "u:v"}, {"chat": "a:b", "participant": "u:v"}),
        ({"chat_id": "", "user_id": "u", "thread_id": "9"}, {"chat": "u", "thread": "9"}),
        ({"chat_id": "1", "chat_type": "group", "user_id": "12"}, {"chat": "1", "participant": "12"}),
    ],
)
def test_a_key_with_its_source(fields: dict[str, Any], parts: dict[str, str]) -> None:
    source = SessionSource(**{"platform": "telegram", "chat_id": "", **fields})
    known = {"namespace": "main", "platform": "telegram", "chat type": source.chat_type}
    assert dict(key_parts(build_session_key(source), source)) == known | parts


@many
@given(fields=sources())
def test_the_parts_are_the_whole_key(fields: dict[str, Any]) -> None:
    source = SessionSource(**fields)
    key = build_session_key(source)
    parts = [part for part in key_parts(key, source) if part.name != "key"]
    assert ":".join(("agent", *(part.value for part in parts))) == key
