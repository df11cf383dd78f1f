"""Lays out a message: header, thinking, prose, attachments, tool calls.

Rules and one-line notices stand between them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from hermes_tui.cells import fit, width_of
from hermes_tui.clock import Clock
from hermes_tui.display import attachment_facts, count, priced, safe
from hermes_tui.sessions.calls.arguments import PROSE, arguments, label, target
from hermes_tui.sessions.calls.edits import edits
from hermes_tui.sessions.calls.outcome import facts, output_text
from hermes_tui.tui.widgets.transcript.layout.block_writer import BODY, SHUT, BlockWriter
from hermes_tui.tui.widgets.transcript.layout.context import MessageContext
from hermes_tui.tui.widgets.transcript.layout.cut_text import compact
from hermes_tui.tui.widgets.transcript.layout.heights import is_hidden
from hermes_tui.tui.widgets.transcript.layout.segments import NOTE, Piece, Rendered, TranscriptStyles
from session_adapters.model import Message, ToolCall

if TYPE_CHECKING:
    from hermes_tui.tui.widgets.transcript.layout.markdown import MarkdownRows
    from hermes_tui.tui.widgets.transcript.layout.style import LazyMarkdown

__all__ = ["MessageLayout", "attachment_block", "attachment_number"]

_ATTACHMENT = "attachment"
_MEASURE = 120
"""Cells; longer lines of prose are hard to read."""
_NARROWEST = 12
_DATED = re.compile(r"-20\d{6}$")


def attachment_block(number: int) -> str:
    """The block of an attachment of a message."""
    return f"{_ATTACHMENT}{number}"


def attachment_number(block: str) -> int | None:
    """Which attachment a block is; None for any other."""
    return int(block.removeprefix(_ATTACHMENT)) if block.startswith(_ATTACHMENT) else None


class MessageLayout:
    """Lays messages out for one width, palette and agent. `level` is asked how much of a block is to be shown."""

    def __init__(
        self,
        palette: TranscriptStyles,
        markdown: MarkdownRows | LazyMarkdown,
        clock: Clock,
        agent: str,
        width: int,
        raw: bool,
    ) -> None:
        self.palette = palette
        self.markdown = markdown
        self.clock = clock
        self.agent = safe(agent)
        self.width = max(width, _NARROWEST)
        self.raw = raw

    def render(self, message: Message, context: MessageContext, level: Callable[[str], int]) -> Rendered:
        """The rows of a message; none at all where it is hidden."""
        if is_hidden(message):
            return Rendered([], muted=False, folds=set(), cuts=set())
        work = _Work(self, message, context, level)
        work.run()
        muted = message.visibility != "live" or message.inherited
        return Rendered(work.out.pieces, muted=muted, folds=work.out.folds, cuts=work.out.cuts)


class _Work:
    """One message being laid out."""

    def __init__(
        self, layout: MessageLayout, message: Message, context: MessageContext, level: Callable[[str], int]
    ) -> None:
        self.layout = layout
        self.palette = layout.palette
        self.width = layout.width
        self.message = message
        self.context = context
        self.out = BlockWriter(self.palette, self.width, level)

    def run(self) -> None:
        self._surroundings()
        message = self.message
        if message.kind == "compaction":
            above = self.context.above
            which = f"the {above:,} messages" if above and above > 1 else "the messages"
            if message.kept_from:
                which = f"most of {which}"
            self._gap()
            text = f"compacted here: {self.layout.agent} no longer sees {which} above"
            self.out.line("compaction", "compaction-rule", self.out.rule(text, self.palette.rule))
            if message.content.strip():
                self._notice("compaction")
        elif message.kind in ("notice", "command", "summary") or (
            message.role == "system" and message.kind == "message"
        ):
            self._notice("system" if message.kind == "message" else message.kind)
        elif message.role == "tool":
            result = message.tool_result
            # A result without its call; of one that its call shows already only what is attached.
            if result is None or not result.linked:
                text = output_text(result.output) if result is not None else message.content
                text = text or message.content
                name = compact(result.tool_name, 40) if result is not None and result.tool_name else "result"
                failed = result is not None and result.is_error
                call = ToolCall(tool_call_id="", tool_name=name, output=text, is_error=failed)
                style = self.palette.error if failed else self.palette.tool
                notes = ["no call", *facts(call)]
                self.out.folded("result", name, style, compact(text), self.palette.target, notes, failed)
                self.out.body("result", text, self.palette.output)
            self._attachments()
        else:
            self._said()

    # What stands around a message

    def _surroundings(self) -> None:
        if self.context.unread:
            self.out.line("", NOTE, self.out.rule("earlier messages follow when you scroll up", self.palette.meta))
        if self.context.divides:
            self._gap("divider-gap")
            self.out.line("", "divider", self.out.rule("above: copied from the parent session", self.palette.notice))
        if (since := self.context.since) is not None:
            clock = self.layout.clock
            at = clock.local(since)
            form = "%H:%M" if at.date() == clock.local(clock.now()).date() else "%Y-%m-%d %H:%M"
            self._gap("new-gap")
            self.out.line("", "new", self.out.rule(f"new since {at:{form}}", self.palette.rule))
        if self.context.branches:
            others = self.context.branches
            also = "another branch goes on" if others == 1 else f"{others} other branches go on"
            self._gap("parting-gap")
            self.out.line("", "parting", self.out.rule(f"{also} from here: b shows the next", self.palette.rule))

    def _gap(self, name: str = "gap") -> None:
        if self.out.pieces or not self.context.first:
            self.out.pieces.append(Piece("", name, [""]))

    # One-line messages

    def _notice(self, label: str) -> None:
        """A notice, command or summary: one dim line, opened like a tool call."""
        text = self.message.content
        line = compact(text)
        style = self.palette.notice
        room = self.width - len(label) - 4
        notes: list[str] = [] if self.message.visibility == "live" else [self.message.visibility]
        if (
            "\n" not in text.strip()
            and len(text) < 400
            and width_of(line) + sum(len(note) + 2 for note in notes) <= room
        ):
            self.out.line(label, label, self.out.one_line("·", label, style, line, style, notes))
        else:
            self.out.folded(label, label, style, line, style, [*notes, f"{count(len(text))} chars"])
            self.out.body(label, text, style, words=True)
        self._attachments()

    # Said by someone

    def _said(self) -> None:
        message = self.message
        prose = bool(message.content) or message.kind == "error"
        # An agent that goes on with nothing but calls and thinking needs no other header.
        if prose or not self.context.continues or not (message.tool_calls or message.thinking):
            self._gap()
            self._header()
        if message.thinking:
            label = f"{count(len(message.thinking))} chars"
            self.out.folded("think", f"thinking · {label}", self.palette.thinking, "", self.palette.thinking, [])
            self.out.body("think", message.thinking, self.palette.thinking, words=True)
        if message.content:
            style = self.palette.prompt if message.role == "user" else self.palette.prose
            rows = None
            if message.kind == "error":
                style = self.palette.error + Style(bold=False)
            else:
                rows = self._markdown(message.content, 2)
            if rows:
                under = [list(Segment.apply_style(row, style)) for row in rows]
                self.out.pieces.append(Piece("prose", "prose", under, indent=2))
            else:
                self.out.text("prose", "prose", message.content, style, indent=2, words=True)
        self._attachments()
        for index, call in enumerate(message.tool_calls):
            self._tool(f"tool{index}", call)

    def _header(self) -> None:
        message, palette = self.message, self.palette
        again = self.context.continues
        if message.kind == "error":
            name, style = "✗ error", palette.error
        elif message.role == "user":
            name, style = "you", palette.user
        else:
            name, style = self.layout.agent, palette.meta if again else palette.agent
        said: list[str] = []
        if message.timestamp is not None:
            local = self.layout.clock.local(message.timestamp)
            said.append(local.strftime("%a %-d %b %Y %H:%M" if self.context.day else "%H:%M"))
        if message.visibility != "live":
            said.append(message.visibility)
        if message.model and self.context.model:
            said.append(compact(_DATED.sub("", message.model), 60))
        usage = message.token_usage
        if usage is not None and usage.total:
            given = usage.total - usage.output_tokens
            cached = f" ({count(usage.cached_tokens)} cached)" if usage.cached_tokens else ""
            said.append(f"{count(given)} in{cached} {count(usage.output_tokens)} out")
        if message.cost is not None:
            said.append(priced(message.cost))
        row = [Segment(fit(name, self.width), style)]
        room = self.width - width_of(name) - 2
        if said and room > 3:
            row.append(Segment("  " + fit(" · ".join(said), room), palette.meta))
        self.out.line("prose", "header", row)

    def _markdown(self, text: str, indent: int) -> list[list[Segment]] | None:
        return None if self.layout.raw else self.layout.markdown.render(text, min(self.width - indent, _MEASURE))

    def _attachments(self) -> None:
        for index, one in enumerate(self.message.attachments):
            known = ", ".join(compact(part, 120) for part in attachment_facts(one))
            block = attachment_block(index)
            row = [Segment("  "), Segment(fit(f"[{known}]", self.width - 2), self.palette.notice)]
            self.out.line(block, block, row)

    # Tool calls

    def _tool(self, block: str, call: ToolCall) -> None:
        palette = self.palette
        self.out.folded(
            block,
            fit(label(call), 32).ljust(5),
            palette.error if call.is_error else palette.tool,
            target(call),
            palette.target,
            facts(call),
            call.is_error,
        )
        if self.out.level(block) == SHUT:
            return
        change = edits(call)
        given = list(arguments(call))
        if change is not None:
            self.out.diff(block, [(mark, line) for mark, line in change.lines])
        else:
            for index, (key, value) in enumerate(given):
                name, key = f"{block}.arg{index}", compact(key, 30)
                if "\n" not in value and width_of(value) + width_of(key) + BODY + 2 <= self.width:
                    self.out.line(block, name, self._fact(key, safe(value)))
                    continue
                if key:
                    self.out.line(block, f"{block}.key{index}", self._fact(key, ""))
                if key in PROSE and (rows := self._markdown(value, BODY + 2)):
                    self.out.pieces.append(Piece(block, name, rows, indent=BODY + 2))
                else:
                    self.out.text(block, name, value, palette.output, indent=BODY + (2 if key else 0))
        if call.subagent_id:
            self.out.line(block, f"{block}.sub", self._fact("session", safe(call.subagent_id)))
        output = output_text(call.output)
        if output:
            self.out.line(block, f"{block}.outhead", self._fact("output", ""))
            self.out.text(block, f"{block}.out", output, palette.output, indent=BODY)

    def _fact(self, key: str, value: str) -> list[Segment]:
        key = fit(key, self.width - BODY)
        shown = fit(value, self.width - BODY - width_of(key) - 2)
        return [
            Segment(" " * BODY),
            Segment(key, self.palette.meta),
            Segment("  " + shown if shown else "", self.palette.output),
        ]
