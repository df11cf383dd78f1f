"""Makes `screenshots/export.png`: the HTML export of a session of the static demo, as a browser shows it.

`python tests/page_picture.py FILE` (`make page`). Fonts are those of the machine, so other machines give other bytes;
this is why no test compares them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from browser import Browser
from hermes_tui.demo import STATIC_NOW, only_home
from hermes_tui.demo.home import environment_of, prepare, write_home
from hermes_tui.sessions.manager import SessionManager

TITLE = "Fix the flaky login test"


def main(target: Path) -> None:
    """Write the demo, export, open, unfold the first two calls, take the picture."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        home = Path(temporary) / "home"
        prepare(home)
        write_home(home, STATIC_NOW)
        with only_home(home):
            manager = SessionManager(environment_of(home), cache_dir=Path(temporary) / "cache")
            found = next(one for one in manager.list("claude") if one.title == TITLE)
            page = Path(temporary) / "page.html"
            page.write_text(manager.export(found.agent, found.session_id, "html"))
        with Browser(Path(temporary) / "profile", 1000, 1100) as browser:
            browser.prefer("light")
            browser.open(page.as_uri())
            browser.evaluate(
                "[...document.querySelectorAll('details.tool')].slice(0, 3).forEach(one => one.open = true)"
            )
            target.write_bytes(browser.picture())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
