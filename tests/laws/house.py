"""Figures of the house: names that stand for several things, large modules and folders, circles of imports.

`python tests/laws/house.py` prints them; `test_house.py` keeps them from growing.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("hermes_tui", "adapters/session_adapters")

_OFFERED = {"_asdict", "_exit", "_fields", "_make", "_replace"}
"""Names that the standard library documents, of named tuples and of `os`."""

__all__ = [
    "circles",
    "comments",
    "folders",
    "forget",
    "homonyms",
    "lines",
    "modules",
    "once",
    "private",
    "reached_by_tests",
    "shared",
    "waits",
]


def modules() -> dict[str, Path]:
    """Every module of the product by its dotted name."""
    found = {}
    for place in PLACES:
        base = (ROOT / place).parent
        for path in sorted((ROOT / place).rglob("*.py")):
            parts = path.relative_to(base).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def _trees() -> dict[str, ast.Module]:
    """Parsed once: every figure is taken of the same tree, and parsing it takes seconds."""
    return {name: ast.parse(path.read_bytes()) for name, path in modules().items()}


def forget() -> None:
    """Let go of the tree: Python's collector would walk through millions of nodes in every test that follows."""
    _trees.cache_clear()


def homonyms() -> tuple[Counter[str], int]:
    """Public class names that several modules have, with how many, and the number of all public classes."""
    names = Counter(
        node.name
        for tree in _trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return Counter({name: count for name, count in names.items() if count > 1}), names.total()


def lines() -> dict[str, int]:
    """Physical lines of each module."""
    return {name: path.read_bytes().count(b"\n") for name, path in modules().items()}


def folders(place: Path = ROOT / "hermes_tui") -> dict[str, int]:
    """Modules in each folder below `place`, `__init__.py` left out."""
    found = Counter(
        str(path.parent.relative_to(place.parent)) for path in place.rglob("*.py") if path.name != "__init__.py"
    )
    return dict(found)


def once() -> tuple[int, int]:
    """Private functions and methods whose name is used once after the definition, and all functions."""
    every, private = 0, list[tuple[str, str]]()
    uses: dict[str, Counter[str]] = {}
    paths = modules()
    for module, tree in _trees().items():
        text = paths[module].read_text()
        uses[module] = Counter(re.findall(r"\b_\w+", text))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                every += 1
                if node.name.startswith("_") and not node.name.startswith("__"):
                    private.append((module, node.name))
    return sum(uses[module][name] == 2 for module, name in private), every


def reached_by_tests() -> list[str]:
    """Private names that tests reach from outside, each with its place: attributes of anything but `self` and `cls`,
    names given to `setattr` and its like, and imports. What Hermes hides in itself is the oracle's matter."""
    found = list[str]()
    for path in sorted((ROOT / "tests").rglob("*.py")):
        place = path.relative_to(ROOT)
        if not {"stores", "oracle"} & set(place.parts):
            for node in ast.walk(ast.parse(path.read_bytes())):
                found += (f"{place}:{node.lineno} {name}" for name in _names_reached(node))  # type: ignore[attr-defined]
    return found


def _names_reached(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Attribute(ast.Name("self" | "cls")):
            return
        case ast.Attribute(attr=name):
            names = [name]
        case ast.Call(ast.Name(called) | ast.Attribute(attr=called), arguments) if called.endswith("attr"):
            given = (one.value for one in arguments[:2] if isinstance(one, ast.Constant))
            names = [text.rpartition(".")[2] for text in given if isinstance(text, str)]
        case ast.ImportFrom(names=imported):
            names = [alias.name for alias in imported]
        case _:
            return
    yield from (name for name in names if re.match("_[^_]", name) and name not in _OFFERED)


def comments() -> tuple[int, int]:
    """Lines with a comment that is no order to a tool, and all lines."""
    said = total = 0
    for path in modules().values():
        total += path.read_bytes().count(b"\n")
        with tokenize.open(path) as file:
            said += sum(
                token.type == tokenize.COMMENT and not re.match(r"# (noqa|type:|fmt:|pragma)|#!", token.string)
                for token in tokenize.generate_tokens(file.readline)
            )
    return said, total


def private() -> Counter[str]:
    """Module → how often it reaches a private name of another object than `self` or `cls`."""
    found = Counter[str]()
    for module, tree in _trees().items():
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)} | {"self", "cls", "super()"}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and re.match(r"_(?!_)", node.attr) and node.attr not in _OFFERED:
                found[module] += ast.unparse(node.value) not in own
    return +found


