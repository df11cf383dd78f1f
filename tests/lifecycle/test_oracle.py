"""The oracle is the real program, and says what it says."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from oracle.hermes import Oracle, OracleError, oracle_python

ANA = {"platform": "telegram", "chat_id": "1", "user_id": "1", "user_name": "Ana"}


def test_it_is_hermes_0_19_0() -> None:
    asked = "import importlib.metadata as m; print(m.version('hermes-agent'))"
    ran = subprocess.run([oracle_python(), "-I", "-c", asked], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "0.19.0"


def test_a_conversation_with_a_moving_clock(tmp_path: Path) -> None:
    with Oracle(tmp_path / "home") as hermes:
        hermes.open(policy={"mode": "idle", "idle_minutes": 30}, now=datetime(2026, 7, 21, 12))
        first = hermes.get(ANA)
        assert first["session_id"] == "20260721_120000_00000001"
        hermes.db("append_message", first["session_id"], role="user", content="hello")
        hermes.now(datetime(2026, 7, 21, 12, 31))
        second = hermes.get(ANA)
        assert (second["was_auto_reset"], second["auto_reset_reason"]) == (True, "idle")
        found = hermes.dump()
        assert found["json"] == found["routing"] == {"agent:main:telegram:dm:1": second}
        ended = [(row["id"], row["end_reason"]) for row in found["sessions"]]
        assert ended == [(first["session_id"], "idle"), (second["session_id"], None)]
        hermes.close_store()
    assert (tmp_path / "home" / "state.db").exists()


def test_what_hermes_raises_is_told_and_survived(hermes: Oracle) -> None:
    with pytest.raises(OracleError, match="ValueError"):
        hermes.key({"platform": "no such platform"})
    assert hermes.key(ANA) == "agent:main:telegram:dm:1"
