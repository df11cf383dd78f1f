"""The homes that real programs wrote, as they are and made long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from session_adapters.model import Problem
from session_adapters.registry import BUILT_IN
from support import STORES

__all__ = ["HOMES", "case", "made_long", "quiet"]

HOMES = [
    str(home.relative_to(STORES))
    for agent in sorted(BUILT_IN)
    for home in sorted((STORES / agent).rglob("home*"))
    if home.is_dir() and any(child.name.startswith(".") for child in home.iterdir())
]
TIMES = 12
"""How often what was said is said once more in the homes that are made long."""
IDS = ("id", "uuid", "parentuuid", "parentid", "interactionid")


def quiet(problem: Problem) -> None:
    """What cannot be read is the business of other tests."""


def renamed(value: Any, number: int) -> Any:
    """A record with ids of its own."""
    if isinstance(value, list):
        return [renamed(item, number) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: f"{item}-{number}"
        if isinstance(item, str) and (key.lower() in IDS or key.lower().endswith(("call_id", "callid", "use_id")))
        else renamed(item, number)
        for key, item in value.items()
    }


def made_long(path: Path) -> None:
    """Say everything behind the first line once more, often."""
    more: list[str] = []
    for line in path.read_bytes().splitlines(keepends=True)[1:]:
        try:
            more.append(json.dumps(renamed(json.loads(line), 0), ensure_ascii=True).replace('-0"', '-%NUMBER%"'))
        except ValueError:
            continue
    with path.open("ab") as file:
        for number in range(TIMES):
            file.writelines(f"{line.replace('%NUMBER%', str(number))}\n".encode() for line in more)


def case(name: str, long: bool) -> Any:
    """A home as a parameter of the test."""
    return pytest.param(name, long, id=f"{name} made long" if long else name)
