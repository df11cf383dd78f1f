"""Counts the lines of code: physical lines that hold any, without blank lines, comments and docstrings.

`python tests/laws/code_lines.py [DIRECTORY ...]` prints a line for each part of `hermes_tui` and `session_adapters`:
its lines of code, how many modules it has, and the longest of them.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Part", "code_lines", "parts"]

_ROOT = Path(__file__).parents[2]
_PACKAGES = (_ROOT / "hermes_tui", _ROOT / "adapters" / "session_adapters")
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


class Part(NamedTuple):
    """A folder or a module at the top of a package."""

    name: str
    code: int
    modules: int
    longest: str
    length: int
    """Physical lines of the longest module."""


def code_lines(source: str) -> int:
    """How many physical lines of `source` hold code. Raises `SyntaxError` for what is no Python."""
    texts = set(_texts(ast.parse(source)))
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE and token.start not in texts:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found)


def _texts(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """Where each text begins that is a statement of its own: docstrings, and those below an attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.col_offset


def parts(package: Path) -> Iterator[Part]:
    """The parts of `package`, those with the most code first."""
    modules: dict[str, list[tuple[int, int, str]]] = {}
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        place = path.relative_to(package)
        name = place.parts[0] if len(place.parts) > 1 else "(modules)"
        modules.setdefault(name, []).append((source.count("\n"), code_lines(source), str(place)))
    counted = [
        Part(name, sum(code for _, code, _ in found), len(found), max(found)[2], max(found)[0])
        for name, found in modules.items()
    ]
    yield from sorted(counted, key=lambda part: -part.code)


def main(packages: list[Path]) -> None:
    """Print all parts and their sum."""
    everything = 0
    for package in packages:
        found = list(parts(package))
        total = sum(part.code for part in found)
        everything += total
        print(f"{total:7,}  {package.name}, {sum(part.modules for part in found)} modules")
        for part in found:
            print(
                f"{part.code:7,}    {part.name:<14}{part.modules:4} modules, longest {part.length:4} {part.longest}"
            )
    print(f"{everything:7,}  in all")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or list(_PACKAGES))
