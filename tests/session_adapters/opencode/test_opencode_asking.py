"""What OpenCode's log says of a call: that it waits for leave."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from session_adapters.activity import Activity
from session_adapters.opencode.transcript import with_asking


@pytest.mark.parametrize(
    ("tool", "leave", "other", "step"),
    [
        ("bash", "bash", "", "approval"),
        ("write", "edit", "", "approval"),
        ("read", "external_directory", "", "approval"),
        ("task", "bash", "", "approval"),
        ("webfetch", "bash", "", "working"),
        ("bash", "bash", "level=INFO run=1 message=loop session.id=ses_1 step=1\n", "working"),
    ],
)
def test_what_is_asked_for_has_not_always_the_name_of_the_tool(
    tmp_path: Path, tool: str, leave: str, other: str, step: str
) -> None:
    asks = f"timestamp=2026-11-23T09:00:04.726Z level=INFO run=1 message=asking id=per_1 permission={leave} x"
    lines = f"level=INFO run=1 message=loop session.id=ses_1 step=0\n{asks}\n{other}"
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "opencode.log").write_text(lines)
    since = datetime(2026, 11, 23, 9, 0, 4, 700_000, tzinfo=UTC)
    activity = Activity(step="working", since=since, tool=tool, record="a call")
    assert with_asking(activity, str(tmp_path / "opencode.db"), "ses_1").step == step
    begun = with_asking(replace(activity, begun=True), str(tmp_path / "opencode.db"), "ses_1").step
    assert begun == (step if tool == "task" else "working"), "it had its leave"
    (tmp_path / "log" / "opencode.log").write_text(lines.replace("run=1 message=loop", "run=2 message=loop"))
    assert with_asking(activity, str(tmp_path / "opencode.db"), "ses_1").step == "working", "another process asked"
