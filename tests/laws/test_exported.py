"""Every module says what it is and offers: a short first line, `__all__` sorted and true, docstrings."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

from support import REPOSITORY

OFFERING = ("sessions", "cli", "lifecycle", "hermes_tui")
"""Folders of modules that name all that is public in them, when they name anything."""


class Facts(NamedTuple):
    """What a module says of itself."""

    exported: list[str] | None
    """`__all__` as written."""
    defined: set[str]
    """Public classes and functions."""
    bare: list[str]
    """Those of them without a docstring."""
    sentence: str
    """The first paragraph of its own docstring."""


def facts(path: Path) -> Facts:
    exported: list[str] | None = None
    defined: set[str] = set()
    bare: list[str] = []
    tree = ast.parse(path.read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            exported = ast.literal_eval(node.value)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
            defined.add(node.name)
            if not ast.get_docstring(node):
                bare.append(node.name)
    return Facts(exported, defined, bare, (ast.get_docstring(tree) or "").partition("\n\n")[0])


@pytest.fixture(scope="module")
def modules() -> dict[str, Facts]:
    """Every module of the product by its path in the repository, parsed once."""
    paths = (path for top in ("hermes_tui", "adapters") for path in sorted((REPOSITORY / top).rglob("*.py")))
    return {str(path.relative_to(REPOSITORY)): facts(path) for path in paths}


def order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest, as the linter's RUF022 has it."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_there_are_modules_to_look_at(modules: dict[str, Facts]) -> None:
    assert len(modules) > 500
    assert sum(one.exported is not None for one in modules.values()) > 300


def test_all_is_sorted_and_nothing_public_lacks_a_docstring(modules: dict[str, Facts]) -> None:
    assert {path: one.bare for path, one in modules.items() if one.bare} == {}
    offered = {path: one.exported for path, one in modules.items() if one.exported is not None}
    assert {path: names for path, names in offered.items() if names != sorted(set(names), key=order)} == {}


def test_a_module_begins_with_one_short_sentence(modules: dict[str, Facts]) -> None:
    """A reader goes through many of them, to find the one that answers a question."""
    assert {
        path: one.sentence
        for path, one in modules.items()
        if "\n" in one.sentence or not 0 < len(one.sentence) <= 80 or not one.sentence.endswith((".", ")"))
    } == {}


def test_all_is_complete(modules: dict[str, Facts]) -> None:
    assert {
        path: one.defined - set(one.exported)
        for path, one in modules.items()
        if Path(path).parent.name in OFFERING and one.exported is not None and not one.defined <= set(one.exported)
    } == {}


def test_the_package_offers_the_manager() -> None:
    import hermes_tui
    from hermes_tui.sessions.manager import SessionManager

    assert hermes_tui.__all__ == ["SessionManager", "__version__"]
    assert hermes_tui.SessionManager is SessionManager
    with pytest.raises(AttributeError):
        _ = hermes_tui.no_such_name
