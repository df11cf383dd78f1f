"""The worker that reads previews of search results; the latest wishes only."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.background import Worker
from hermes_tui.sessions.manager import SessionManager

if TYPE_CHECKING:
    from hermes_tui.sessions.search.incremental.search import LiveSearch
    from hermes_tui.sessions.search.model import Result

__all__ = ["PreviewWish", "Previewer", "Seen", "look"]

_KEPT = 300
"""Previews that are kept."""
_LARGE = 20_000_000
"""Bytes of a file from which it is read only for the session that the cursor is on."""


class PreviewWish(NamedTuple):
    """A session to be looked at."""

    unified_id: str
    path: str
    first: bool = False
    """The cursor is on it: its whole preview is wanted, however large it is. Else a line around the match."""


class Seen(NamedTuple):
    """What came of a wish."""

    text: str
    """The query."""
    unified_id: str
    result: Result | None
    """None where there is nothing to be seen."""
    reason: str = ""
    """Then why, where that is known; one sentence."""
    whole: bool = True
    """The whole preview; else the snippet alone."""


class Previewer:
    """`ready` is called in the thread after each session that was looked at."""

    def __init__(self, look: Callable[[str, PreviewWish], Result | None], ready: Callable[[], None]) -> None:
        """`look` reads the preview of one session for a query."""
        self._look = look
        self._ready = ready
        self._worker = Worker[tuple[str, Sequence[PreviewWish]]]("previewer", self._serve)
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str], Seen] = OrderedDict()

    @property
    def is_busy(self) -> bool:
        """There is something to be looked at."""
        return self._worker.is_busy

    def want(self, text: str, wishes: Sequence[PreviewWish]) -> None:
        """Look at these for a query, the first one first; what was wanted before is forgotten."""
        with self._lock:
            # What was seen of it is enough, unless it is the snippet alone and the cursor is on it now.
            wishes = [
                one
                for one in wishes
                if (seen := self._seen.get((text, one.unified_id))) is None or (one.first and not seen.whole)
            ]
        self._worker.ask((text, wishes))
        self._worker.start()

    def get(self, text: str, unified_id: str) -> Seen | None:
        """What was seen of a session for a query; None where it was not looked at yet."""
        with self._lock:
            return self._seen.get((text, unified_id))

    def forget(self) -> None:
        """The sessions are others now."""
        with self._lock:
            self._seen.clear()
        self.want("", ())

    def stop(self) -> None:
        """End, without waiting for a read that is under way."""
        self._worker.stop()

    def _serve(self, request: tuple[str, Sequence[PreviewWish]] | None) -> None:
        text, wishes = request or ("", ())
        for wish in wishes:
            if self._worker.is_superseded:
                return
            # Of a database only the one session is read.
            if not wish.first and wish.path.endswith((".jsonl", ".json")):
                with suppress(OSError):  # reading it says what is wrong
                    if Path(wish.path).stat().st_size > _LARGE:
                        continue
            try:
                seen = Seen(text, wish.unified_id, self._look(text, wish), whole=wish.first)
            except HermesTuiError as error:
                seen = Seen(text, wish.unified_id, None, str(error))
            except Exception as error:  # a bug of one adapter must not end the thread
                reason = f"it cannot be read ({type(error).__name__}: {error})"
                seen = Seen(text, wish.unified_id, None, reason)
            if seen.result is None and not seen.reason:
                continue  # another question was asked meanwhile
            with self._lock:
                self._seen[text, wish.unified_id] = seen
                while len(self._seen) > _KEPT:
                    self._seen.popitem(last=False)
            self._ready()


def look(manager: SessionManager, live: LiveSearch, text: str, wish: PreviewWish) -> Result | None:
    """A session that the search has found for `text`; one that only its name brought into the list, without a match.
    None where the search is for something else by now, or has yet to come to it. Raises as `SessionManager.open`
    does."""
    from hermes_tui.sessions.search.details import ends_of
    from hermes_tui.sessions.search.model import Result, facts_of

    snapshot = live.snapshot
    if snapshot.query.text != text:
        return None
    if not wish.first:
        return live.glimpse(wish.unified_id)
    found = live.preview(wish.unified_id)
    native = manager.resolve_native_id(wish.unified_id)
    if found is not None or native is None:
        return found
    if not snapshot.done or live.snapshot is not snapshot:
        # The row is that of an earlier answer: it may have a match, and would be opened at its end for good.
        return None
    start, end = ends_of(manager.open(*native))
    return Result(**facts_of(manager.summary(*native)), start=start, end=end)
