"""Reading beside the loop: results and errors come back, and nobody waits for what hangs."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

import pytest

from hermes_tui.platform.daemon_call import in_thread


async def test_results_and_errors_come_back() -> None:
    here = threading.get_ident()

    def answer(question: str, *, mark: str) -> tuple[str, bool]:
        return question + mark, threading.get_ident() == here

    assert await in_thread(answer, "why", mark="?") == ("why?", False)
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0)


def test_leaving_waits_for_no_read() -> None:
    released, left = threading.Event(), threading.Event()

    async def program() -> None:
        loop, begun = asyncio.get_running_loop(), asyncio.Event()

        def read() -> None:
            loop.call_soon_threadsafe(begun.set)
            released.wait()

        task = asyncio.create_task(in_thread(read))
        await begun.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    def run() -> None:
        asyncio.run(program())
        left.set()

    threading.Thread(target=run, daemon=True).start()
    try:
        assert left.wait(60)
    finally:
        released.set()
    for thread in threading.enumerate():
        if thread.name == "daemon call":
            thread.join(60)  # it ends although its loop is closed
            assert not thread.is_alive()


async def test_what_comes_too_late_is_dropped() -> None:
    released = threading.Event()
    task = asyncio.create_task(in_thread(released.wait))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    released.set()
    assert await in_thread(int, "7") == 7
