"""A thread that an error of ours ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import cast

from textual.pilot import Pilot
from textual.worker import WorkerFailed

from claude_lines import ClaudeHome
from hermes_tui.config import Config
from hermes_tui.platform import paths
from hermes_tui.platform.thread_errors import crashes_reported
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.app import HermesApp
from pilots import toasts, until
from session_adapters.base import Environment

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def _fail() -> None:
    raise ZeroDivisionError("hunter2")


def _leave() -> None:
    raise SystemExit(3)


async def test_a_thread_that_ends_by_an_error_is_said_and_noted(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any")
    async with program(claude_home.home) as pilot:
        with crashes_reported(cast(HermesApp, pilot.app).say_crash):
            for name, target in (("leaving", _leave), ("cost_refresh", _fail)):
                thread = threading.Thread(target=target, name=name)
                thread.start()
                thread.join()
        await until(pilot, lambda: toasts(pilot))
        (said,) = toasts(pilot)
    assert "(ZeroDivisionError) in «cost_refresh»" in said
    assert str(paths.log_file()) in said
    noted = paths.log_file().read_text()
    assert "builtins.ZeroDivisionError" in noted and "_fail" in noted
    assert "hunter2" not in noted + said
    assert paths.log_file().stat().st_mode & 0o777 == 0o600


def test_it_is_told_only_meanwhile() -> None:
    before = threading.excepthook
    with crashes_reported(lambda sentence: None):
        assert threading.excepthook is not before
    assert threading.excepthook is before


async def test_what_a_worker_failed_of_is_noted(claude_home: ClaudeHome, tmp_path: Path) -> None:
    claude_home.session("Any")

    async def work() -> None:
        raise ZeroDivisionError("hunter2")

    app = HermesApp(SessionManager(Environment(home=claude_home.home), cache_dir=tmp_path / "cache"), Config())
    with suppress(WorkerFailed, ZeroDivisionError):
        async with app.run_test() as pilot:
            app.main.run_worker(work(), exit_on_error=True)
            await until(pilot, lambda: app.return_code == 1)
    noted = paths.log_file().read_text()
    assert "builtins.ZeroDivisionError" in noted and "test_crash.py" in noted and "hunter2" not in noted
