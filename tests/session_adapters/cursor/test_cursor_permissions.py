"""Cursor's stores where nothing may be written, and where something may not be read."""

from __future__ import annotations

import json

import pytest

from cursor_store import (
    Chat,
    Editor,
    transcript,
)
from databases import crashed_writer, listed_by_another, shared_folder, tree


@pytest.mark.parametrize("state", ["cold", "crashed", "crashed without -shm"])
def test_every_state_is_read_where_nothing_may_be_written(state: str) -> None:
    with shared_folder() as folder:
        chat, editor = Chat(folder), Editor(folder)
        chat.say("one", "two")
        editor.bubble("c1", 1, "one")
        for made in (chat, editor):
            made.connection.close()
        if state != "cold":
            name = "ab" * 32
            known = json.dumps({"latestRootBlobId": name})
            crashed_writer(
                chat.path,
                f"INSERT INTO blobs VALUES ('{name}', x'{chat.root(chat.order[:1]).hex()}')",
                f"UPDATE meta SET value = '{known.encode().hex()}'",
            )
            more = [*editor.headers["c1"], {"bubbleId": "late", "type": 2}]
            grown = json.dumps({"fullConversationHeadersOnly": more})
            crashed_writer(
                editor.path,
                """INSERT INTO cursorDiskKV VALUES ('bubbleId:c1:late', '{"type": 2, "text": "late"}')""",
                f"INSERT INTO cursorDiskKV VALUES ('composerData:c1', '{grown}')",
            )
        if state == "crashed without -shm":
            for made in (chat, editor):
                made.path.with_name(made.path.name + "-shm").unlink()
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = tree(folder)
        listed = listed_by_another("cursor", folder)
        counts = (2, 1) if state == "cold" else (1, 2)
        assert listed == [f"session chat-1 {counts[0]}", f"session c1 {counts[1]}"]
        assert tree(folder) == before


def test_what_may_not_be_read_is_named() -> None:
    with shared_folder() as folder:
        seen, secret = Chat(folder, "seen"), Chat(folder, "secret", cwd="/home/dev/api")
        for made in (seen, secret):
            made.say("hello")
            made.connection.execute("PRAGMA journal_mode = DELETE")
            made.close()
        secret.path.chmod(0o000)
        hidden = folder / ".cursor" / "projects" / "hidden" / "agent-transcripts"
        hidden.mkdir(parents=True)
        hidden.chmod(0o000)
        spoken = transcript(folder, "spoken", {"role": "user", "content": "hello"})
        spoken.chmod(0o000)
        listed = listed_by_another("cursor", folder)
        hidden.chmod(0o755)
        assert listed == [
            "session seen 1",
            ".cursor/projects/hidden/agent-transcripts | it cannot be reached: Permission denied",
            f"{secret.path.relative_to(folder)} | it cannot be opened",
            f"{spoken.relative_to(folder)} | Permission denied",
        ]
