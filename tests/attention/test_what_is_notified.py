"""Notifications: which changes a person is told of, how often, in which bytes, and by which command."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.attention.delivery import Notifier, run_command, sequence, through_tmux
from hermes_tui.attention.notifications import EVERY, TOLD, Alert, Transitions, alert_of
from hermes_tui.attention.report import Attended, AttentionReport
from hermes_tui.attention.states import STATES, SessionState, StateName
from hermes_tui.config import AttentionSettings, NotifyForm
from session_adapters.model import SessionSummary
from support import PATIENCE

FORMS: tuple[NotifyForm, ...] = ("bell", "osc9", "osc99", "osc777")
START = datetime(2026, 11, 22, 12, tzinfo=UTC)


def one(state: StateName, key: str = "one", since: datetime | None = START, title: str = "Clear it") -> Attended:
    session = SessionSummary(agent="claude", session_id=key, title=title, cwd="/home/dev/shop", updated_at=START)
    judged = SessionState(state=state, since=since, tool="Bash", text="rm -rf build")
    return Attended(session=session, state=judged, unread=True)


def report(*found: Attended) -> AttentionReport:
    return AttentionReport({attended.session.unified_id: attended for attended in found})


class Watched:
    """Transitions, and a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = START.timestamp()
        self._transitions = Transitions(lambda: self.now)

    @property
    def due(self) -> float | None:
        return self._transitions.due

    def see(self, *found: Attended) -> list[str]:
        """The states that are told of."""
        return [attended.state.state for attended in self._transitions.of(report(*found))]


def test_only_changes_are_told() -> None:
    watched = Watched()
    assert watched.see(one("approval"), one("working", "two")) == [], "so it was at the first report"
    assert watched.see(one("approval"), one("working", "two")) == []
    assert watched.see(one("approval"), one("question", "two")) == ["question"]
    assert watched.see(one("working"), one("question", "two")) == []
    assert watched.see(one("done"), one("question", "two")) == ["done"]


@pytest.mark.parametrize("state", STATES)
def test_states_that_a_person_is_told_of(state: StateName) -> None:
    watched = Watched()
    watched.see(one("idle" if state != "idle" else "working"))
    told = {"approval", "question", "done", "failed", "limited", "stuck"}
    assert watched.see(one(state)) == ([state] if state in told else [])
    assert told == TOLD


def test_the_same_is_not_told_again_within_a_while_but_then_it_is() -> None:
    watched = Watched()
    watched.see(one("working"))
    assert watched.see(one("approval")) == ["approval"]
    watched.now += 5
    assert watched.see(one("working")) == []
    assert watched.see(one("approval")) == [], "the same was told five seconds ago"
    assert watched.see(one("done")) == ["done"], "this is another kind"
    watched.now += 1
    assert watched.see(one("working"), one("approval", "two", START + timedelta(1))) == ["approval"], (
        "another session"
    )
    assert watched.see(one("approval")) == []
    watched.now += EVERY
    assert watched.see(one("approval")) == ["approval"], "it still waits, and was not told of"
    assert watched.see(one("approval")) == []


def test_what_was_so_before_the_first_look_is_no_news_when_it_is_found_later() -> None:
    watched = Watched()
    watched.see()
    assert watched.see(one("approval", since=START - timedelta(hours=1))) == []
    assert watched.see(one("working"), one("done", "two", START + timedelta(seconds=1))) == ["done"]


def test_words_of_transcripts_stay_here_unless_they_are_asked_for() -> None:
    quiet, open_ = alert_of(one("approval"), text=False), alert_of(one("approval"), text=True)
    assert (quiet.heading, quiet.body) == ("approval · shop", "Clear it")
    assert "rm -rf" not in "".join(quiet.variables.values())
    assert open_.body == "Clear it · Bash rm -rf build"
    assert open_.variables["HERMES_TUI_TEXT"] == "rm -rf build"


def test_the_bytes_of_every_form() -> None:
    alert = alert_of(one("approval", title="Clear; it"), text=False)
    assert sequence("bell", alert) == sequence("bell", alert, tmux=True) == "\a"
    assert sequence("osc9", alert) == "\x1b]9;approval · shop · Clear; it\x1b\\"
    assert sequence("osc777", alert) == "\x1b]777;notify;approval · shop;Clear; it\x1b\\"
    first, second, rest = sequence("osc99", alert).split("\x1b\\")
    name = first.partition("i=")[2].partition(":")[0]
    assert (first, second, rest) == (
        f"\x1b]99;i={name}:d=0;approval · shop",
        f"\x1b]99;i={name}:d=1:p=body;Clear; it",
        "",
    )
    assert sequence("osc99", alert_of(one("done"), text=False)).count(f"i={name}:") == 2, "it takes that one's place"
    assert sequence("off", alert) == ""
    assert through_tmux("\x1b]9;a\x1b\\") == "\x1bPtmux;\x1b\x1b]9;a\x1b\x1b\\\x1b\\"


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(FORMS))
def test_hostile_words_end_no_sequence(title: str, text: str, form: NotifyForm) -> None:
    attended = one("approval", title=title)
    attended = Attended(
        session=attended.session,
        state=SessionState(state="approval", tool=text, text=title),
        unread=True,
    )
    alert = alert_of(attended, text=True)
    plain = sequence(form, Alert("x", "a", "approval", "t", "p", None))
    written = sequence(form, alert)
    controls = [char for char in written if ord(char) < 32 or 0x7F <= ord(char) < 0xA0]
    assert controls == [char for char in plain if ord(char) < 32]
    assert written.encode()
    assert all("\0" not in value for value in alert.variables.values())


