"""Every command, option and exit code stands in the documents."""

from __future__ import annotations

import re

import click
import pytest

from hermes_tui.cli import exit_codes
from make_docs import commands
from support import REPOSITORY

DOCUMENT = (REPOSITORY / "docs" / "cli.md").read_text()


EVERY = dict(commands())


LANES = ("list", "show", "history", "reset", "suspend", "resume", "mark", "clear", "prune", "undo", "log")

SESSIONS = ("rename", "end", "reopen", "delete", "clear", "prune", "undo", "log")
"""Of Hermes' own."""


def test_the_commands_are_those_of_the_design() -> None:
    assert set(EVERY) == {
        "hermes-tui",
        "hermes-tui attention",
        "hermes-tui cost",
        "hermes-tui cost report",
        "hermes-tui demo",
        "hermes-tui doctor",
        "hermes-tui hermes",
        "hermes-tui hermes sessions",
        *(f"hermes-tui hermes sessions {name}" for name in SESSIONS),
        "hermes-tui index",
        *(f"hermes-tui index {name}" for name in ("clear", "rebuild", "status")),
        "hermes-tui jump",
        "hermes-tui lanes",
        *(f"hermes-tui lanes {name}" for name in LANES),
        "hermes-tui mcp",
        "hermes-tui memory",
        *(f"hermes-tui memory {name}" for name in ("list", "recall", "stats")),
        "hermes-tui sessions",
        "hermes-tui sessions browse",
        "hermes-tui sessions diff",
        "hermes-tui sessions export",
        "hermes-tui sessions fork",
        "hermes-tui sessions list",
        "hermes-tui sessions mark",
        "hermes-tui sessions resume",
        "hermes-tui sessions search",
        "hermes-tui sessions show",
        "hermes-tui skill",
        "hermes-tui status",
    }


@pytest.mark.parametrize("path", EVERY)
def test_every_command_is_in_the_documents(path: str) -> None:
    assert path in DOCUMENT


@pytest.mark.parametrize("path", EVERY)
def test_every_option_is_in_the_documents_and_has_help(path: str) -> None:
    for parameter in EVERY[path].params:
        if isinstance(parameter, click.Option):
            spelled = [name for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("--")]
            for name in spelled:
                assert re.search(rf"{re.escape(name)}(?![\w-])", DOCUMENT), f"{path} {name}"
            assert parameter.help, f"{path} {parameter.name}"


def test_every_exit_code_is_in_the_documents() -> None:
    table = re.findall(r"^\| (\d+) \|", exit_codes.__doc__ or "", re.MULTILINE)
    assert {"0", "1", "2", "3", "4", "6", "8", "10", "11", "12", "130", "141"} == set(table)
    for code in table:
        assert re.search(rf"(?<!\d){code}(?!\d)", DOCUMENT), code
