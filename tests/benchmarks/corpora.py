"""The homes that are measured on; made once and kept, when a directory is given for them."""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from corpus.make_corpus import make_corpus
from hermes_tui.demo.claude_records import Scribe, encode
from hermes_tui.demo.story import Call, Reply, Turn, uuid

__all__ = ["Corpora"]

_BIG = 400 * 1000 * 1000


class Corpora:
    """Made on first use under `folder`; a temporary one that is removed at the end unless `folder` is given."""

    def __init__(self, folder: Path | None) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="hermes-tui-bench-") if folder is None else None
        self.folder = folder or Path(self._temporary.name)  # type: ignore[union-attr]

    def sized(self, size: str) -> Path:
        """`M`: 2,000 sessions, 340 MB; `L`: 10,000 sessions, 1.5 GB; `XS` for trying this out."""
        home = self.folder / size
        if not (home / "corpus-manifest.json").is_file():
            print(f"making the corpus {size} …", file=sys.stderr)
            make_corpus(home, size)
        return home

    def big(self) -> Path:
        """A home with one Claude Code session of 400 MB whose last words are `the very last line`."""
        home = self.folder / "big"
        scribe = Scribe(uuid("big"), cwd="/home/dev/big", branch="main", model="claude-sonnet-4-6", at=_long_ago())
        path = home / ".claude" / "projects" / "-home-dev-big" / f"{scribe.session_id}.jsonl"
        if path.is_file():
            return home
        path.parent.mkdir(parents=True)
        print("making a session of 400 MB …", file=sys.stderr)
        output = "\n".join(f"{line:06} the quick brown fox jumps over the lazy dog" for line in range(400))
        step = Reply(text="Next part.", calls=(Call(kind="shell", target="make part", output=output),))
        with path.open("wb") as file:
            while file.tell() < _BIG:
                scribe.turn(Turn(prompt=f"Go on, part {scribe.prompts}.", replies=(step, Reply(text="Done."))))
                file.writelines(map(encode, scribe.records))
                scribe.records.clear()
            scribe.turn(Turn(prompt="Last one.", replies=(Reply(text="This is the very last line."),)))
            file.writelines(map(encode, scribe.records))
        return home


def _long_ago() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=1)