def test_a_command_has_what_happened_in_its_environment(tmp_path: Path) -> None:
    out = tmp_path / "out"
    script = f"import os, json; json.dump(dict(os.environ), open({str(out)!r}, 'w'))"
    settings = AttentionSettings(notify="command", command=(sys.executable, "-c", script, "$(touch no)"))
    failures: list[str] = []
    notifier = Notifier(settings, failures.append, lambda: False, failures.append, {"PATH": "/bin"})
    notifier.look(report(one("working")))
    notifier.look(report(one("approval")))
    end = time.monotonic() + PATIENCE
    while not (out.exists() and out.read_text().endswith("}")):
        assert time.monotonic() < end
        time.sleep(0.02)
    seen = out.read_text()
    for words in ('"HERMES_TUI_STATE": "approval"', '"HERMES_TUI_SESSION": "claude:one"', '"PATH": "/bin"'):
        assert words in seen
    for name, value in (("TITLE", "Clear it"), ("PROJECT", "shop"), ("AGENT", "claude"), ("TEXT", "")):
        assert f'"HERMES_TUI_{name}": "{value}"' in seen
    assert failures == []
    assert not list(tmp_path.glob("no")) and not Path("no").exists()


def test_a_command_that_fails_says_so_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"PATH": "/usr/bin:/bin"}
    assert run_command(("true",), variables) == ""
    assert run_command(("false",), variables).endswith("(false) ended with exit code 1")
    missing = str(tmp_path / "missing")
    assert run_command((missing,), variables).endswith("cannot be run: No such file or directory")
    monkeypatch.setattr("hermes_tui.attention.delivery.SECONDS", 0.2)
    began = time.monotonic()
    assert "took more than 0.2 seconds and was ended" in run_command(("sh", "-c", "sleep 600 & wait"), variables)
    assert time.monotonic() - began < 20


def test_a_failure_is_said_once() -> None:
    said: list[str] = []
    settings = AttentionSettings(notify="command", command=("/nowhere/at/all",))
    notifier = Notifier(settings, said.append, lambda: False, said.append, {})
    notifier.look(report(one("working"), one("working", "two")))
    notifier.look(report(one("done"), one("done", "two")))
    end = time.monotonic() + PATIENCE
    while not said:
        assert time.monotonic() < end
        time.sleep(0.02)
    notifier.look(report(one("failed"), one("failed", "two")))
    time.sleep(0.3)
    assert len(said) == 1


@pytest.mark.parametrize(("focused", "told"), [(True, 0), (False, 1), (None, 0)])
def test_who_looks_at_the_program_is_not_told(focused: bool | None, told: int) -> None:
    written: list[str] = []
    notifier = Notifier(AttentionSettings(notify="bell"), written.append, lambda: focused, written.append, {})
    notifier.look(report(one("working")))
    notifier.look(report(one("approval")))
    assert written == ["\a"] * told
    written.clear()
    notifier.look(report(one("approval")))
    assert written == [], "what came while a person looked is not told later"


def test_nothing_is_told_unless_it_is_asked_for() -> None:
    written: list[str] = []
    notifier = Notifier(AttentionSettings(), written.append, lambda: False, written.append, {})
    notifier.look(report(one("working")))
    notifier.look(report(one("approval")))
    assert written == []


def test_a_clock_that_is_set_back_keeps_nothing_from_being_told() -> None:
    watched = Watched()
    watched.see(one("working"))
    assert watched.see(one("approval")) == ["approval"]
    watched.now -= 3600
    watched.see(one("working"))
    then = datetime.fromtimestamp(watched.now + 1, UTC)
    watched.now += 2
    assert watched.see(one("approval", since=then), one("question", "new", since=then)) == ["approval", "question"]


def test_who_waits_to_be_told_of_is_told_though_nothing_changes() -> None:
    """A second approval soon after the first was kept for a later report, and there was none while it waited."""
    watched = Watched()
    watched.see(one("working"))
    assert (watched.see(one("approval")), watched.due) == (["approval"], None)
    watched.see(one("working"))
    watched.now += 10
    assert (watched.see(one("approval")), watched.due) == ([], EVERY - 10)
    watched.now += EVERY - 10
    assert (watched.see(one("approval")), watched.due) == (["approval"], None)
