"""Every module says what it is and offers: a short first line, `__all__` sorted and true, docstrings."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from support import REPOSITORY

SOURCES = sorted((*(REPOSITORY / "hermes_tui").rglob("*.py"), *(REPOSITORY / "adapters").rglob("*.py")))


def names(path: Path) -> tuple[list[str] | None, set[str], list[str]]:
    """`__all__` as written; public classes and functions defined; those of them without a docstring."""
    exported: list[str] | None = None
    defined: set[str] = set()
    bare: list[str] = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            exported = ast.literal_eval(node.value)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
            defined.add(node.name)
            if not ast.get_docstring(node):
                bare.append(node.name)
    return exported, defined, bare


def order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest, as the linter's RUF022 has it."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_all_is_sorted_and_nothing_public_lacks_a_docstring(path: Path) -> None:
    exported, _, bare = names(path)
    assert bare == []
    if exported is not None:
        assert exported == sorted(exported, key=order)
        assert len(set(exported)) == len(exported)


def first_paragraph(path: Path) -> str:
    """Of the module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")[0]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_a_module_begins_with_one_short_sentence(path: Path) -> None:
    """A reader goes through many of them, to find the one that answers a question."""
    sentence = first_paragraph(path)
    assert "\n" not in sentence
    assert 0 < len(sentence) <= 80
    assert sentence.endswith((".", ")"))


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in SOURCES
        if path.parent.name in ("sessions", "cli", "lifecycle") or path.parent.name == "hermes_tui"
    ],
    ids=lambda path: str(path.relative_to(REPOSITORY)),
)
def test_all_is_complete(path: Path) -> None:
    exported, defined, _ = names(path)
    if exported is not None:
        assert defined <= set(exported)


def test_the_package_offers_the_manager() -> None:
    import hermes_tui
    from hermes_tui.sessions.manager import SessionManager

    assert hermes_tui.__all__ == ["SessionManager", "__version__"]
    assert hermes_tui.SessionManager is SessionManager
    with pytest.raises(AttributeError):
        _ = hermes_tui.no_such_name
