"""`M` and `I`: manage sessions of Hermes, and read their system prompts.

Each is planned, shown and confirmed as changes of lanes are; a running gateway's sessions are refused in the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from hermes_tui.display import compact, safe
from hermes_tui.errors import HermesTuiError, OperationRefused
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.keymap import KEYS, key_label
from hermes_tui.tui.screens.dialogs.menu import MenuChoice, MenuScreen
from hermes_tui.tui.screens.lanes.confirmed import ConfirmedOperations
from hermes_tui.tui.screens.main.parts import MainParts
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.model import SessionSummary

if TYPE_CHECKING:
    from hermes_tui.lifecycle.operations.operations import Operations
    from hermes_tui.lifecycle.operations.plan import Plan
    from hermes_tui.lifecycle.operations.verify import Outcome

__all__ = ["HermesSessions"]

_LOGGED = 500
"""Operations of the log among which the latest on a session is looked for."""
_OF_ONE = (
    MenuChoice("r", "Rename …"),
    MenuChoice("e", "End", "it stays, and no message goes to it"),
    MenuChoice("o", "Open it again", "one that has ended"),
    MenuChoice("c", "Clear", "its messages go, the session stays"),
    MenuChoice("d", "Delete", "with the helpers that worked for it"),
    MenuChoice("x", "Export, then delete …"),
)
_OF_ALL = (
    MenuChoice("p", "Prune …", "those that have ended, by age, chat, person …"),
    MenuChoice("u", "Undo the latest of these changes"),
)
_KINDS = {"e": "end", "o": "reopen", "c": "clear-messages", "d": "delete"}
_KEY = next(key_label(key.keys) for key in KEYS if key.id == "main.manage")


class _Pruned(NamedTuple):
    """Which sessions are pruned."""

    key: str
    words: str
    wanted: Mapping[str, Any]


_AGES = (
    _Pruned("1", "without a message", {"empty": True}),
    *(
        _Pruned(str(at), f"begun more than {days} days ago", {"older_than": str(days)})
        for at, days in enumerate((7, 30, 90, 180, 365), 2)
    ),
    _Pruned("7", "all but the last 100", {"keep_last": 100}),
)
_ALIKE = (
    ("s", "source", "source", "from {}"),
    ("p", "user_id", "user", "of person {}"),
    ("c", "chat_id", "chat_id", "in chat {}"),
    ("e", "end_reason", "end_reason", "that ended by {}"),
)
"""Key, what the session under the cursor has, the filter of that, and its words."""


class HermesSessions:
    """Acts on the session that is read, else on the one under the cursor."""

    def __init__(
        self,
        parts: MainParts,
        export: Callable[[SessionSummary, str, Callable[[str], None]], None],
        *,
        read_only: bool,
    ) -> None:
        """`export` asks how to export a session, in that form at first, writes it, and then says what was written.
        `read_only`: the key says so, and does nothing."""
        self._parts = parts
        self._program = parts.program
        self._export = export
        self._confirmed = ConfirmedOperations(parts.program, read_only=read_only)

    def choose(self) -> None:
        """Ask what is to be done."""
        if self._confirmed.refused("sessions"):
            return
        subject = self._parts.subject
        one = subject if subject is not None and subject.agent == "hermes" else None
        if one is None and not any(each.agent == "hermes" for each in self._parts.snapshot.sessions):
            self._program.notify("There is no session of Hermes here; those of other agents are only read.")
            return
        profile = (one.profile if one is not None else None) or "default"
        name = f": {compact(one.title, 50) or one.session_id}" if one is not None else ""
        note = "" if one is not None else "(the cursor is on another agent's)"

        def chosen(key: str | None) -> None:
            if key == "p":
                self._prune(profile, one)
            elif key == "u":
                self._confirmed.propose("Undo", lambda operations, _: _undo(operations, profile), self._agreed)
            elif one is not None and key == "r":
                self._rename(one)
            elif one is not None and key == "x":
                self._export(one, "jsonl", partial(self._plan, "delete", profile, session=one.session_id))
            elif one is not None and key is not None:
                self._plan(_KINDS[key], profile, session=one.session_id)

        choices = (*(_OF_ONE if one is not None else ()), *_OF_ALL)
        self._program.push_screen(MenuScreen(f"Hermes{name}", choices, note=note), chosen)

    def show_system_prompt(self) -> None:
        """Read the system prompt that the session began with, and show it."""
        subject = self._parts.subject
        if subject is None:
            self._program.notify("There is no session here.")
            return

        async def show() -> None:
            from hermes_tui.sessions.context.system_prompt import system_prompt
            from hermes_tui.tui.screens.dialogs.page import PageScreen
            from hermes_tui.tui.widgets.page import Paragraph

            try:
                text = await in_thread(system_prompt, subject)
            except HermesTuiError as error:
                self._program.notify(safe(str(error)), severity="warning")
                return
            if not text:
                self._program.notify("No system prompt is kept for this session.")
                return
            lines = [Paragraph(line) for line in safe(text, keep_newlines=True).split("\n")]
            title = compact(subject.title, 60) or safe(subject.session_id)
            self._program.push_screen(PageScreen(f"System prompt, {len(text):,} characters: {title}", lines))

        run_beside(self._parts.screen, show, "prompt", exclusive=True)

    def _rename(self, one: SessionSummary) -> None:
        from hermes_tui.tui.screens.dialogs.rename import RenameScreen

        known = one.title if one.agent_title is None else one.agent_title

        def named(title: str | None) -> None:
            if title is not None:
                self._plan("rename", one.profile or "default", session=one.session_id, title=title)

        self._program.push_screen(RenameScreen(compact(known, 200)), named)

    def _prune(self, profile: str, one: SessionSummary | None) -> None:
        """Ask which: by age, or what they have in common with the session under the cursor."""
        found = [*_AGES]
        if one is not None:
            known = {**one.raw, "source": one.source, "end_reason": one.end_reason}
            found += [
                _Pruned(key, words.format(compact(str(value), 40)), {wanted: str(value)})
                for key, name, wanted, words in _ALIKE
                if (value := known.get(name))
            ]
        choices = [MenuChoice(each.key, each.words) for each in found]

        def chosen(key: str | None) -> None:
            from hermes_tui.lifecycle.state_db.pruning import PruneFilter

            for each in found:
                if each.key == key:
                    self._plan("prune-sessions", profile, matching=PruneFilter(**each.wanted))

        title = f"Delete sessions of profile {profile} that have ended"
        self._program.push_screen(MenuScreen(title, choices), chosen)

    def _plan(self, kind: Any, profile: str, *notes: str, **more: Any) -> None:
        """`notes`: what was done before, to be read in the plan."""

        def make(operations: Operations, force: bool) -> Plan:
            from hermes_tui.lifecycle.operations.plan import Request

            plan = operations.plan(Request(kind=kind, profile=profile, force=force, **more))
            return replace(plan, notes=(*notes, *plan.notes))

        # Of `prune-sessions` and its like the first word is the heading.
        self._confirmed.propose(str(kind).partition("-")[0].capitalize(), make, self._agreed)

    def _agreed(self, plan: Plan) -> None:
        def way_back(outcome: Outcome) -> str:
            return f"; {_KEY} u takes it back" if outcome.state == "done" and outcome.request.kind != "undo" else ""

        self._confirmed.carry_out(plan, self._program.notify, self._program.action_refresh, way_back)


def _undo(operations: Operations, profile: str) -> Plan:
    from hermes_tui.lifecycle.operations.plan import SESSION_KINDS

    for outcome in operations.log(_LOGGED, profile):
        if outcome.request.kind in SESSION_KINDS and outcome.state == "done":
            return operations.undo(outcome.operation)
    raise OperationRefused(f"Nothing was done to sessions of profile {profile!r} that could be taken back.")
