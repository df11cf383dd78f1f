"""The demo's main conversation: a flaky test in a shop, its fork, and how it goes on while one watches."""

from __future__ import annotations

from datetime import timedelta

from hermes_tui.demo.story import Call, Compaction, Helper, Reply, Tale, Turn

__all__ = ["FAKE_CLOCK", "FLAKY_LOGIN", "FORK_AFTER", "LIVE_TURNS"]

_RED = """\x1b[1m============================= test session starts =============================\x1b[0m
collected 1 item

tests/test_login.py::test_session_survives_a_reload \x1b[32mPASSED\x1b[0m                [ 97%]
tests/test_login.py::test_session_survives_a_reload \x1b[31mFAILED\x1b[0m                [100%]

>       assert client.get("/account").status_code == 200
E       assert 302 == 200

tests/test_login.py:41: AssertionError
\x1b[31m========================= 1 failed, 39 passed in 4.21s =========================\x1b[0m"""

_SESSION = """1\tfrom time import time as now
2\t
3\tTTL = 60
4\t
5\t
6\tclass Session:
7\t    def __init__(self, user):
8\t        self.user = user
9\t        self.expires = now() + TTL
10\t
11\t    @property
12\t    def alive(self):
13\t        return int(now()) < int(self.expires)
"""

_TODO = Helper(
    task="Search for TODO comments",
    prompt="List every TODO and FIXME comment in src/ that has to do with sessions or time. Paths and lines only.",
    call=Call(
        kind="shell",
        target="rg -n 'TODO|FIXME' src",
        output="src/shop/session.py:3:# TODO: make the lifetime a setting\n"
        "src/shop/cart.py:88:# FIXME: clock of the browser is trusted",
        seconds=0.4,
    ),
    answer="Two: `src/shop/session.py:3` (lifetime as a setting), `src/shop/cart.py:88` (trusts browser clocks).",
)

_FIND_IT = Turn(
    prompt="The login test fails one time in ten. Find out why.",
    replies=(
        Reply(
            thinking="One in ten smells of time or of order. I should see it fail before I guess.",
            text="I'll run it until it fails.",
            calls=(
                Call(
                    kind="shell",
                    target="pytest -x --count 40 tests/test_login.py",
                    output=_RED,
                    failed=True,
                    seconds=4.2,
                ),
            ),
        ),
        Reply(
            text="It fails when the clock passes a full second between the two requests. Let me look at the session.",
            calls=(Call(kind="read", target="src/shop/session.py", output=_SESSION, seconds=0.1),),
        ),
        Reply(
            thinking="alive compares whole seconds: a session made at 12:00:00.98 loses almost a second. With a TTL "
            "of one second in the test settings that is the whole life of it.",
            text="Found it. `alive` cuts both times to whole seconds:\n\n"
            "```python\nreturn int(now()) < int(self.expires)\n```\n\n"
            "The test settings use a lifetime of **one second**, so a session that is made late in a second is dead "
            "at once. That is the one time in ten.",
        ),
    ),
)

_FIX_IT = Turn(
    prompt="Good find. Fix it, and look whether we left a note about it somewhere.",
    replies=(
        Reply(
            text="I'll compare the times as they are, and let a helper look for notes meanwhile.",
            calls=(
                Call(
                    kind="edit",
                    target="src/shop/session.py",
                    before="        return int(now()) < int(self.expires)",
                    after="        return now() < self.expires",
                ),
            ),
            helper=_TODO,
        ),
        Reply(
            calls=(
                Call(
                    kind="shell",
                    target="pytest -q --count 200 tests/test_login.py",
                    output="200 passed in 19.84s",
                    seconds=20.6,
                ),
            ),
        ),
        Reply(
            text="200 runs, no failure. The helper found two notes:\n\n"
            "| where | note |\n|---|---|\n| `src/shop/session.py:3` | make the lifetime a setting |\n"
            "| `src/shop/cart.py:88` | the browser's clock is trusted |\n\nThe second one deserves its own change."
        ),
    ),
)

