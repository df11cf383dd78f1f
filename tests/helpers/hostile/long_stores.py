"""Makes the sample stores long again, as real ones are.

The long prompts of the samples were cut out. `long_store` copies a sample and puts back what makes real stores long:
the instructions in Codex' first line, 40 KB of what the program itself writes before a conversation, and a talk
of 40 KB behind it that ends in a line of more than 16 KB. Names, sub-agents, forks and first prompts then stand far
from both ends of their files. The copy is as valid for its agent as the sample was: chains of parents hold, ids that
forks share stay shared, ordinals and byte offsets follow. Every added text begins and ends with a word of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from long_base import Added, Shape
from long_databases import lengthen_databases
from long_files import lengthen_documents, lengthen_lines
from long_rollouts import lengthen_rollouts
from support import STORES

__all__ = ["FIRST_LINES", "HOMES", "SHAPES", "Added", "Long", "Shape", "long_store"]

HOMES: tuple[tuple[str, str], ...] = (
    ("claude", "home"),
    ("claude", "older/home"),
    ("claude", "spec-layout/home"),
    ("codex", "home"),
    ("codex", "older/home"),
    ("codex", "public/home"),
    ("codex", "spec-layout/home"),
    ("copilot", "home"),
    ("copilot", "spec-layout/home"),
    ("cursor", "home"),
    ("cursor", "home-spec"),
    ("gemini", "home"),
    ("gemini", "older/home"),
    ("gemini", "spec-layout/home"),
    ("hector", "home"),
    ("hermes", "home"),
    ("omp", "home"),
    ("omp", "home-hard"),
    ("omp", "home-spec"),
    ("openclaw", "home"),
    ("openclaw", "home-clawdbot"),
    ("openclaw", "home-files-2026.3"),
    ("openclaw", "home-spec"),
    ("opencode", "home"),
    ("opencode", "home-json-0.5"),
    ("opencode", "home-json-1.1"),
    ("opencode", "home-spec"),
    ("opencode", "home-sqlite-1.2"),
    ("opencode", "home-v2"),
    ("pi", "home"),
    ("pi", "home-hard"),
    ("pi", "home-spec"),
)
"""Every sample store: (agent, its folder under `STORES / agent`)."""

FIRST_LINES = (22_400, 60_000)
"""Characters of instructions in the first line of a rollout: of Codex 0.169, and of a project with much to say."""


SHAPES = {
    "deep": Shape(FIRST_LINES[0], early=False, replies=(24_000, 17_000)),
    "early": Shape(FIRST_LINES[1], early=True, replies=(24_000, 17_000, 300)),
}
"""Two ways of being long. `deep`: the first prompt stands in the middle, and the last line is longer than 16 KB.
`early`: the first prompt is in the first 16 KB, and so is the last one in the last; what matters lies between."""


class Long(NamedTuple):
    """A sample store made long."""

    home: Path
    added: list[Added]


def long_store(agent: str, home: str, target: Path, shape: Shape = SHAPES["deep"]) -> Long:
    """Copy the store to `target`, which must not exist, and make it long."""
    shutil.copytree(STORES / agent / home, target, symlinks=True)
    for path in (target, *target.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    steps: tuple[Callable[[str, Path, Shape], list[Added]], ...] = (
        lengthen_lines,
        lengthen_documents,
        lengthen_databases,
    )
    added = lengthen_rollouts(target, shape) if agent == "codex" else []
    return Long(target, added + [one for step in steps for one in step(agent, target, shape)])
