"""The homes that are measured on; made once and kept, when a directory is given for them."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from corpus.make_corpus import make_corpus

__all__ = ["Corpora"]

_BIG = 400 * 1000 * 1000
_MANY = 50_000
_BIG_SESSION = "2a3d5a4e-6c3b-4d51-9d0a-6f1f6f4b7c11"
_LONG_AGO = datetime(2026, 1, 1, 1, tzinfo=UTC)


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
        output = "\n".join(f"{line:06} the quick brown fox jumps over the lazy dog" for line in range(400))
        return self._long("big", output, lambda size, turns: size < _BIG)

    def many(self) -> Path:
        """The same with 50,000 short messages."""
        return self._long("many", "made", lambda size, turns: turns < _MANY // 5)

    def _long(self, name: str, output: str, goes_on: Callable[[int, int], bool]) -> Path:
        """In its third turn a file is changed, in its fourth a command fails, and so in the last but one; the fifth
        and the last but one have a word each that is nowhere else."""
        home = self.folder / name
        path = home / ".claude" / "projects" / "-home-dev-big" / f"{_BIG_SESSION}.jsonl"
        if path.is_file():
            return home
        path.parent.mkdir(parents=True)
        print(f"making a long session ({name}) …", file=sys.stderr)
        with path.open("wb") as file:
            turn = 0
            while goes_on(file.tell(), turn):
                rare = " Mind the heliotrope." if turn == 4 else ""
                file.write(_turn(turn, f"Go on, part {turn}.{rare}", output, "Done.", fails=turn == 3))
                turn += 1
            file.write(_turn(turn, "Add the marzipan.", output, "Done.", fails=True))
            turn += 1
            file.write(_turn(turn, "Last one.", "made", "This is the very last line."))
        return home


def _turn(turn: int, prompt: str, output: str, answer: str, *, fails: bool = False) -> bytes:
    """The lines of a turn in which a command is run."""
    call: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{turn:022}"}
    call |= {"name": "Bash", "input": {"command": f"make part {turn} that fails" if fails else "make part"}}
    if turn == 2:
        call |= {"name": "Edit", "input": {"file_path": "/home/dev/big/a.py", "old_string": "x", "new_string": "y"}}
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": output, "is_error": fails}
    usage = {"input_tokens": 9, "cache_read_input_tokens": 900, "output_tokens": 60}
    contents: list[tuple[str, Any, dict[str, Any]]] = [
        ("user", prompt, {}),
        ("assistant", [{"type": "text", "text": "Next part."}], {"id": f"msg_{turn}_1", "usage": usage}),
        ("assistant", [call], {"id": f"msg_{turn}_1", "usage": usage}),
        ("user", [result], {}),
        ("assistant", [{"type": "text", "text": answer}], {"id": f"msg_{turn}_2", "usage": usage}),
    ]
    lines = []
    for place, (role, content, more) in enumerate(contents, len(contents) * turn + 1):
        message = {"role": role, "content": content, **more}
        if more:
            message |= {"type": "message", "model": "claude-sonnet-4-6"}
        record: dict[str, Any] = {
            "parentUuid": str(UUID(int=place - 1)) if place > 1 else None,
            "isSidechain": False,
            "type": role,
        }
        record |= {
            "message": message,
            "uuid": str(UUID(int=place)),
            "sessionId": _BIG_SESSION,
            "cwd": "/home/dev/big",
        }
        record |= {"timestamp": (_LONG_AGO + timedelta(seconds=place)).isoformat().replace("+00:00", ".000Z")}
        record |= {"version": "2.1.329", "gitBranch": "main", "userType": "external"}
        lines.append(json.dumps(record) + "\n")
    return "".join(lines).encode()
