"""What a user gets: the files in the packages, and a program that runs from them alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from support import REPOSITORY

_LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "*_cache", "__pycache__", ".hypothesis", "build", "dist")
_FOLDERS = {
    "hermes_tui": "hermes_tui",
    "adapters/session_adapters": "session_adapters",
    "styles": "hermes_tui/styles",
}
"""Folder in the repository → where it goes in the wheel."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, so that building leaves nothing in it."""
    target = tmp_path_factory.mktemp("packages") / "tree"
    shutil.copytree(REPOSITORY, target, ignore=_LEFT_OUT)
    return target


@pytest.fixture(scope="module")
def built(tree: Path) -> tuple[Path, Path]:
    """(source archive, wheel); the wheel is built from the archive, as `uv build` and PyPI's users do."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tree.parent / "dist"), str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = (tree.parent / "dist").glob("*.tar.gz")
    (wheel,) = (tree.parent / "dist").glob("*.whl")
    return archive, wheel


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; its dependencies are borrowed from the one that runs the tests."""
    target = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(target, with_pip=True)
    python = target / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", built[1]],
        check=True,
        capture_output=True,
        env={"PATH": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    (packages,) = target.glob("lib/python*/site-packages")
    # A path in a .pth file does not have its own .pth files read: an editable install there stays out of reach.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return target


def _files(tree: Path) -> set[str]:
    return {
        f"{goal}/{path.relative_to(tree / folder).as_posix()}"
        for folder, goal in _FOLDERS.items()
        for path in (tree / folder).rglob("*")
        if path.is_file()
    }


def test_the_wheel_holds_the_program_and_nothing_else(tree: Path, built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        names = set(wheel.namelist())
    (about,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
    expected = {f"{about}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    assert names == expected | _files(tree)
    assert {"hermes_tui/py.typed", "session_adapters/py.typed", "session_adapters/model.py"} <= names
    assert any(name.startswith("hermes_tui/styles/") and name.endswith(".tcss") for name in names)


def test_the_archive_can_be_worked_with(tree: Path, built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in (
        "Makefile",
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "LICENSE",
        "pyproject.toml",
        "docs/keys.md",
    ):
        assert name in names
    assert {path.relative_to(tree).as_posix() for path in (tree / "tests").rglob("*") if path.is_file()} <= names
    assert built[0].stat().st_size < 5_000_000  # most of it the sample stores, without which the tests are of no use
    assert {f"styles/{path.name}" for path in (tree / "styles").glob("*.tcss")} <= names


def test_the_installed_program_runs_from_anywhere(installed: Path, tmp_path: Path) -> None:
    """In a folder with an `adapters` and a `styles` of its own, which must not be mistaken for ours."""
    for name in ("adapters", "styles", "hermes_tui"):
        (tmp_path / name).mkdir()
    (tmp_path / "adapters" / "__init__.py").write_text("raise SystemExit('the wrong adapters')\n")
    done = subprocess.run(
        [installed / "bin" / "hermes-tui", "--version"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    version = (REPOSITORY / "hermes_tui" / "__init__.py").read_text().split('__version__ = "')[1].split('"')[0]
    assert version in done.stdout


_STYLES = """
import pathlib
from hermes_tui.platform.paths import styles_dir
sheets = sorted(styles_dir().glob("*.tcss"))
for path in sheets:
    assert path.read_text().strip(), path
print(styles_dir(), len(sheets))
"""


def test_the_installed_program_finds_its_styles(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [installed / "bin" / "python", "-c", _STYLES], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    folder, count = done.stdout.split()
    assert Path(folder).is_relative_to(installed)
    assert int(count) == len(list((REPOSITORY / "styles").glob("*.tcss"))) > 0
