"""What the documents promise, where it can be checked."""

from __future__ import annotations

import importlib.util
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_tui import SessionManager, __version__
from hermes_tui.config import Config, Price, Window
from hermes_tui.keymap import all_keys, key_label
from hermes_tui.themes import NO_COLOUR_THEME, THEMES
from session_adapters import registry
from session_adapters.base import Environment
from support import REPOSITORY

README = (REPOSITORY / "README.md").read_text()
CONTRIBUTING = (REPOSITORY / "CONTRIBUTING.md").read_text()


def test_the_readme_has_every_key() -> None:
    for key in all_keys():
        labels = " ".join(f"`{label}`" for label in key_label(key.keys).split(" "))
        assert f"| {labels} | {key.description} | `{key.id}` |" in README


def test_the_readme_has_every_theme() -> None:
    for theme in THEMES:
        assert theme.name == NO_COLOUR_THEME or f"`{theme.name}`" in README


def test_the_readme_has_every_setting() -> None:
    table = README.split("## Settings")[1].split("\n## ")[0]
    for name in (*Config.__struct_fields__, *Price.__struct_fields__, *Window.__struct_fields__):
        assert re.search(rf"`\[?{name}\b", table), name


def test_every_make_target_is_explained() -> None:
    targets = re.findall(r"^([a-z]+):.*?## ", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    assert {"demo", "test", "run", "lint", "types", "check", "screenshots", "bench", "build", "clean"} <= set(targets)
    for target in targets:
        assert f"make {target}" in README + CONTRIBUTING, target


def test_every_dependency_is_explained() -> None:
    wanted = (REPOSITORY / "pyproject.toml").read_text().split("\ndependencies = [")[1].split("\n]")[0]
    table = CONTRIBUTING.split("## Dependencies")[1].split("\n## ")[0]
    names = re.findall(r'"([A-Za-z][A-Za-z.-]+)', wanted)
    assert len(names) > 5
    for name in names:
        assert re.search(rf"^\| {re.escape(name)} \|", table, re.MULTILINE), name


def test_the_changelog_knows_this_version() -> None:
    changes = (REPOSITORY / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## \[(.+?)\]", changes, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert __version__ in headings or __version__ == "0.1.0"


def test_the_adapter_in_the_guide_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code as it stands in CONTRIBUTING.md, installed nowhere, on a store of two sessions."""
    source = re.findall(r"```python\n(.*?)```", CONTRIBUTING, re.DOTALL)[0]
    (tmp_path / "parrot_sessions.py").write_text(source)
    spec = importlib.util.spec_from_file_location("parrot_sessions", tmp_path / "parrot_sessions.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "parrot_sessions", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(registry, "BUILT_IN", {"parrot": "parrot_sessions:ParrotAdapter"})

    home = tmp_path / "home"
    (home / ".parrot").mkdir(parents=True)
    line = '{"role": "user", "text": "Polly?", "time": "2026-11-21T10:00:00Z"}\n'
    (home / ".parrot" / "one.jsonl").write_text(line + line.replace("user", "assistant") + "broken\n")
    (home / ".parrot" / "two.jsonl").write_text(line.replace("Polly", "Anybody").replace("21T10", "21T11"))
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache")
    found = manager.list()
    assert [(one.unified_id, one.title) for one in found] == [("parrot:two", "Anybody?"), ("parrot:one", "Polly?")]
    one = manager.get("parrot", "one")
    assert [message.role for message in one.messages] == ["user", "assistant"]
    assert one.warnings == 1
    (problem,) = manager.catalogue.snapshot.problems
    assert (Path(problem.path).name, problem.place) == ("one.jsonl", f"byte {2 * len(line) + 5}")
    assert one.updated_at == datetime(2026, 11, 21, 10, tzinfo=UTC)

    spoilt = tmp_path / "spoilt"
    spoilt.mkdir()
    (spoilt / ".parrot").write_text("no directory")
    manager = SessionManager(Environment(home=spoilt), cache_dir=tmp_path / "other-cache")
    assert manager.list() == []
    (problem,) = manager.catalogue.snapshot.problems
    assert (problem.path, problem.reason) == (str(spoilt / ".parrot"), "cannot be listed: Not a directory")
