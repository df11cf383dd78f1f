"""Lanes' records: read as Hermes reads them, written as it writes them, refused where it would stumble."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.errors import EntryError
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.source import HomeChannel, SessionContext, SessionSource
from lifecycle.samples import PLATFORMS, record, sources
from oracle.hermes import Oracle, OracleError
from support import STORES

NOON = datetime(2026, 7, 21, 12, 0, 0, 123456)
ABSENT = object()
VERSIONS = sorted(path.name for path in (STORES / "hermes" / "old_versions").iterdir() if path.is_dir())


def without_null_scope(origin: dict[str, Any]) -> dict[str, Any]:
    """Without a `scope_id` that is null."""
    return {name: value for name, value in origin.items() if name != "scope_id" or value is not None}


times = st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1)).map(datetime.isoformat)
counts = st.integers(0, 1 << 60)
texts = st.none() | st.text(max_size=8)
members = st.fixed_dictionaries(
    {},
    optional={
        "display_name": texts,
        "platform": st.none() | st.sampled_from(PLATFORMS),
        "chat_type": st.sampled_from(("dm", "group", "thread")),
        "input_tokens": counts,
        "output_tokens": counts,
        "total_tokens": counts,
        "last_prompt_tokens": counts,
        "estimated_cost_usd": st.floats(0, 1e9, allow_nan=False),
        "cost_status": st.text(max_size=5),
        "expiry_finalized": st.booleans(),
        "memory_flushed": st.booleans(),
        "suspended": st.booleans(),
        "resume_pending": st.booleans(),
        "resume_reason": texts,
        "last_resume_marked_at": st.none() | times,
        "was_auto_reset": st.booleans(),
        "auto_reset_reason": texts,
        "reset_had_activity": st.booleans(),
        "is_fresh_reset": st.booleans(),
        "model_override": st.none()
        | st.dictionaries(st.sampled_from(("model", "provider", "base_url", "api_key")), st.text(max_size=5)),
        # Hermes forgets the scope where the newer name is there and null; it never writes it so, and ours is kept.
        "origin": sources(
            guild_id=texts, chat_id_alt=texts, parent_chat_id=texts, message_id=texts, profile=texts
        ).map(without_null_scope),
        "updated_at": times,
        "created_at": times,
    },
)


@examples(50)
@given(members=members)
def test_what_is_written_is_what_hermes_writes(hermes: Oracle, members: dict[str, Any]) -> None:
    written = SessionEntry.from_dict(record(NOON, **members)).to_dict()
    flushed = written.pop("memory_flushed", None)  # the one member that Hermes drops and we keep
    assert flushed == members.get("memory_flushed")
    theirs = hermes.entry(record(NOON, **members))
    assert json.dumps(written) == json.dumps(theirs)


@examples(50)
@given(
    unknown=st.dictionaries(st.text(min_size=1, max_size=5).map("x_{}".format), st.integers() | texts, max_size=3),
    members=members,
)
def test_unknown_members_survive_a_change(unknown: dict[str, Any], members: dict[str, Any]) -> None:
    raw = record(NOON, **{**members, **unknown, "origin": {"platform": "irc", "chat_id": "#a", **unknown}})
    entry = SessionEntry.from_json(json.dumps(raw))
    later = entry.changed(suspended=True, updated_at=NOON + timedelta(minutes=1))
    written = later.to_dict()
    assert unknown.items() <= written.items()
    assert unknown.items() <= written["origin"].items()
    assert written["suspended"] is True
    assert SessionEntry.from_dict(written) == later
    assert entry.suspended == bool(members.get("suspended"))


@pytest.mark.parametrize("place", ["home", *(f"old_versions/{name}" for name in VERSIONS)])
def test_every_sample_is_written_as_it_was(store: Callable[..., Path], place: str) -> None:
    """What the real programs wrote, from the mirror and from the table: same members, same order, same bytes."""
    home = store("hermes", *place.split("/")) / ".hermes"
    mirror = home / "sessions" / "sessions.json"
    found = json.loads(mirror.read_text()) if mirror.exists() else {}
    records = [json.dumps(one) for key, one in found.items() if not key.startswith("_")]
    connection = apsw.Connection(str(home / "state.db"), flags=apsw.SQLITE_OPEN_READONLY)
    if connection.table_exists("main", "gateway_routing"):
        records += [text for (text,) in connection.execute("SELECT entry_json FROM gateway_routing")]
    connection.close()
    if place == "home":
        assert len(records) == 34  # 17 lanes, in both
    for text in records:
        raw, written = json.loads(text), SessionEntry.from_json(text).to_dict()
        assert list(raw.items()) == [(name, written[name]) for name in written if name in raw]
        if "was_auto_reset" in raw:  # as complete as today's
            assert json.dumps(written) == json.dumps(raw)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"session_key": ABSENT}, "session_key is missing"),
        ({"session_id": None}, "session_id is missing"),
        ({"session_id": ""}, "session_id is empty"),
        ({"session_id": "../../etc/passwd"}, "session_id holds parts of a path; Hermes refuses it too"),
        ({"session_id": "a/b"}, "session_id holds parts of a path"),
        ({"session_id": "C:x"}, "session_id holds parts of a path"),
        ({"session_id": "\ud800"}, "session_id is no valid Unicode"),
        ({"session_key": "/etc"}, "session_key holds parts of a path"),
        ({"session_key": "agent:..:x"}, "session_key holds parts of a path"),
        ({"session_key": ["a"]}, "session_key is a list, not a text"),
        ({"created_at": ABSENT}, "created_at is missing"),
        ({"updated_at": "yesterday"}, 'updated_at is "yesterday", not a time'),
        ({"updated_at": 1781000000.5}, "updated_at is 1781000000.5, not a time as text"),
        ({"updated_at": "2026-07-21T12:00:00+00:00"}, 'updated_at is "2026-07-21T12:00:00+00:00", not a local time'),
        ({"last_resume_marked_at": "2026-07-21T12:00:00Z"}, "last_resume_marked_at is"),
        ({"suspended": "yes"}, 'suspended is "yes", not true or false'),
        ({"suspended": 2}, "suspended is 2, not true or false"),
        ({"total_tokens": "many"}, 'total_tokens is "many", not a whole number'),
        ({"total_tokens": 1.5}, "total_tokens is 1.5, not a whole number"),
        ({"estimated_cost_usd": float("inf")}, "estimated_cost_usd is Infinity, not a finite number"),
        ({"estimated_cost_usd": 10**400}, "estimated_cost_usd is a number of many digits, not a finite number"),
        ({"display_name": {"a": 1}}, "display_name is an object, not a text"),
        ({"model_override": "gpt"}, "model_override is a text, not an object"),
        ({"origin": []}, "origin is a list, not an object"),
        ({"origin": {"platform": "telegram"}}, "origin.chat_id is missing"),
        ({"origin": {"platform": " ", "chat_id": "1"}}, "origin.platform is empty"),
        (
            {"origin": {"platform": "telegram", "chat_id": "1", "thread_id": True}},
            "origin.thread_id is true, not a text",
        ),
    ],
)
def test_a_wrong_member_is_named_with_its_reason(members: dict[str, Any], said: str) -> None:
    raw = {name: value for name, value in record(NOON, **members).items() if value is not ABSENT}
    with pytest.raises(EntryError) as told:
        SessionEntry.from_dict(raw)
    assert str(told.value).startswith(said)
    assert said.startswith(told.value.field)


@pytest.mark.parametrize("bad", ["../../etc/passwd", "a/b", "a\\b", "C:x"])
def test_hermes_refuses_the_same_ids(hermes: Oracle, bad: str) -> None:
    with pytest.raises(OracleError, match="directory traversal"):
        hermes.entry(record(NOON, session_id=bad))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "it is no JSON: Expecting value"),
        (b"{", "it is no JSON"),
        (b"[1]", "it is a list, not an object"),
        (b"null", "it is null, not an object"),
        (b"\xff\xfe\xff", "it is no JSON"),
        (b'{"a": NaN}', "it has the number NaN, which is no JSON"),
        (b'{"a": {"b": [-Infinity]}}', "it has the number -Infinity, which is no JSON"),
        (b'{"suspended": true, "suspended": false}', "suspended is there twice"),
        (b'{"origin": {"chat_id": "1", "chat_id": "2"}}', "chat_id is there twice"),
        (b'{"a": ' + b"9" * 5000 + b"}", "it is no JSON"),
        (b"[" * 100_000, "it is no JSON"),
    ],
)
def test_a_text_that_is_no_record(text: bytes, said: str) -> None:
    with pytest.raises(EntryError) as told:
        SessionEntry.from_json(text)
    assert str(told.value).startswith(said)


@examples(50)
@given(
    junk=st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
        max_leaves=4,
    ),
    name=st.sampled_from([*SessionEntry.__struct_fields__[:-1], "memory_flushed", "x"]),
)
def test_junk_anywhere_is_read_or_refused(junk: Any, name: str) -> None:
    try:
        entry = SessionEntry.from_dict(record(NOON, **{name: junk}))
    except EntryError as error:
        assert error.field.partition(".")[0] == name
    else:
        assert SessionEntry.from_dict(entry.to_dict()) == entry


def test_what_hermes_never_writes_is_read_and_kept() -> None:
    written = {"platform": "discord", "chat_id": "1", "is_bot": True, "role_authorized": True, "other": [1]}
    source = SessionSource.from_dict(written)
    assert (source.is_bot, source.role_authorized) == (True, True)
    assert source.to_dict().items() >= written.items()
    assert not SessionSource.from_dict({**written, "is_bot": "yes"}).is_bot


def test_numbers_as_ids_become_what_keys_have() -> None:
    source = SessionSource.from_dict({"platform": " Telegram", "chat_id": -100, "user_id": 7, "guild_id": "g"})
    assert (source.platform, source.chat_id, source.user_id) == ("telegram", "-100", "7")
    assert (source.scope_id, source.guild_id) == ("g", "g")
    assert SessionSource(platform="discord", chat_id="1", guild_id="g").scope_id == "g"
    assert source.to_dict()["scope_id"] == source.to_dict()["guild_id"] == "g"


def test_a_context_is_written_as_the_document_has_it() -> None:
    source = SessionSource(platform="slack", chat_id="C1", chat_type="channel")
    context = SessionContext(
        source=source,
        connected_platforms=("slack",),
        home_channels={"slack": HomeChannel(platform="slack", chat_id="C9", thread_id="5")},
        shared_multi_user_session=True,
        session_key="agent:main:slack:channel:C1",
        created_at=NOON,
    )
    assert context.to_dict() == {
        "source": source.to_dict(),
        "connected_platforms": ["slack"],
        "home_channels": {"slack": {"platform": "slack", "chat_id": "C9", "name": "Home", "thread_id": "5"}},
        "shared_multi_user_session": True,
        "session_key": "agent:main:slack:channel:C1",
        "session_id": "",
        "created_at": "2026-07-21T12:00:00.123456",
        "updated_at": None,
    }
