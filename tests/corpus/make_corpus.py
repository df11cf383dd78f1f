"""Writes stores of Claude Code, Codex and Hermes under one home, of any size and always the same.

    PYTHONPATH=tests python -m corpus.make_corpus --home DIR --size M

  .claude/projects/<cwd with / as ->/<uuid>.jsonl            Claude Code
  .claude/projects/…/<uuid>/subagents/agent-*.jsonl           its sub-agents, in some sessions
  .codex/sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl      Codex
  .hermes/state.db                                            Hermes (sessions, messages, messages_fts)
  corpus-manifest.json                                        what was written, and what a search must find

The same arguments give the same files and the same rows. In the manifest: `needlezq<k>` is in exactly one session,
"quokka ledger drift" in about 0.5 % of them, `rollbackable` in about 5 %.
"""

from __future__ import annotations

import argparse
import json
import sys
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from corpus.claude import ClaudeWriter
from corpus.codex import CodexWriter
from corpus.conversations import Conversations, Size, Writer
from corpus.hermes import HermesWriter

__all__ = ["make_corpus"]

_SIZES = {
    "XS": Size(20, 2.0, 400),
    "short": Size(200, 7.0, 2_400),
    "S": Size(200, 20.0, 6_000),
    "M": Size(2_000, 300.0, 80_000),
    "L": Size(10_000, 1_500.0, 200_000),
}


def make_corpus(home: Path, size: str = "S", mix: Sequence[float] = (60, 30, 10), seed: int = 7) -> None:
    """Write a corpus of that size into `home`. `mix`: shares of Claude Code, Codex and Hermes. Raises
    `FileExistsError` where `home` holds a store already."""
    if any((home / name).exists() for name in (".claude", ".codex", ".hermes")):
        raise FileExistsError(f"{home} holds a store already; give an empty directory")
    home.mkdir(parents=True, exist_ok=True)
    source = Conversations(home, _SIZES[size], seed)
    bounds = list(accumulate(mix))
    kinds = [min(bisect(bounds, source.rng.random() * bounds[-1]), 2) for _ in range(source.size.sessions)]
    writers: list[Writer] = [ClaudeWriter(source), CodexWriter(source)]
    if mix[2]:
        writers.append(HermesWriter(source))
    for number, kind in enumerate(kinds):
        writers[kind].write(number)
    for writer in writers:
        writer.close()
    manifest = source.manifest
    for name in ("sessions", "messages", "bytes"):
        manifest[f"total_{name}"] = sum(manifest[name].values())
    (home / "corpus-manifest.json").write_text(json.dumps(manifest, indent=1))


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", required=True, type=Path, help="where to write; made if missing")
    parser.add_argument("--size", choices=_SIZES, default="S")
    parser.add_argument("--mix", default="60,30,10", help="shares of claude, codex and hermes")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    try:
        make_corpus(given.home, given.size, [float(share) for share in given.mix.split(",")], given.seed)
    except FileExistsError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main()
