"""`make bombs`: every command on stores that are made to keep it busy or to fill its memory; a table in Markdown.

    PYTHONPATH=tests:tests/helpers python -m benchmarks.bombs [--only WORD[,WORD…]]

One row for each bomb of each kind of store: what the command that took longest took without waiting for a processor,
and by the wall; what the one that grew most had over its peak on the same store without a bomb. The first and the
last have their limits in `tests/helpers/bounded_run.py`: the command exits with 1 where one is exceeded.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bombs import TARGETS, WORD, Target, lay
from bounded_run import LIMIT, Bounded, run_bounded
from hermes_tui.errors import SessionNotFound

_LIST = ("sessions", "list", "--json", "--limit", "100000")
_SCANNED = ("sessions", "search", WORD, "--no-index", "--json")
_INDEXED = ("sessions", "search", WORD, "--json")
_DOCTOR = ("doctor",)
_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "search --no-index": _SCANNED,
    "list": _LIST,
    "rebuild": ("index", "rebuild"),
    "search": _INDEXED,
    "cost": ("cost", "report"),
    "doctor": _DOCTOR,
}
_LANES = ("lanes", "list")
_TIMEOUT = 90.0
_NOT_ALL = "of its records cannot be read, or not in full"


class Judged(NamedTuple):
    """What the commands did on one store."""

    runs: dict[str, Bounded]
    shown: frozenset[tuple[str, str]]
    said: str
    """Of the spoiled file; empty: nothing."""


def _listed(run: Bounded) -> list[dict[str, str]]:
    try:
        found: list[dict[str, str]] = json.loads(run.stdout)
    except ValueError:
        return []
    return found


def _judge(target: Target, home: Path, path: Path, victim: tuple[str, str] | None, wanted: str) -> Judged:
    commands = dict(_COMMANDS)
    if target.agent == "hermes":
        commands["lanes"] = _LANES
    if victim is not None:
        commands["show"] = ("sessions", "show", *victim)
    runs = {
        name: run_bounded(home, *arguments, timeout=_TIMEOUT)
        for name, arguments in commands.items()
        if not wanted or name in wanted.split(",")
    }
    shown = frozenset((one["agent"], one["sessionId"]) for one in _listed(runs["list"]))
    if victim not in shown and runs.get("show") and runs["show"].code == SessionNotFound.exit_code:
        del runs["show"]  # it is no session any more, as the list says
    lines = [line.strip() for run in runs.values() for line in (run.stdout + run.stderr).splitlines()]
    said = [line for line in lines if path.name in line and line.startswith(("!", "hermes-tui: "))]
    said += [line for line in lines if line.endswith(_NOT_ALL)]  # of a session that is in several files
    return Judged(runs, shown, said[0] if said else "")


def _victim(home: Path, path: Path, agent: str, run: Bounded) -> tuple[str, str] | None:
    """A session of the file, or one of the agent's."""
    found = [one for one in _listed(run) if one["agent"] == agent]
    found.sort(key=lambda one: one.get("path") != str(path))
    return (agent, found[0]["sessionId"]) if found else None


class Row(NamedTuple):
    """A line of the table."""

    target: Target
    bomb: str
    seconds: float
    slowest: str
    wall: float
    megabytes: float
    largest: str
    shown: str
    wrong: list[str]
    said: str

    def markdown(self) -> str:
        """As it is printed."""
        wrong = "; ".join(self.wrong) or "–"
        return (
            f"| {self.target.agent} | {self.target.kind}: {self.target.label} | {self.bomb}"
            f" | {self.seconds:.1f} ({self.slowest}) | {self.wall:.1f} | {self.megabytes:.0f} ({self.largest})"
            f" | {self.shown} | {wrong} | {self.said} |"
        )


def _row(target: Target, bomb: str, sound: Judged, judged: Judged, path: Path) -> Row:
    runs = judged.runs
    slowest = max(runs, key=lambda name: runs[name].seconds)
    over = {name: run.over(sound.runs[name]) if name in sound.runs else run.megabytes for name, run in runs.items()}
    largest = max(over, key=lambda name: over[name])
    wrong = [f"{name}: {what}" for name, run in runs.items() for what in _faults(name, run)]
    seconds, wall = runs[slowest].seconds, runs[slowest].wall
    wrong += [f"{name}: {run.seconds:.1f} s" for name, run in runs.items() if run.seconds > LIMIT.seconds]
    if over[largest] > LIMIT.megabytes:
        wrong.append(f"{largest}: {over[largest]:.0f} MB")
    gone = sound.shown - judged.shown
    whole = target.kind == "table" and bomb == "endless: hole"  # a database ends where its header says
    if (gone or (bomb.startswith(("endless", "damaged")) and not whole)) and not judged.said:
        wrong.append("nothing said")
    shown = f"{len(judged.shown & sound.shown)} of {len(sound.shown)}"
    said = judged.said.partition(path.name)[2].strip(" ,:")[:100].replace("|", "/")
    return Row(target, bomb, seconds, slowest, wall, over[largest], largest, shown, wrong, said)


def _faults(name: str, run: Bounded) -> list[str]:
    found: list[str] = []
    if run.code not in (0, 1) or (name not in ("show", "lanes") and run.code):
        found.append(f"exit {run.code} {run.stderr.strip().splitlines()[-1:]}")
    if "Traceback" in run.stderr or "unexpected" in run.stderr:
        found.append(f"unexpected error {run.stderr.strip().splitlines()[-1][:200]}")
    if name.startswith("search") and WORD not in run.stdout:
        found.append("the neighbour is not found")
    if run.left:
        found.append("processes are left")
    return found


def _homes(target: Target, folder: Path, bombs: Sequence[str], wanted: str) -> list[Row]:
    home = folder / "sound"
    path = lay("", target, home)
    victim = _victim(home, path, target.agent, run_bounded(home, *_LIST))
    sound = _judge(target, home, path, victim, wanted)
    rows: list[Row] = []
    for number, bomb in enumerate(bombs):
        with tempfile.TemporaryDirectory(dir=folder) as one:
            home = Path(one) / f"h{number}"
            path = lay(bomb, target, home)
            rows.append(_row(target, bomb, sound, _judge(target, home, path, victim, wanted), path))
            print(rows[-1].markdown(), flush=True)
    return rows


def main() -> int:
    """Lay them, run, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.bombs", description="Run every command on hostile stores.")
    parser.add_argument(
        "--only", default="", help="only rows whose agent, kind, label and bomb hold one of the words"
    )
    parser.add_argument("--commands", default="", help="only these, and no others (list and doctor are needed)")
    parser.add_argument("--part", default="0/1", help="only each N-th kind of store, from the I-th on: I/N")
    given = parser.parse_args()
    wanted = [word for word in given.only.split(",") if word]
    first, _, step = given.part.partition("/")
    print("| agent | store | bomb | seconds | by the wall | MB over | sessions shown | wrong | said |")
    print("|---|---|---|---:|---:|---:|---:|---|---|")
    rows: list[Row] = []
    for target in TARGETS[int(first) :: int(step)]:
        name = f"{target.agent}/{target.kind}/{target.label}"
        bombs = [bomb for bomb in target.bombs if not wanted or any(one in f"{name}/{bomb}" for one in wanted)]
        if bombs:
            with tempfile.TemporaryDirectory(prefix="hermes-tui-bombs-") as folder:
                rows += _homes(target, Path(folder), bombs, given.commands)
    bad = [row for row in rows if row.wrong]
    print(f"\n{len(rows)} bombs, {len(bad)} with something wrong", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
