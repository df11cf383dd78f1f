"""`sessions export` and `sessions diff`: answers, exit codes, what goes where."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from claude_lines import ClaudeHome
from hermes_tui.sessions.manager import SessionManager
from session_adapters.model import SessionSummary
from tiny_home import START, TinyHome

Cli = Callable[..., Any]
KEY = "ghp_" + "a1B2" * 9


def test_e_1_an_unknown_format_is_wrong_usage(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one")
    ran = cli("sessions", "export", "tiny", "one", "--format", "yaml")
    assert (ran.code, ran.out) == (2, "")
    assert "yaml" in ran.err


def test_e_2_exit_codes_are_those_of_show(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one")
    (tiny_home.store / "bad.jsonl").write_text("nonsense\n")
    for arguments, code in ((("nobody", "one"), 3), (("tiny", "two"), 8), (("tiny", "bad"), 1), (("tiny",), 2)):
        assert cli("sessions", "export", *arguments).code == code
    ran = cli("sessions", "export", "tiny", "two", "--format", "json")
    assert json.loads(ran.out)["error"]["code"] == "SESSION_NOT_FOUND"


@pytest.mark.parametrize("command", [("export",), ("show",), ("diff", "tiny:one-a")])
def test_e_2_and_d_1_the_beginning_of_an_id_does_where_it_is_the_only_one(
    tiny_home: TinyHome, cli: Cli, command: tuple[str, ...]
) -> None:
    for name in ("one-a", "one-b", "two"):
        tiny_home.add(name)
    assert cli("sessions", *command, "tiny:tw").code == 0
    ran = cli("sessions", *command, "tiny:one")
    assert (ran.code, ran.out) == (8, "")
    assert "several sessions that 'one' may mean: one-" in ran.err
    tiny_home.add("one")
    assert cli("sessions", *command, "tiny:one").code == 0, "the one whose id it is"


def test_a_patch_has_the_text_of_files_as_it_is_but_on_a_terminal(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ClaudeHome(tmp_path / "home")
    path = home.session("Write it")
    *before, last = path.read_text().splitlines()
    record = json.loads(last)
    given = {"file_path": "a.txt", "content": "one\x1b[31m\x07two\n"}
    record["message"]["content"].append({"type": "tool_use", "id": "toolu_1", "name": "Write", "input": given})
    done = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "written"}]
    result = {**json.loads(before[0]), "uuid": "result", "message": {"role": "user", "content": done}}
    path.write_text("\n".join((*before, json.dumps(record), json.dumps(result))) + "\n")
    arguments = ("--home", str(home.home), "sessions", "export", f"claude:{path.stem}", "--format", "patch")
    ran = cli(*arguments)
    assert ran.code == 0 and "+one\x1b[31m\x07two\n" in ran.out
    target = tmp_path / "all.patch"
    assert cli(*arguments[:-2], "-o", str(target)).code == 0
    assert "+one\x1b[31m\x07two\n" in target.read_text()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    ran = cli(*arguments)
    assert "+one␇two\n" in ran.out and "\x1b" not in ran.out


def test_export_writes_what_show_does(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one", turns=3)
    for form in ("markdown", "json", "jsonl"):
        assert cli("sessions", "export", "tiny:one", "--format", form).out == (
            cli("sessions", "show", "tiny", "one", "--format", form).out
        )


def test_export_into_a_file_whose_name_says_the_format(tiny_home: TinyHome, cli: Cli, tmp_path: Path) -> None:
    tiny_home.add("one")
    for suffix, begins in (
        (".html", "<!doctype"),
        (".json", "{"),
        (".jsonl", '{"agent"'),
        (".md", "# "),
        (".txt", "# "),
    ):
        target = tmp_path / f"out{suffix}"
        ran = cli("sessions", "export", "tiny", "on", "-o", str(target))
        assert (ran.code, ran.out) == (0, "")
        assert str(target) in ran.err
        assert target.read_text().startswith(begins)
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    again = cli("sessions", "export", "tiny", "one", "-o", str(target))
    assert (again.code, again.out) == (2, "")
    assert "--force" in again.err
    assert cli("sessions", "export", "tiny", "one", "--force", "-o", str(target), "--format", "json").code == 0
    assert json.loads(target.read_text())["sessionId"] == "one"


@pytest.mark.parametrize("form", ["markdown", "html", "json", "jsonl"])
def test_secrets_are_masked_and_counted(tiny_home: TinyHome, cli: Cli, form: str) -> None:
    tiny_home.add("one", title=f"The key {KEY}", cwd=f"/x/{KEY}")
    assert KEY in cli("sessions", "export", "tiny", "one", "--format", form).out
    ran = cli("sessions", "export", "tiny", "one", "--format", form, "--redact")
    assert ran.code == 0
    assert KEY not in ran.out
    assert "1 secret masked in 2 places: 2 GitHub token" in ran.err


def test_what_is_shown_is_masked_by_the_same_rules(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one", title=f"The key {KEY}", cwd=f"/x/{KEY}")
    for form in ("markdown", "json", "jsonl"):
        shown = cli("sessions", "show", "tiny", "one", "--format", form, "--redact")
        written = cli("sessions", "export", "tiny", "one", "--format", form, "--redact")
        assert (shown.code, shown.out, shown.err) == (0, written.out, written.err)
        assert KEY not in shown.out
    refused = cli("sessions", "show", "tiny", "one", "--around", "x", "--redact")
    assert (refused.code, refused.out) == (2, "")


def test_a_lineage_of_one_and_its_forms(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one")
    tiny_home.add("two", parent="one")  # a fork: a conversation of its own
    found = json.loads(cli("sessions", "export", "tiny", "one", "--lineage", "--format", "json").out)
    assert [one["sessionId"] for one in found] == ["one"]
    assert found[0]["messages"]


@pytest.mark.parametrize("form", ["json", "jsonl", "markdown", "html"])
def test_a_part_of_a_lineage_that_cannot_be_read_is_left_out_and_named(
    tiny_home: TinyHome, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """The document is one of the others, and no error stands in the middle of it."""
    tiny_home.add("one")
    tiny_home.add("two")
    tiny_home.add("three", title="The last")
    summaries = {one.session_id: one for one in tiny_home.manager(tmp_path / "cache").list("tiny")}

    def lineage(self: SessionManager, agent: str, session_id: str) -> tuple[SessionSummary, ...]:
        (tiny_home.store / "two.jsonl").write_text("nonsense\n")
        return summaries["two"], summaries["one"], summaries["three"]

    monkeypatch.setattr(SessionManager, "lineage", lineage)
    ran = cli("sessions", "export", "tiny", "one", "--lineage", "--format", form)
    assert ran.code == 1
    assert "question 0" in ran.out and "The last" in ran.out
    assert "nonsense" not in ran.out and "PARSE_ERROR" not in ran.out
    assert ran.err.startswith("hermes-tui: left out: cannot read tiny session 'two'")
    if form == "json":
        assert [one["sessionId"] for one in json.loads(ran.out)] == ["one", "three"]
    target = tmp_path / "out"
    again = cli("sessions", "export", "tiny", "one", "--lineage", "--format", form, "-o", str(target))
    assert (again.code, again.out, target.read_text()) == (1, "", ran.out)
    assert "wrote" in again.err and "left out: cannot read tiny session 'two'" in again.err
    # Where nothing can be read there is no document.
    monkeypatch.setattr(SessionManager, "lineage", lambda *_: (summaries["two"],))
    target.unlink()
    ran = cli("sessions", "export", "tiny", "one", "--lineage", "--format", form, "-o", str(target))
    assert (ran.code, target.exists()) == (1, False)
    assert "cannot read tiny session 'two'" in (ran.out if form.startswith("json") else ran.err)


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_by_any_name(tiny_home: TinyHome, cli: Cli, name: str) -> None:
    tiny_home.add("one")
    plain = cli("sessions", "export", "tiny", "one")
    ran = cli("sessions", "export", "tiny", "one", "-o", name)
    assert (ran.code, ran.out, ran.err) == (0, plain.out, "")


def test_a_pipe_is_written_into_as_it_is(tiny_home: TinyHome, cli: Cli, tmp_path: Path) -> None:
    tiny_home.add("one")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    ran = cli("sessions", "export", "tiny", "one", "-o", str(pipe))
    reader.join(60)
    assert ran.code == 0 and "wrote" in ran.err
    assert read == [cli("sessions", "export", "tiny", "one").out]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    ran = cli("sessions", "export", "tiny", "one", "-o", "/dev/full")
    assert ran.code == 2 and "No space left" in ran.err


def test_d_1_diff_exit_codes(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one")
    for a, b, code in (("nobody:x", "tiny:one", 3), ("tiny:one", "tiny:two", 8), ("tiny:one", "tiny", 2)):
        assert cli("sessions", "diff", a, b).code == code
    ran = cli("sessions", "diff", "tiny:one", "tiny:two", "--json")
    assert json.loads(ran.out)["error"]["code"] == "SESSION_NOT_FOUND"


def test_diff_as_text_and_as_json(tiny_home: TinyHome, cli: Cli) -> None:
    tiny_home.add("one", turns=2)
    tiny_home.add("two", turns=3, at=START, filler=0)
    ran = cli("sessions", "diff", "tiny:one", "tiny:two")
    assert (ran.code, ran.err) == (0, "")
    assert "= 4 messages equal" in ran.out
    assert "+ 5  user" in ran.out
    assert "0 changed, 0 removed, 2 added, 4 unchanged" in ran.out
    found = json.loads(cli("sessions", "diff", "tiny:one", "tiny:two", "--json").out)
    assert found["stats"] == {"removals": 0, "additions": 2, "modifications": 0, "unchanged": 4}
    assert [one["type"] for one in found["operations"]] == ["unchanged"] * 4 + ["addition"] * 2
    assert found["operations"][0]["messageA"]["content"] == "question 0"


def test_a_comparison_says_what_could_not_be_read(tiny_home: TinyHome, cli: Cli) -> None:
    """What a damaged line said may be what is missing on that side."""
    tiny_home.add("one", turns=2)
    path = tiny_home.add("two", turns=2)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], lines[3][:-9], *lines[4:]]) + "\n")
    ran = cli("sessions", "diff", "tiny:one", "tiny:two")
    assert ran.code == 0
    one, other = ran.out.splitlines()[:2]
    assert other.endswith("1 record not readable") and "readable" not in one
    assert "0 changed, 1 removed, 0 added, 3 unchanged" in ran.out
    found = json.loads(cli("sessions", "diff", "tiny:one", "tiny:two", "--json").out)
    assert (found["b"]["warnings"], found["a"].get("warnings")) == (1, None)


def test_what_is_said_beside_the_data_can_do_nothing_to_a_terminal(
    tiny_home: TinyHome, cli: Cli, tmp_path: Path
) -> None:
    """The name of a file is the user's, or that of whoever made it up for them."""
    tiny_home.add("one")
    ran = cli("sessions", "export", "tiny", "one", "-o", str(tmp_path / "a\x1b]0;x\x07\u202eb.md"))
    assert ran.code == 0
    assert "hermes-tui: wrote" in ran.err and "b.md" in ran.err
    assert not {char for char in ran.err if char in "\x1b\x07\u202e"}
