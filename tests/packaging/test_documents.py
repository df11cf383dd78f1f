"""What the documents promise, where it can be checked."""

from __future__ import annotations

import importlib.util
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click import Option
from msgspec import Struct

import make_docs
from hermes_tui import SessionManager, __version__
from hermes_tui.config import Config, ContextWindow, Hector, Price, load
from hermes_tui.tui.keymap import KEYS, key_label
from hermes_tui.tui.themes import NO_COLOUR_THEME, THEMES
from hermes_tui.tui.user_keymap import validate_keymap
from session_adapters import registry
from session_adapters.base import Environment
from support import REPOSITORY

README = (REPOSITORY / "README.md").read_text()
CONTRIBUTING = (REPOSITORY / "CONTRIBUTING.md").read_text()
PAGES = sorted(f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md"))


def document(name: str) -> str:
    return (REPOSITORY / name).read_text()


def test_the_readme_can_be_read_at_once() -> None:
    lines = README.splitlines()
    assert len(lines) <= 150
    assert "make demo" in README and "make test" in README


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_are_those_of_the_program(page: str) -> None:
    text = document(page)
    assert make_docs.renewed(text) == text, "run `make docs`"


def test_every_key_command_and_setting_has_a_table() -> None:
    made = {one for page in PAGES for one in make_docs.sections(document(page))}
    commands = {
        path for path, command in make_docs.commands() if any(isinstance(one, Option) for one in command.params)
    }
    assert {name for kind, name in made if kind == "keys"} == {key.context for key in KEYS}
    assert {name for kind, name in made if kind == "options"} == commands
    settings = {"Config", "Price", "ContextWindow", "Hector", "AttentionSettings"}
    assert {name for kind, name in made if kind == "settings"} == settings
    table = document("docs/keys.md")
    for key in KEYS:  # as people see it, whatever wrote the table
        labels = " ".join(f"`{label}`" for label in key_label(key.keys).split(" "))
        assert f"| {labels} | {key.description} | `{key.id}` |" in table


@pytest.mark.parametrize("kind", [Config, Price, ContextWindow, Hector])
def test_every_setting_is_explained(kind: type[Struct]) -> None:
    for name in kind.__struct_fields__:
        assert re.search(rf"^\| `{name}` \| \S.{{20,}} \|$", document("docs/settings.md"), re.MULTILINE), name


def test_the_settings_in_the_documents_can_be_used_as_they_stand(tmp_path: Path) -> None:
    examples = re.findall(r"```toml\n(.*?)```", document("docs/settings.md"), re.DOTALL)
    assert len(examples) > 1
    for example in examples:
        (tmp_path / "config.toml").write_text(example)
        config = load(tmp_path / "config.toml")
        assert validate_keymap(config.keymap) == []
        assert not config.theme or config.theme in {theme.name for theme in THEMES}


def test_every_theme_is_named() -> None:
    for theme in THEMES:
        assert theme.name == NO_COLOUR_THEME or f"`{theme.name}`" in document("docs/cli.md")


def anchors(text: str) -> set[str]:
    """What of a document can be linked to, as GitHub makes it from its headings."""
    outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", outside, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *PAGES])
def test_every_link_leads_somewhere(page: str) -> None:
    path = REPOSITORY / page
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        leads = (path.parent / name).resolve() if name else path
        assert leads.exists(), target
        assert not anchor or anchor in anchors(leads.read_text()), target


def test_every_page_is_linked_from_the_readme() -> None:
    assert {page for page in PAGES if f"({page})" not in README} == set()


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


def test_the_changelog_has_a_line_for_each_change() -> None:
    _, _, changes = document("CHANGELOG.md").partition("\n## [Unreleased]\n")
    assert [line for line in changes.splitlines() if line and not line.startswith(("- ", "## ", "### "))] == []


def test_the_adapter_in_the_guide_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code as it stands in docs/adapters.md, installed nowhere, on a store of two sessions."""
    source = re.findall(r"```python\n(.*?)```", document("docs/adapters.md"), re.DOTALL)[0]
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
