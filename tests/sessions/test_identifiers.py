"""Unified ids (spec 004 §5; checklist ID-*)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.sessions.manager import NativeId, SessionManager
from tiny_home import TinyHome


@pytest.mark.parametrize("agent", ["tiny", "no such agent"])
@pytest.mark.parametrize("native", ["a1", "a:b", "x/y", ""])
def test_id_1_unified_is_agent_colon_native_and_checks_nothing(
    manager: SessionManager, agent: str, native: str
) -> None:
    assert manager.resolve_unified_id(agent, native) == agent + ":" + native


def test_id_2_splits_at_the_first_colon_only(manager: SessionManager) -> None:
    assert manager.resolve_native_id("tiny:a:b") == NativeId("tiny", "a:b")


@pytest.mark.parametrize("text", ["", "tiny", ":x", "tiny:", "nobody:x", "Tiny:x", " tiny:x"])
def test_id_3_none_for_what_is_no_unified_id(manager: SessionManager, text: str) -> None:
    assert manager.resolve_native_id(text) is None


def test_id_3_reads_nothing(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.store.rmdir()
    assert manager.resolve_native_id("tiny:x") == ("tiny", "x")


@given(native=st.text(min_size=1))
def test_id_4_round_trip(manager: SessionManager, native: str) -> None:
    for agent in manager.agents:
        assert manager.resolve_native_id(manager.resolve_unified_id(agent, native)) == (agent, native)


def test_id_5_every_summary_and_session_carries_its_unified_id(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("one")
    assert [one.unified_id for one in manager.list("tiny")] == ["tiny:one"]
    assert manager.get("tiny", "one").unified_id == "tiny:one"
