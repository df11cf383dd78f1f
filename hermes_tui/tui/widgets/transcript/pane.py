"""The transcript pane: newest messages first, earlier ones by scrolling up.

Only what is in view is ever laid out. The pane shows an `OpenTranscript`; `TranscriptFinder` goes to what is looked
for in it, `SeenContext` knows what of it is dimmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.message import Message as Event
from textual.strip import Strip

from hermes_tui.clock import Clock
from hermes_tui.display import safe
from hermes_tui.sessions.landmarks import LandmarkKind
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.session_list.rows import ListedPart
from hermes_tui.tui.widgets.transcript.block_keys import BlockKeys
from hermes_tui.tui.widgets.transcript.border import border
from hermes_tui.tui.widgets.transcript.context_view import SeenContext
from hermes_tui.tui.widgets.transcript.find.find_bar import FindBar
from hermes_tui.tui.widgets.transcript.find.finder import TranscriptFinder
from hermes_tui.tui.widgets.transcript.find.match_highlight import highlighted_rows
from hermes_tui.tui.widgets.transcript.find.typed_find import TypedFind
from hermes_tui.tui.widgets.transcript.open_transcript import EarlierUnreadable, OpenTranscript
from hermes_tui.tui.widgets.transcript.view import VisibleRow
from hermes_tui.tui.widgets.transcript.whole_session import WholeSession
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.model import Message, SessionSummary
from session_adapters.transcript import Change, Transcript

if TYPE_CHECKING:
    from hermes_tui.sessions.outline import OutlineEntry

__all__ = ["TranscriptPane"]


class TranscriptPane(BlockKeys, can_focus=True, inherit_bindings=False):
    """One session's messages. `show` it a transcript, `poll` it when the store may have changed.

    At the end it follows what comes; any key that leaves the end stops that. The line under the cursor is what the
    keys act on; the block it belongs to is marked at the left edge.
    """

    BINDINGS = bindings("jump", "transcript")

    class NoMore(Event):
        """There is no further match in this conversation, in the direction of `step`."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def __init__(self, clock: Clock | None = None, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(clock or Clock(), id=id)
        self.opened = OpenTranscript(like=self.view)
        self.show_view(self.opened.view, "", "")
        self.finder = TranscriptFinder(self)
        self.typed = TypedFind(self, self.finder)
        self.find_bar = FindBar(self, self.typed)
        """Where that is typed; stands where its screen puts it."""
        self.context = SeenContext(self)
        self._said = ("", "")
        """What stands in the border."""

    def no_more(self, step: int) -> None:
        """Say that there is no further match in the direction of `step`."""
        if not self.typed.goes_round(step):
            self.post_message(self.NoMore(step))

    # What is shown

    @property
    def summary(self) -> SessionSummary | None:
        """The session that is shown."""
        return self.opened.summary

    @property
    def following(self) -> bool:
        """Whether the end is in view and stays there."""
        return self.view.following

    @property
    def messages(self) -> Sequence[Message]:
        """The loaded messages."""
        return self.opened.messages

    @property
    def is_heavy(self) -> bool:
        """Whether so much was read since the session was opened that it should be opened again from its end: that is
        all that is on the screen."""
        opened = self.opened
        at_end = self.following and not self.finder.needs_earlier and not opened.loading
        return at_end and opened.is_heavy and all(one.active == one.shown for one in opened.branches)

    def show(self, summary: SessionSummary, transcript: Transcript) -> None:
        """Show a session from its end. The transcript belongs to the pane from now on: nobody else calls it.

        One that is shown already stays as it is. Of a session that was opened again, what is open stays open.
        """
        if transcript is self.opened.transcript:
            self.show_part(ListedPart(summary))
            return
        before = self.opened
        opened = OpenTranscript(ListedPart(summary), transcript, "This session has no messages.", like=self.view)
        self._change_to(opened)
        self.lay_out()
        opened.load(before.levels if before.is_of(summary) else {})
        opened.view.mark_new(before.view.since if before.is_of(summary) else None)
        self.settle()
        run_beside(self, partial(self._look_for_branches, opened), "transcript.branches")

    def bring_back(self, kept: OpenTranscript) -> None:
        """Show what was `opened` before, at the same place."""
        if kept.transcript is not self.opened.transcript:
            kept.stuck = False
            self._change_to(kept)
            self.settle()

    def clear(self, note: str = "") -> None:
        """Show no session, only one line of text."""
        self._change_to(OpenTranscript(note=note, like=self.view))
        self.settle()

    def _change_to(self, opened: OpenTranscript) -> None:
        """What was shown before is left as it is: it may be kept elsewhere."""
        if opened.summary is None or not self.opened.is_of(opened.summary):
            self.context.forget()
            self.typed.end()
        self.finder.stop()
        self.opened = opened
        self.show_view(opened.view, opened.summary.agent if opened.summary else "", opened.note)

    def show_part(self, part: ListedPart) -> None:
        """Show the session's changed facts in the border, and which part of its conversation it is; also that the
        store no longer has it: its messages stay."""
        self.opened.part = part
        self.opened.gone = self.opened.gone or part.summary.gone
        self._label()

    # Reading

    async def poll(self) -> Change:
        """Read what came since, in a thread, and show it. Changes nothing on the screen where nothing changed. Who
        reads far above the end is left alone, once much has come: it is read when the end comes near."""
        opened = self.opened
        if opened.transcript is None:
            return Change()
        opened.behind = (opened.is_heavy or opened.is_cut) and not opened.is_near_end
        change = Change() if opened.behind else await opened.refresh()
        if opened is not self.opened:
            return Change()
        if change.first is not None:
            self.settle()
        else:
            self._label()
        self.typed.look_at_more()
        return change

    async def _look_for_branches(self, opened: OpenTranscript) -> None:
        if opened.may_part and await opened.find_branches():
            self.settle()

    async def _go_to_branch(self, opened: OpenTranscript, step: int) -> None:
        try:
            if not await opened.switch(step) and opened is self.opened:
                self.refuse("This conversation has only one branch")
        except LookupError:
            self.refuse("That branch is not there any more")
        self.settle()

    async def _load_earlier(self, opened: OpenTranscript) -> None:
        try:
            added = await opened.read_earlier()
        except EarlierUnreadable as error:
            if opened is self.opened:
                self.finder.stop()
                self.refuse(f"What is earlier cannot be read: {safe(str(error))}")
                self._label()
            return
        if opened is self.opened:
            self.finder.arrived(added)
            self.settle()

    # Drawing

    def settled(self) -> None:
        """Say in the border where the view is, and read what it will need."""
        if self.finder.found_among_loaded():
            self.settle()
            return
        self._label()
        view, opened = self.view, self.opened
        may_read = not (opened.loading or opened.stuck or view.complete) and opened.transcript is not None
        # The part before is loaded when the view comes near it.
        if may_read and self.strips:
            if self.finder.needs_earlier:
                self.finder.arrived(0)  # in parts, where that can be
            near = not self.finder.is_seeking and view.column.tops[view.top.entry] + view.top.line < 2 * view.height
            if self.finder.needs_earlier or near:
                opened.loading = True
                run_beside(self, partial(self._load_earlier, opened), "transcript.earlier")
        if self.opened.behind and self.opened.is_near_end:
            # Noted before it runs: until then this may be called again.
            self.opened.behind = False
            run_beside(self, self.poll, "transcript.behind")
        self.context.update()

    def is_dimmed(self, entry: int) -> bool:
        """The agent no longer sees that message."""
        return self.context.is_unseen(self.view.column.entries[entry].message)

    def drawn(self, rows: Sequence[VisibleRow], width: int) -> list[Strip]:
        """With the matches of the search highlighted."""
        strips, within = super().drawn(rows, width), self.finder.within
        if within is None or not within.has_places:
            return strips
        return highlighted_rows(rows, strips, within, self.own_look("match"))

    def _label(self) -> None:
        seen = self.context.seen.sentence if self.context.seen is not None else ""
        found = self.typed.found.words(self.message) if self.typed.found is not None else ""
        said = border(self, self.opened, found=found, seen=seen, sought=self.finder.progress)
        before, self._said = self._said, said  # Textual draws the widget again even for the same words
        if said[0] != before[0]:
            self.border_title = Content(said[0])
        if said[1] != before[1]:
            self.border_subtitle = Content(said[1])

    # Events

    def scrolled(self) -> None:
        """Who takes the scrollbar or the wheel no longer waits for the beginning."""
        self.finder.stop()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the line; a second click opens or closes what is there."""
        offset = event.get_content_offset(self)
        rows = self.view.rows()
        if offset is None or not 0 <= offset.y < len(rows):
            return
        again = rows[offset.y].position == self.view.cursor
        self.view.go(rows[offset.y].position)
        self.settle()
        if again:
            self.action_fold()

    # Actions

    def _moved(self) -> None:
        self.finder.stop()
        self.settle()

    def action_move(self, lines: int) -> None:
        """Move the cursor."""
        self.view.move(lines * (self.key_count.take() or 1))
        self._moved()

    def action_page(self, pages: int) -> None:
        """Move the view by a page, one line kept."""
        self.view.scroll(pages * max(self.view.height - 1, 1) * (self.key_count.take() or 1))
        self._moved()

    def action_half_page(self, pages: int) -> None:
        """Move the view by half a page."""
        self.view.scroll(pages * max(self.view.height // 2, 1) * (self.key_count.take() or 1))
        self._moved()

    def action_first(self) -> None:
        """Go to the very first message, reading all that is before."""
        self.finder.go_to_first()

    def action_follow(self) -> None:
        """Go to the end and follow."""
        self.show_end()
        self.view.follow()
        self._moved()

    def show_part_at(self, part: Transcript) -> None:
        """Show a part of the session that is far above its end."""
        self._change_to(self.opened.at(part))
        self.lay_out()
        run_beside(self, partial(self._look_for_branches, self.opened), "transcript.branches")

    def show_end(self) -> None:
        """Show the session from its end again, where a part of it is shown."""
        if self.opened.end is not None:
            self._change_to(self.opened.end)
            self.lay_out()
            run_beside(self, self.poll, "transcript.behind")

    def jump_to(self, kind: LandmarkKind, step: int, times: int) -> None:
        """Go to the next or the previous one, so many times, reading what is before where it has to be."""
        self.finder.go_to_landmark(kind, step, times)

    def action_branch(self, step: int) -> None:
        """Go where the conversation went another way."""
        if self.opened.transcript is not None:
            self.finder.stop()
            run_beside(self, partial(self._go_to_branch, self.opened, step), "transcript.switch")

    def action_find(self) -> None:
        """Have something typed that is found in this session."""
        self.find_bar.open()

    def action_outline(self) -> None:
        """Choose a place from what was asked, changed and failed in it."""
        from hermes_tui.tui.screens.dialogs.outline import OutlineScreen

        def chosen(place: OutlineEntry | None) -> None:
            if place is not None:
                self.finder.go_to(place.message_id, "" if place.call is None else f"tool{place.call}")

        session = WholeSession(self, self.finder.arrived)
        self.app.push_screen(OutlineScreen(session, self.message, self.clock), chosen)

    def action_match(self, step: int) -> None:
        """Go to the next or the previous match."""
        self.typed.go_on(step)

    def action_toggle_raw(self) -> None:
        """Show prose as it was written, or as Markdown."""
        self.raw = not self.raw
        self.settle()