def shared() -> dict[str, set[str]]:
    """Class → private names of `self` that it uses and a base of ours in another file brings along: two files share
    the private names of one object."""
    made: dict[str, set[str]] = {}
    used: dict[str, set[str]] = {}
    bases: dict[str, tuple[str, set[str]]] = {}
    for module, tree in _trees().items():
        for node in (one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)):
            bases[node.name] = module, {ast.unparse(base).partition("[")[0] for base in node.bases}
            names = [one for one in ast.walk(node) if isinstance(one, ast.Attribute) and _is_own(one)]
            made[node.name] = {one.attr for one in names if isinstance(one.ctx, ast.Store)}
            made[node.name] |= {
                one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            used[node.name] = {one.attr for one in names}

    def brought(name: str, module: str) -> set[str]:
        where, above = bases.get(name, (module, set()))
        own = made[name] if where != module else set()
        return own.union(*(brought(base, module) for base in above if base in bases))

    found = {name: (used[name] - made[name]) & brought(name, module) for name, (module, _) in bases.items()}
    return {name: names for name, names in found.items() if names}


def _is_own(node: ast.Attribute) -> bool:
    """Whether it is a private name of `self`."""
    return isinstance(node.value, ast.Name) and node.value.id == "self" and bool(re.match(r"_(?!_)", node.attr))


def circles() -> list[list[str]]:
    """Groups of modules that import each other, for types or late too, largest first: the strongly connected parts
    of the graph. A package that imports its own modules late is no circle; see `waits`."""
    known = modules()
    graph = {
        name: {other for other in _imports(tree, known) if other != name and not name.startswith(f"{other}.")}
        for name, tree in _trees().items()
    }
    return sorted((part for part in _parts(graph) if len(part) > 1), key=len, reverse=True)


def waits() -> list[list[str]]:
    """Groups of modules that wait for each other while they are imported, largest first. Python has a thread wait
    for what a module imports at once, and for the package it is in: of two threads that come from two sides, one is
    given a module that is half made, and fails."""
    known = modules()
    graph = {
        name: {other for node in _at_once(tree) for other in _imports(node, known) if other != name}
        | {name.rpartition(".")[0]} & known.keys()
        for name, tree in _trees().items()
    }
    return sorted((part for part in _parts(graph) if len(part) > 1), key=len, reverse=True)


def _at_once(tree: ast.AST) -> Iterator[ast.AST]:
    """The imports in it that are made when the module is imported."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from _at_once(ast.Module(node.orelse, []))
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _at_once(node)


def _imports(tree: ast.AST, known: Mapping[str, Path]) -> Iterator[str]:
    """Modules of the product that this one names in an import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                below = f"{node.module}.{alias.name}"
                if below in known:
                    yield below
                elif node.module in known:
                    yield node.module


def _parts(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Tarjan's algorithm."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph.get(name, ())):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            part = list[str]()
            while not part or part[-1] != name:
                part.append(stack.pop())
            found.append(part)

    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        for name in graph:
            if name not in order:
                visit(name)
    finally:
        sys.setrecursionlimit(usual)  # what stays raised lets JSON nest deeper in every later test of the process
    return found


def main() -> None:
    """Print all of it."""
    same, classes = homonyms()
    print(f"public classes that share a name: {same.total()} of {classes} ({same.total() / classes:.0%})")
    print("  " + ", ".join(f"{name} {count}" for name, count in same.most_common(12)))
    long = Counter(lines())
    print(f"modules over 350 lines: {sum(count > 350 for count in long.values())} of {len(long)}")
    print("  " + ", ".join(f"{name} {count}" for name, count in long.most_common(6)))
    for place in (*PLACES, "tests"):
        full = Counter(folders(ROOT / place))
        print(f"folders of {place} over 16 modules: {sum(count > 16 for count in full.values())} of {len(full)}")
        print("  " + ", ".join(f"{name} {count}" for name, count in full.most_common(6)))
    single, every = once()
    print(f"private functions used once: {single} of {every} functions ({single / every:.0%})")
    said, total = comments()
    print(f"comments: {said} of {total} lines ({said / total:.1%})")
    reached = private()
    print(f"private names of other objects: {reached.total()} in {len(reached)} modules")
    print("  " + ", ".join(f"{name} {count}" for name, count in reached.most_common(8)))
    together = Counter({name: len(names) for name, names in shared().items()})
    print(f"private names that a base in another file brings along: {together.total()} in {len(together)} classes")
    print("  " + ", ".join(f"{name} {count}" for name, count in together.most_common(8)))
    print(f"private names that tests reach: {len(reached_by_tests())}")
    for what, found in (("circles of imports", circles()), ("circles of threads that import", waits())):
        print(f"{what}: {len(found)}")
        for part in found:
            print("  " + " ".join(sorted(part)))


if __name__ == "__main__":
    main()
