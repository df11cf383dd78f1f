"""What ccusage says of the sample stores: `make ccusage` writes `tests/recorded/ccusage.json` anew.

Needs `npm` and the network, which the tests do not: they compare with the file. ccusage reads Claude's transcripts,
its sister `@ccusage/codex` Codex' rollouts; the versions are the last ones written in JavaScript.
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from corpus.make_corpus import make_corpus
from support import STORES

__all__ = ["RECORDED", "STORES_READ"]

RECORDED = Path(__file__).parent / "recorded" / "ccusage.json"
PACKAGES = {"claude": "ccusage@17.2.1", "codex": "@ccusage/codex@18.0.11"}
STORES_READ = {
    "claude": ("claude/home", "claude/older/home", "corpus S"),
    "codex": ("codex/home", "codex/older/home", "corpus S"),
}
"""Agent → homes below the sample stores; and the benchmark's corpus of size S."""
_FIELDS = {
    "claude": ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens", "cost"),
    "codex": ("inputTokens", "cachedInputTokens", "outputTokens", "totalTokens"),
}


def main() -> None:
    """Install, run, write."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        corpus = place / "corpus"
        make_corpus(corpus)
        found: dict[str, Any] = {"packages": PACKAGES, "command": "session --offline --json --timezone UTC"}
        for agent, package in PACKAGES.items():
            program = _unpack(package, place / agent)
            for name in STORES_READ[agent]:
                home = corpus if name == "corpus S" else STORES / name
                found.setdefault(agent, {})[name] = _run(agent, program, home, place)
    RECORDED.parent.mkdir(exist_ok=True)
    RECORDED.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def _unpack(package: str, folder: Path) -> Path:
    folder.mkdir()
    packed = subprocess.run(
        ["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True, text=True
    )
    with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package" / "dist" / "index.js"


def _run(agent: str, program: Path, home: Path, elsewhere: Path) -> dict[str, Any]:
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(elsewhere),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CODEX_HOME": str(home / ".codex"),
    }
    arguments = ["node", str(program), "session", "--offline", "--json", "--timezone", "UTC"]
    arguments += ["--breakdown"] if agent == "claude" else []
    answer = subprocess.run(arguments, env=variables, check=True, capture_output=True, text=True)
    report = json.loads(answer.stdout)
    models: dict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(_FIELDS[agent], 0))
    for session in report["sessions"]:
        parts = session["modelBreakdowns"] if agent == "claude" else session["models"].items()
        for part in parts:
            name, figures = (part["modelName"], part) if agent == "claude" else part
            for field in _FIELDS[agent]:
                models[name][field] += figures[field]
    total = report["totals"]["totalCost" if agent == "claude" else "costUSD"]
    return {"totalCost": total, "models": models}


if __name__ == "__main__":
    main()
