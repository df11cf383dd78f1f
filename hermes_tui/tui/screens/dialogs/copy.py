"""The copy menu (`y`): parts of a session or message, secrets masked if asked."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import MarkdownIt
from textual.app import ComposeResult

from hermes_tui.display import compact, count_lines
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.redact.redactor import Redactor
from hermes_tui.sessions.calls.outcome import output_text
from hermes_tui.sessions.export.plain import plain
from hermes_tui.sessions.native.shell_line import names_nothing
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.cli_equivalent import own_command
from hermes_tui.tui.screens.dialogs.menu import MenuChoice, MenuScreen
from hermes_tui.tui.widgets.hints import Hints
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.model import Message, SessionSummary

if TYPE_CHECKING:
    from hermes_tui.sessions.native.plan import Verb

__all__ = ["CopiedCommand", "CopyMenu", "Copyable", "copyables", "native_commands"]

_MOST_BLOCKS = 9  # each has a digit for its key
_COMMANDS = ("command", "cmd", "script")


class Copyable(NamedTuple):
    """Something to copy."""

    choice: MenuChoice
    text: str
    """Without control characters: it may be pasted into a shell."""


def copyables(session: SessionSummary, message: Message | None, home: Path | None = None) -> list[Copyable]:
    """The message and what stands in it first, then what names the session. `home`: as in `own_command`."""
    found: list[Copyable] = []
    if message is not None:
        text = message.content
        if not text and message.tool_result is not None:
            text = output_text(message.tool_result.output)
        if text:
            found.append(_copyable("m", "message", text))
        if message.thinking:
            found.append(_copyable("t", "thinking", message.thinking))
        pieces = [
            (f"code {compact(token.info, 12)}".rstrip(), token.content.removesuffix("\n"))
            for token in MarkdownIt("commonmark").parse(message.content)
            if token.type in ("fence", "code_block") and token.content.strip()
        ]
        pieces += _calls(message)
        found += [_copyable(str(at), label, text) for at, (label, text) in enumerate(pieces[:_MOST_BLOCKS], 1)]
    found.append(_copyable("i", "session id", session.unified_id))
    found.append(_copyable("n", "native id", session.session_id))
    if session.cwd:
        one = _copyable("d", "directory", session.cwd)
        if names_nothing(session.cwd):
            detail = f"not its real name, which is no text: {one.choice.detail}"
            one = one._replace(choice=one.choice._replace(detail=detail))
        found.append(one)
    found.append(_copyable("s", "command", own_command(("sessions", "show", session.unified_id), home)))
    return found


class CopiedCommand(NamedTuple):
    """A command of the agent's own, which is worked out only when it is chosen."""

    choice: MenuChoice
    verb: Verb


def native_commands(agent: str) -> dict[str, CopiedCommand]:
    """Key → the agent's own commands for a session; `agent` as it is shown."""
    return {
        "r": CopiedCommand(MenuChoice("r", "resume command", f"resumes it in {agent}"), "resume"),
        "f": CopiedCommand(MenuChoice("f", "fork command", f"forks it into a new session of {agent}"), "fork"),
    }


def _copyable(key: str, label: str, text: str) -> Copyable:
    text = plain(text)
    lines = count_lines(text)
    detail = compact(text, 60) if lines < 2 else f"{compact(text, 40)} … {lines:,} lines"
    return Copyable(MenuChoice(key, label, detail), text)


def _calls(message: Message) -> Iterator[tuple[str, str]]:
    """Commands that the message had run, and what they gave."""
    for call in message.tool_calls:
        given = call.input if isinstance(call.input, dict) else {}
        for key in _COMMANDS:
            value = given.get(key)
            if isinstance(value, list) and all(isinstance(part, str) for part in value):
                value = shlex.join(value)
            if isinstance(value, str) and value.strip():
                yield "ran", value
                break
        output = output_text(call.output)
        if output.strip():
            yield "output", output


class CopyMenu(MenuScreen):
    """Gives the key of what was chosen; `masks` says whether its secrets are to be masked."""

    BINDINGS = bindings("copying")
    contexts = ("copying", "menu")

    def __init__(self, offered: Sequence[Copyable], commands: Sequence[CopiedCommand]) -> None:
        self._offered = offered
        self.masks = False
        choices = [*(one.choice for one in offered), *(one.choice for one in commands)]
        super().__init__("Copy", choices, note="secrets: kept")

    def body(self) -> ComposeResult:
        """With the key that masks below."""
        yield from super().body()
        yield Hints()

    def on_mount(self) -> None:
        """Say what the keys are."""
        self.query_one(Hints).show_keys()

    async def action_mask(self) -> None:
        """Mask the secrets of everything offered, or show them again."""
        self.masks = not self.masks
        self._show("secrets: masking…" if self.masks else "secrets: kept", self._offered)
        if not self.masks:
            return

        async def mask() -> None:
            redactor = Redactor()
            texts = await in_thread(lambda: [redactor.text(one.text) for one in self._offered])
            if self.masks:  # else they were asked for again meanwhile
                masked = [
                    _copyable(one.choice.key, one.choice.label, text)
                    for one, text in zip(self._offered, texts, strict=True)
                ]
                self._show(f"secrets: {redactor.secrets or 'none'} masked", masked)

        run_beside(self, mask, "mask", exclusive=True)

    def _show(self, note: str, offered: Sequence[Copyable]) -> None:
        self.note = note
        self.head()
        for at, one in enumerate(offered):
            self.change_line(at, one.choice)
