"""Toasts: what they say, for how long, and each once at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App
from textual.notifications import Notification, Notify

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

__all__ = ["Notice", "NoticeApp"]

_LEAST = 1.0
"""Seconds for which a toast is shown at least."""


class Notice(Notification):
    """A notification whose time can be over and whose toast still gets some.

    Textual asks for the time that is left when it makes the toast, a moment after it has looked whether there is any:
    a process that was stopped or had no processor in between, and it is negative. A timer of negative seconds never
    fires, and computes for ever.
    """

    @property
    def time_left(self) -> float:
        """Seconds until it goes."""
        return max(super().time_left, _LEAST)

    @property
    def has_expired(self) -> bool:
        """Whether its time is over."""
        return super().time_left <= 0


class NoticeApp(App[None], inherit_bindings=False):
    """An app whose toasts are notices."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a toast. `markup` is not heeded: what is said may quote a store. What was said already is not said
        twice at a time: a key that is held down and refused would cover the screen."""
        for one in [one for one in self._notifications if (one.message, one.severity) == (message, severity)]:
            self._unnotify(one, refresh=False)
        # Textual takes the toast away that was withdrawn, and leaves the widget around it for ever.
        for holder in self.screen.query("ToastHolder") if self.screen_stack else ():
            if holder.is_mounted and not holder.children:
                holder.remove()
        seconds = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
        self.post_message(Notify(Notice(message, title, severity, seconds, markup=False)))
