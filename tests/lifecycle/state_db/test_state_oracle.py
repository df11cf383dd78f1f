"""The store against the real Hermes: the same steps, the same rows, the same answers."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.lifecycle.state_db.titles import TitleRefused, sanitize_title
from lifecycle.state_steps import Pair, Step, steps
from oracle.hermes import Oracle, OracleError

many = examples(40)


@pytest.fixture(scope="module")
def newest(hermes: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store, made by the real Hermes."""
    home = tmp_path_factory.mktemp("newest")
    hermes.home_is(home)
    hermes.open()
    hermes.close_store()
    return home / "state.db"


@many
@given(steps)
def test_on_a_store_of_hermes(hermes: Oracle, newest: Path, taken: list[Step]) -> None:
    """Schema 22: every column."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "theirs").mkdir()
        for name in ("theirs/state.db", "ours.db"):
            shutil.copyfile(newest, home / name)
        hermes.home_is(home / "theirs")
        hermes.open()
        pair = Pair(hermes, home / "ours.db")
        with pair.ours as ours:
            before = ours.rows("SELECT name, sql FROM sqlite_master ORDER BY name")
            for step in taken:
                pair.take(step)
                pair.compare()
            assert ours.rows("SELECT name, sql FROM sqlite_master ORDER BY name") == before
            assert ours.value("PRAGMA integrity_check") == "ok"
        hermes.close_store()


NOT_IN_VERSION_6 = {
    "rewind_to_message",
    "record_gateway_session_peer",
    "find_latest_gateway_session_for_peer",
    "save_gateway_routing_entry",
    "load_gateway_routing_entries",
    "replace_gateway_routing_entries",
    "delete_gateway_routing_entries",
}
COLUMNS = frozenset(
    (
        *("id", "source", "user_id", "model", "model_config", "system_prompt", "parent_session_id", "started_at"),
        *("ended_at", "end_reason", "message_count", "tool_call_count", "title", "session_id", "role", "content"),
        *("tool_call_id", "tool_calls", "tool_name", "timestamp", "token_count", "finish_reason", "reasoning"),
        *("reasoning_details", "codex_reasoning_items", "messages", "last_active", "context", "session_started"),
    )
)
"""Those of spec 000, and what the methods add."""


@many
@given(steps)
def test_on_a_store_of_our_own(hermes: Oracle, newest: Path, taken: list[Step]) -> None:
    """Schema 6, made by us, beside schema 22: all that the document knows is the same."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "theirs").mkdir()
        shutil.copyfile(newest, home / "theirs" / "state.db")
        hermes.home_is(home / "theirs")
        hermes.open()
        pair = Pair(hermes, home / "ours.db", COLUMNS)
        with pair.ours as ours:
            for step in taken:
                if step[0] not in NOT_IN_VERSION_6:
                    pair.take(step)
                    pair.compare()
            with ours.transaction():  # raises when the index and the messages differ
                ours.execute("INSERT INTO messages_fts(messages_fts, rank) VALUES('integrity-check', 1)")
            assert ours.value("PRAGMA integrity_check") == "ok"
        hermes.close_store()


@many
@given(st.text(max_size=130) | st.text(alphabet=" \t\n\x07\x7f\u200b\u202e\ufeff\u3000\x85\x1ca\ud800", max_size=12))
def test_titles_are_cleaned_the_same(hermes: Oracle, title: str) -> None:
    try:
        theirs = hermes.ask("title", {"title": title})
    except OracleError:
        with pytest.raises(TitleRefused):
            sanitize_title(title)
    else:
        assert sanitize_title(title) == theirs
