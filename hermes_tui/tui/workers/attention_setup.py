"""Builds the attention watch of a program: monitor, notifier, shared counts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from hermes_tui.attention.delivery import Notifier
from hermes_tui.attention.shared import SharedCounts, shared_file
from hermes_tui.platform import paths
from hermes_tui.tui.program import Program
from hermes_tui.tui.terminal_output import patient
from hermes_tui.tui.workers.attention_watch import AttentionWatch

if TYPE_CHECKING:
    from hermes_tui.attention.monitor import Monitor
    from hermes_tui.attention.report import AttentionReport
    from hermes_tui.lifecycle.lanes import Board

__all__ = ["attention_watch"]


def attention_watch(
    program: Program,
    board: Callable[[], Board | None],
    publish: Callable[[AttentionReport], None],
    write: Callable[[str], None],
    focused: Callable[[], bool | None],
    failed: Callable[[str], None],
) -> AttentionWatch:
    """The watch of one program, whose reports go to `publish` and become notifications. `board`: what is known of
    lanes. `write`, `focused` and `failed`: as `Notifier` has them; `write` is called in the screen's thread."""
    manager, settings = program.manager, program.config.attention

    def tell(text: str) -> None:
        if program.is_handed_over and sys.__stderr__ is not None:
            # At once, for later it may be so no longer. Neither a bell nor such a sequence moves the other's cursor.
            with patient(sys.__stderr__) as terminal:
                terminal.write(text)
        else:
            program.in_loop(lambda: write(text))

    notifier = Notifier(settings, tell, lambda: False if program.is_handed_over else focused(), failed)

    def monitor() -> Monitor:
        from hermes_tui.attention.monitor import Monitor

        return Monitor(
            manager,
            manager.marks,
            board=board,
            stuck_after=timedelta(seconds=settings.stuck_seconds),
            now=lambda: program.clock.now().timestamp(),
        )

    shared = SharedCounts(shared_file(manager.environment, paths.cache_dir()))
    return AttentionWatch(monitor, manager.marks, publish, notifier.look, failed, shared)
