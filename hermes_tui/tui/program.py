"""What screens may ask of the program; they do not import the program itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from msgspec import structs
from textual.reactive import var

from hermes_tui.tui.notice import NoticeApp
from hermes_tui.tui.state.view_state import ViewFile, ViewState

if TYPE_CHECKING:
    from hermes_tui.attention.report import AttentionReport
    from hermes_tui.clock import Clock
    from hermes_tui.config import Config
    from hermes_tui.sessions.catalogue.snapshot import Snapshot
    from hermes_tui.sessions.manager import SessionManager
    from hermes_tui.tui.widgets.session_list.rows import Forest
    from session_adapters.model import SessionSummary

__all__ = ["Onlooker", "Program"]


class Onlooker(Protocol):
    """Wants to know whether somebody looks at a session."""

    def consider(self) -> None:
        """Work out anew whether somebody does."""


class Program(NoticeApp, inherit_bindings=False):
    """Base of the program; there is one, `HermesApp`."""

    manager: SessionManager
    config: Config
    clock: Clock
    named_home: Path | None
    """The home that the program was started on by name, in place of the user's own."""

    view: ViewState
    """How the user left the screen."""
    attention: var[AttentionReport | None] = var(None, always_update=True)
    """What needs a person; None before the first look."""
    touched: var[float] = var(float("-inf"))
    """When somebody pressed a key, moved the mouse or came back to the terminal, by `time.monotonic`; that somebody
    started the program does not count: who does may look at another."""
    is_handed_over = False
    """Another program has the terminal: the event loop stands still, and nobody looks at this one."""

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        """As Textual has it."""
        super().__init__(ansi_color=ansi_color)
        self.onlookers = WeakSet[Onlooker]()
        """Told when somebody came, or another session needs a person. Textual would keep whoever `watch`es the
        program until what is watched changes, which may be never."""

    def watch_touched(self) -> None:
        """Somebody is there."""
        self._tell_onlookers()

    def watch_app_focus(self) -> None:
        """Somebody came to the terminal, or left it."""
        if self.app_focus and self.screen_stack and self.screen.focused is None and self.screen.AUTO_FOCUS:
            # Put up while nobody was there, when Textual gives the keys to no widget, nor does it later.
            found = (widget for widget in self.screen.query(self.screen.AUTO_FOCUS) if widget.focusable)
            self.screen.set_focus(next(found, None), scroll_visible=False)
        self._tell_onlookers()

    def watch_attention(self) -> None:
        """Other sessions need a person, or have something new."""
        self._tell_onlookers()

    def _tell_onlookers(self) -> None:
        for one in list(self.onlookers):
            one.consider()

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """As Textual has it, and noted."""
        with super().suspend():
            self.is_handed_over = True
            try:
                yield
            finally:
                self.is_handed_over = False

    def remember(self, **fields: object) -> None:
        """Remember fields of `ViewState` for the next run."""
        self.view = structs.replace(self.view, **fields)
        ViewFile().change(**fields)

    @property
    def snapshot(self) -> Snapshot:
        """What the list shows."""
        raise NotImplementedError

    @property
    def forest(self) -> Forest:
        """The conversations of the list."""
        raise NotImplementedError

    def in_loop(self, function: Callable[[], None]) -> None:
        """Run `function` in the screen's thread, soon, unless the screen is taken down before; from any thread."""
        raise NotImplementedError

    async def is_shown(self) -> bool:
        """Whether a terminal shows the program: a window of tmux may be one that none does."""
        raise NotImplementedError

    def see(self, session: SessionSummary) -> None:
        """A person has looked at a session; where that cannot be kept, it is said."""
        raise NotImplementedError

    def jump(self, session: SessionSummary) -> None:
        """Bring the terminal to the tmux pane in which a session runs; where there is none, offer to resume it."""
        raise NotImplementedError

    def look_at_marks(self) -> None:
        """Show what the user has marked without waiting for the next turn."""
        raise NotImplementedError

    def look_at_lanes(self) -> None:
        """Look at the lanes without waiting for the next turn."""
        raise NotImplementedError

    def action_refresh(self) -> None:
        """Look at the stores without waiting for the next turn."""
        raise NotImplementedError
