"""Law 1: arrows point down. By contract over the source, and by what a real process has loaded."""

from __future__ import annotations

import ast
import graphlib
import json
import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from support import REPOSITORY

SCREEN = {"textual", "rich", "pygments", "markdown_it", "watchfiles"}


def loaded_after(code: str, home: Path) -> set[str]:
    """Names of the modules that a fresh interpreter has loaded after `code`."""
    script = f"{code}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    search = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "adapters")))
    ran = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": search, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    return set(json.loads(ran.stderr.splitlines()[-1]))


def command(*arguments: str) -> str:
    return f"from hermes_tui.cli.execute import execute\ncode = execute({list(arguments)!r})\nassert code == 0, code"


def test_the_contracts_hold() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run(
        [str(program), "--no-cache"], cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stdout


def imports_when_loaded(path: Path, module: str, modules: Collection[str]) -> set[str]:
    """What of `modules` the one called `module` needs while it is imported itself: not what its functions import,
    nor what types alone need. `from package import room` needs the room."""
    found: set[str] = set()
    waiting: list[ast.stmt] = list(ast.parse(path.read_text()).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            rooms = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update(rooms if rooms <= set(modules) else {node.module, *rooms})
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            waiting.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))
    return (found & set(modules)) - {module}


def test_there_are_no_import_cycles() -> None:
    modules: dict[str, Path] = {}
    for top in (REPOSITORY / "hermes_tui", REPOSITORY / "adapters" / "session_adapters"):
        for path in top.rglob("*.py"):
            name = ".".join(path.relative_to(top.parent).with_suffix("").parts)
            modules[name.removesuffix(".__init__")] = path
    graph = {name: imports_when_loaded(path, name, modules.keys()) for name, path in modules.items()}
    assert sum(map(len, graph.values())) > 100
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle


@pytest.mark.parametrize(
    "code",
    [
        command("--help"),
        command("--version"),
        command("sessions", "--help"),
        command("sessions", "list"),
        command("sessions", "list", "--json"),
        command("doctor"),
        command("doctor", "--json"),
        command("lanes", "list"),
        command("lanes", "log"),
        "import hermes_tui; hermes_tui.SessionManager().list()",
    ],
)
def test_the_headless_half_loads_no_screen(code: str, isolated_home: Path) -> None:
    assert {name.partition(".")[0] for name in loaded_after(code, isolated_home)} & SCREEN == set()


def test_importing_the_package_loads_almost_nothing(isolated_home: Path) -> None:
    before = loaded_after("", isolated_home)
    added = loaded_after("import hermes_tui", isolated_home) - before
    assert {name for name in added if name.partition(".")[0] not in sys.stdlib_module_names} == {"hermes_tui"}


@pytest.mark.parametrize("code", [command("--help"), command("--version")])
def test_help_loads_no_adapter_and_no_manager(code: str, isolated_home: Path) -> None:
    added = loaded_after(code, isolated_home)
    assert not [name for name in added if name.startswith(("session_adapters", "hermes_tui.sessions", "msgspec"))]


def test_one_agent_loads_one_adapter(isolated_home: Path) -> None:
    added = loaded_after(command("sessions", "list", "claude"), isolated_home)
    assert "session_adapters.claude.adapter" in added
    assert not added & {"session_adapters.hermes.adapter", "session_adapters.codex.adapter", "apsw", "sqlite3"}
    assert "importlib.metadata" not in added, "no third party has announced an adapter"


def test_temporary_files_are_told_where_to_be() -> None:
    """Python's own choice may be the directory we are in, and that a store."""
    untold = [
        f"{path}:{node.lineno}"
        for top in (REPOSITORY / "hermes_tui", REPOSITORY / "adapters")
        for path in top.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).startswith("tempfile.")
        and "dir" not in {keyword.arg for keyword in node.keywords}
    ]
    assert untold == []
