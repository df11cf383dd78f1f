"""What becomes of an open conversation when its database is swapped, spoilt and removed."""

from __future__ import annotations

from pathlib import Path

from session_adapters.transcript import Change, Transcript

__all__ = ["swap_spoil_remove"]


def swap_spoil_remove(transcript: Transcript, path: Path, other: Path) -> None:
    """`transcript` is open on the database at `path`; the one at `other` has a session of the same id that says
    `new`. No connection to either may be open."""
    other.replace(path)
    assert transcript.refresh() == Change(first=0, rewritten=True)
    assert [message.content for message in transcript.messages] == ["new"]
    path.write_bytes(b"rubbish" * 1000)
    assert transcript.refresh() == Change()
    assert "not an SQLite database" in transcript.problems[0].reason
    assert transcript.refresh() == Change()
    assert len(transcript.problems) == 1
    path.unlink()
    assert transcript.refresh() == Change(gone=True)
    assert [message.content for message in transcript.messages] == ["new"]