_CLOCK = Turn(
    prompt="Make the lifetime a setting then, and give Session a clock that tests can hold.",
    replies=(
        Compaction(
            summary="The user asked why tests/test_login.py fails one time in ten. Cause: Session.alive compared "
            "whole seconds. Fixed by comparing floats; 200 runs passed. Open: lifetime as a setting, a clock that "
            "tests can hold, and src/shop/cart.py:88 trusts the browser's clock."
        ),
        Reply(
            text="A small `Clock` with one method, passed in:",
            calls=(
                Call(
                    kind="write",
                    target="src/shop/clock.py",
                    after="from time import time\n\n\n"
                    "class Clock:\n    def now(self) -> float:\n        return time()\n",
                ),
                Call(
                    kind="edit",
                    target="src/shop/session.py",
                    before="        self.expires = now() + TTL",
                    after="        self.clock = clock\n"
                    "        self.expires = clock.now() + settings.session_lifetime",
                ),
            ),
        ),
        Reply(
            calls=(Call(kind="shell", target="pytest -q", output="412 passed, 3 skipped in 31.07s", seconds=32),),
        ),
        Reply(text="All 412 pass. The lifetime is `SHOP_SESSION_LIFETIME` now, 60 seconds unless it is set."),
    ),
)

FLAKY_LOGIN = Tale(
    slug="flaky-login",
    title="Fix the flaky login test",
    project="shop",
    turns=(_FIND_IT, _FIX_IT, _CLOCK),
    ago=timedelta(minutes=3),
)
"""The session that is open now: tools, thinking, an edit, a helper, a compaction."""

FORK_AFTER = 1
"""How many turns of `FLAKY_LOGIN` its fork shares."""

FAKE_CLOCK = Tale(
    slug="fake-clock",
    title="Fix it with a fake clock",
    project="shop",
    branch="fake-clock",
    turns=(
        Turn(
            prompt="Before you touch Session: would freezing time in the test alone do?",
            replies=(
                Reply(
                    text="It would hide the fault from the test and leave it for customers. To compare:",
                    calls=(
                        Call(
                            kind="edit",
                            target="tests/test_login.py",
                            before="def test_session_survives_a_reload(client):",
                            after='@freeze_time("2026-11-21 12:00:00.98")\n'
                            "def test_session_survives_a_reload(client):",
                        ),
                    ),
                ),
                Reply(
                    text="With time frozen at .98 it fails **every** time, which makes a better test of the real fix."
                ),
            ),
        ),
    ),
    ago=timedelta(minutes=12),
)
"""Branched off `FLAKY_LOGIN`."""

LIVE_TURNS: tuple[Turn, ...] = (
    Turn(
        prompt="Now the note in cart.py: stop trusting the browser's clock.",
        replies=(
            Reply(
                thinking="The cart takes the expiry from a cookie that the browser sets.",
                text="I'll see who reads that cookie.",
                calls=(
                    Call(
                        kind="shell",
                        target="rg -n 'cart_expires' src",
                        output="src/shop/cart.py:88:    expires = float(request.cookies['cart_expires'])",
                        seconds=0.3,
                    ),
                ),
            ),
            Reply(text="One reader. The server can keep the time in the session instead."),
        ),
    ),
    Turn(
        prompt="Do that.",
        replies=(
            Reply(
                calls=(
                    Call(
                        kind="edit",
                        target="src/shop/cart.py",
                        before="    expires = float(request.cookies['cart_expires'])",
                        after="    expires = request.session.expires",
                    ),
                ),
            ),
            Reply(
                text="Changed. Running the cart's tests.",
                calls=(
                    Call(
                        kind="shell", target="pytest -q tests/test_cart.py", output="58 passed in 3.90s", seconds=4.4
                    ),
                ),
            ),
            Reply(text="All 58 pass; the cookie is not read any more."),
        ),
    ),
    Turn(
        prompt="Anything else in there that believes the client?",
        replies=(
            Reply(
                calls=(
                    Call(
                        kind="shell",
                        target="rg -n 'request.(cookies|headers)' src | wc -l",
                        output="7",
                        seconds=0.2,
                    ),
                ),
            ),
            Reply(text="Seven places, six of them only for language and theme. The seventh is the currency."),
        ),
    ),
)
"""What is added to `FLAKY_LOGIN` while the demo runs, again and again."""
