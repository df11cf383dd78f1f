"""Databases of real programs come to the same by what changed in them as by all that is in them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sample_homes import HOMES, quiet
from session_adapters.base import Environment
from session_adapters.registry import adapter_class
from support import STORES


@pytest.mark.parametrize("agent", ["cursor", "openclaw", "opencode"])
def test_real_databases_come_to_the_same(agent: str, tmp_path: Path) -> None:
    counted = 0
    for name in (name for name in HOMES if name.startswith(f"{agent}/")):
        home = tmp_path / name
        shutil.copytree(STORES / name, home, symlinks=True)
        adapter = adapter_class(agent)(Environment(home=home, variables={}, proc=tmp_path / "proc"))
        for source in adapter.sources(quiet):
            if (counter := adapter.counter(source)) is not None:
                counted += 1
                for _ in range(2):
                    assert list(counter(source, quiet)[0]) == list(adapter.summaries(source, quiet, exact=True))
    assert counted
