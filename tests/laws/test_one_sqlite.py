"""Law 3: one SQLite in the process, and no database opened as a plain file (closing it would drop SQLite's locks)."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import REPOSITORY

_OTHERS = ("sqlite3", "_sqlite3", "pysqlite3", "pysqlcipher3", "aiosqlite", "sqlalchemy")
_WATCHED = """
import os, stat, sys
opened = []

def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        opened.append(os.path.abspath(os.fsdecode(arguments[0])))

sys.addaudithook(watch)
from hermes_tui.cli.execute import execute
code = execute({arguments!r})
sys.stdout.flush()

def is_database(path):
    if not os.path.isfile(path):
        return False
    with open(path, "rb", buffering=0) as file:
        return file.read(16) == b"SQLite format 3\\x00"

plain = sorted({{path for path in set(opened) if path.startswith({home!r}) and is_database(path)}})
print(code, sorted(set({others!r}) & set(sys.modules)), plain, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a store of every agent, databases among them."""
    home = tmp_path_factory.mktemp("one-sqlite") / "home"
    command = [sys.executable, "-m", "hermes_tui", "demo", "--no-open", "--static", "--home", str(home)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return home


def test_no_module_imports_another_sqlite() -> None:
    for top in (REPOSITORY / "hermes_tui", REPOSITORY / "adapters"):
        for path in top.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                assert not {name.partition(".")[0] for name in names} & set(_OTHERS), path


@pytest.mark.parametrize(
    "arguments",
    [
        ("sessions", "list", "--sort", "turns"),
        ("sessions", "search", "the"),
        ("--no-index", "sessions", "search", "the"),
        ("index", "rebuild"),
        ("cost", "report"),
        ("lanes", "list"),
        ("memory", "stats"),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_a_process_has_one_sqlite_and_opens_databases_with_it(
    arguments: tuple[str, ...], demo: Path, tmp_path: Path
) -> None:
    assert [path for path in demo.rglob("*.db") if path.read_bytes()[:6] == b"SQLite"]
    words = ["--home", str(demo), *arguments]
    code = _WATCHED.format(arguments=words, home=str(demo), others=_OTHERS)
    search = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "adapters")))
    variables = {**os.environ, "PYTHONPATH": search, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=120, check=True
    )
    assert ran.stderr.splitlines()[-1] == "0 [] []"
    assert ran.stdout
