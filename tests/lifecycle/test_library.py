"""The library under the names of specs 000 and 002, from one place."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest

from databases import run_python
from hermes_tui import lifecycle
from support import REPOSITORY
from tiny_home import tree_hash

STORE_METHODS = (
    "append_to_transcript",
    "clear_resume_pending",
    "get_or_create_session",
    "has_any_sessions",
    "list_sessions",
    "load_transcript",
    "lookup_by_session_id",
    "mark_resume_pending",
    "prune_old_entries",
    "reset_session",
    "rewind_session",
    "rewrite_transcript",
    "suspend_recently_active",
    "suspend_session",
    "switch_session",
    "update_session",
)
"""Spec 002 section 3, first column of its table of operations."""

DATABASE_METHODS = (
    "append_message",
    "clear_messages",
    "create_session",
    "delete_session",
    "end_session",
    "export_all",
    "export_session",
    "get_messages",
    "get_messages_as_conversation",
    "get_next_title_in_lineage",
    "prune_sessions",
    "reopen_session",
    "resolve_session_by_title",
    "search_messages",
    "set_session_title",
)
"""Spec 000: whatever its examples call on `db`."""


@pytest.mark.parametrize("name", lifecycle.__all__)
def test_a_name_leads_to_the_one_thing(name: str) -> None:
    found = getattr(lifecycle, name)
    assert found is getattr(import_module(found.__module__), name)
    assert found.__doc__


@pytest.mark.parametrize("name", STORE_METHODS)
def test_every_method_that_the_document_names_is_there(name: str) -> None:
    assert callable(getattr(lifecycle.SessionStore, name, None))


@pytest.mark.parametrize("name", DATABASE_METHODS)
def test_every_call_that_the_document_shows_is_there(name: str) -> None:
    assert callable(getattr(lifecycle.SessionDB, name, None))


def test_what_the_document_shows_runs(store: Callable[..., Path], tmp_path: Path) -> None:
    """As it stands there, on the sample store; nothing of that is changed."""
    home = store("hermes", "home")
    before = tree_hash(home)
    section = (REPOSITORY / "docs" / "library.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", section, re.S))
    places = {"HOME": str(home), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = run_python(f"import os; os.environ.update({places!r}); os.chdir({str(tmp_path)!r})\n{code}")
    assert tree_hash(home) == before
    assert done.stdout.count("agent:main:") >= 17
    assert "makes the session" in done.stdout
    assert done.stdout.endswith("DM with user You said: hello\n")
    wanted = {"home": [("user", "hello", 0)], "gateway": [("user", "hello", 1), ("assistant", "You said: hello", 1)]}
    for place, said in wanted.items():
        with closing(sqlite3.connect(tmp_path / place / "state.db")) as database:
            assert database.execute("SELECT role, content, active FROM messages ORDER BY id").fetchall() == said
    index = json.loads((tmp_path / "home" / "sessions" / "sessions.json").read_text())
    assert list(index) == ["agent:main:telegram:dm:1"]


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        lifecycle.nothing  # noqa: B018


def test_to_import_it_reads_nothing_of_it(tmp_path: Path) -> None:
    code = (
        "import sys, hermes_tui.lifecycle as l\n"
        "assert not [name for name in sys.modules if name.startswith('hermes_tui.lifecycle.')]\n"
        "assert l.SessionSource(platform='telegram', chat_id='1').description == 'DM with user'\n"
        "assert 'hermes_tui.lifecycle.state_db' not in sys.modules and 'textual' not in sys.modules"
    )
    run_python(code, imports="json")
