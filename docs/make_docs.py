"""Write the tables of these pages anew from the program: keys, commands, options, settings (`make docs`).

A table stands between `<!-- keys: main -->` and `<!-- end -->`; what stands around it is written by hand.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from hermes_tui import config
from hermes_tui.cli.root import root
from hermes_tui.tui.keymap import KEYS, key_label

_MADE = re.compile(r"(<!-- (keys|commands|options|settings): ?([^\n]*?) ?-->\n)(.*?)(<!-- end -->)", re.DOTALL)


def commands(command: click.Command = root, path: str = "hermes-tui") -> Iterator[tuple[str, click.Command]]:
    """The command and everything under it, with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from commands(below, f"{path} {name}")


def _table(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heading, ("---",) * len(heading), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def keys(context: str) -> str:
    """The keys of a context."""
    rows = (
        (" ".join(f"`{label}`" for label in key_label(key.keys).split(" ")), key.description, f"`{key.id}`")
        for key in KEYS
        if key.context == context
    )
    return _table(("keys", "what", "id"), rows)


def _usage(path: str, command: click.Command) -> str:
    context = click.Context(command)
    return " ".join([path, *(one.make_metavar(context) for one in command.params if isinstance(one, click.Argument))])


def all_commands(_: str) -> str:
    """Every command that does something, with what it does."""
    lines = [
        (_usage(path, command), (command.help or "").split("\n\n")[0])
        for path, command in commands()
        if not isinstance(command, click.Group) or path == "hermes-tui"
    ]
    width = max(len(usage) for usage, _ in lines)
    return "```\n" + "".join(f"{usage:{width}}  {' '.join(text.split())}\n" for usage, text in lines) + "```\n"


def _option(parameter: click.Option, context: click.Context) -> tuple[str, str]:
    value = "" if parameter.is_flag else " " + parameter.make_metavar(context).strip("[]{}")
    spelled = [f"`{name}{value}`" for name in (*parameter.opts, *parameter.secondary_opts)]
    said = " ".join((parameter.help or "").split())
    if isinstance(parameter.default, int | str) and parameter.default and not parameter.is_flag:
        said += f" Without it: `{parameter.default}`."
    return ", ".join(spelled), said


def options(path: str) -> str:
    """The options of a command."""
    command = dict(commands())[path]
    context = click.Context(command)
    rows = (_option(one, context) for one in command.params if isinstance(one, click.Option))
    return _table((f"option of `{path}`", "what"), rows)


def _fields(kind: type) -> Iterator[tuple[str, str]]:
    """Name of a setting, and the text below it in the source."""
    (tree,) = ast.parse(inspect.getsource(kind)).body
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for one, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            said = after.value if isinstance(after, ast.Expr) else None
            text = said.value if isinstance(said, ast.Constant) and isinstance(said.value, str) else ""
            yield one.target.id, " ".join(text.split())


def settings(name: str) -> str:
    """The fields of a class of `config`."""
    rows = ((f"`{field}`", text) for field, text in _fields(getattr(config, name)))
    return _table(("setting", "what"), rows)


_MAKERS: dict[str, Callable[[str], str]] = {
    "keys": keys,
    "commands": all_commands,
    "options": options,
    "settings": settings,
}


def renewed(text: str) -> str:
    """A page with its tables as the program has them now."""
    return _MADE.sub(lambda found: found[1] + _MAKERS[found[2]](found[3]) + found[5], text)


def sections(text: str) -> set[tuple[str, str]]:
    """Which tables a page has: (`keys`, `main`)."""
    return {(found[2], found[3]) for found in _MADE.finditer(text)}


def main() -> None:
    """Write every page anew whose tables have changed."""
    for page in sorted(Path(__file__).parent.glob("*.md")):
        old = page.read_text(encoding="utf-8")
        if (new := renewed(old)) != old:
            page.write_text(new, encoding="utf-8")
            print(f"{page.name}: written anew", file=sys.stderr)


if __name__ == "__main__":
    main()
