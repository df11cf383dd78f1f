"""`hermes-tui demo`: the program on a made-up home.

The stores are written in the agents' real formats into a directory of their own; neither the user's home nor any
of the user's variables is read or written.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_tui.errors import HermesTuiError, ValidationError
from session_adapters.reading.files import temporary_place

if TYPE_CHECKING:
    from hermes_tui.config import Config

__all__ = ["STATIC_NOW", "begin_marks", "only_home", "run_demo"]

STATIC_NOW = datetime(2026, 11, 21, 10, 34, tzinfo=UTC)
"""When `--static` takes place."""
_LATELY = timedelta(minutes=7)
"""What was said since then, nobody has looked at yet."""
_PATIENCE = 10.0
"""Seconds to wait at most for costs that are being added up: they would be written into a home that is removed."""


def run_demo(config: Config, *, static: bool, home: Path | None, open_tui: bool = True) -> int:
    """Write a demo home and open the program on it; the exit code.

    Without `home` it is a temporary one that is removed at the end. With `static` nothing moves and it is always
    the same minute; otherwise one session keeps growing. `open_tui=False` only writes `home`.

    Raises `ValidationError` when `home` is neither empty nor a former demo home, `HermesTuiError` when it cannot
    be written.
    """
    from hermes_tui.demo.home import prepare

    if home is None and not open_tui:
        raise ValidationError("a demo that is not shown needs a directory to stay in; name one with --home")
    try:
        if home is not None:
            prepare(home)
            return _run(config, home, static=static, open_tui=open_tui)
        with tempfile.TemporaryDirectory(
            prefix="hermes-tui-demo-", dir=temporary_place(), ignore_cleanup_errors=True
        ) as temporary:
            prepare(Path(temporary))
            return _run(config, Path(temporary), static=static, open_tui=open_tui)
    except OSError as error:
        raise HermesTuiError(f"cannot write the demo home {error.filename}: {error.strerror}") from error


def _run(config: Config, home: Path, *, static: bool, open_tui: bool) -> int:
    from hermes_tui.demo.home import environment_of, write_home
    from hermes_tui.demo.live import DemoGateway, LiveWriter

    now = STATIC_NOW if static else datetime.now(UTC)
    write_home(home, now)
    if not open_tui:
        return 0
    from hermes_tui.tui.run import run_app

    writers = () if static else (LiveWriter(home), DemoGateway(home))
    with only_home(home):
        begin_marks(now)
        for writer in writers:
            writer.start()
        try:
            at = now if static else None
            return run_app(config, environment=environment_of(home), static_now=at, patience=_PATIENCE)
        finally:
            for writer in writers:
                writer.stop()
            for writer in writers:
                writer.join(5)


def begin_marks(now: datetime) -> None:
    """Have it that a person looked at all sessions a few minutes before `now`; called within `only_home`."""
    from hermes_tui.platform import paths
    from hermes_tui.sessions.mark_store import MarkStore

    marks = MarkStore(paths.state_dir() / "marks.db", lambda: (now - _LATELY).timestamp())
    assert marks.began  # noqa: S101  (asking is what keeps it)
    marks.close()


@contextmanager
def only_home(home: Path) -> Iterator[None]:
    """Our own cache, settings and log go to the demo home too, not to the user's."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        del os.environ[name]
    os.environ["HOME"] = str(home)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
