"""The demo's further lanes: one in each state that a lane can be in, and those of a profile without a gateway."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hermes_tui.demo.hermes_tales import Chat, Lane
from hermes_tui.demo.story import Reply, Tale, Turn

__all__ = ["CODER_CHATS", "COUNTS", "MORE_CHATS", "POLICIES", "UNREADABLE"]

_SONNET = "anthropic/claude-sonnet-4.6"


def _tale(slug: str, title: str, ago: timedelta, *said: tuple[str, str]) -> Tale:
    turns = tuple(Turn(prompt=prompt, replies=(Reply(text=answer),)) for prompt, answer in said)
    return Tale(slug=slug, title=title, project="", turns=turns, ago=ago, model=_SONNET)


def _direct(platform: str, user_id: str, name: str, **more: Any) -> Lane:
    return Lane(
        platform=platform,
        chat_id=user_id,
        chat_name=name,
        chat_type="dm",
        user_id=user_id,
        user_name=name,
        **more,
    )


_GARDEN = Lane(
    platform="matrix",
    chat_id="!garden:example.org",
    chat_name="Garden",
    chat_type="group",
    user_id="@carla:example.org",
    user_name="Carla",
    mirrored_as="20261101_090000_0ddba11e",
)
_HOUSE = _direct("homeassistant", "hall-panel", "Hall panel", fresh=True)

MORE_CHATS: tuple[Chat, ...] = (
    Chat(
        # The policy ended the conversation before this one, this morning.
        lane=_direct("signal", "+4917012345", "Carla", auto_reset="daily"),
        ended_by="daily",
        parts=(
            _tale(
                "carla-1",
                "Shopping for nine people",
                timedelta(hours=19),
                ("We are nine on Sunday. What do I buy for a lasagne?", "1.2 kg of mince, 18 sheets, 3 l of milk …"),
            ),
            _tale(
                "carla-2",
                "Two vegetarians are coming as well",
                timedelta(minutes=41),
                ("Two of them eat no meat after all.", "Then a second, smaller tray with spinach."),
            ),
        ),
    ),
    Chat(
        # Older than the last boundary: the next message begins a fresh session.
        lane=_direct("email", "dana@example.org", "Dana"),
        parts=(
            _tale(
                "dana",
                "Invoice 2026-118 is wrong",
                timedelta(days=1, hours=20),
                ("Invoice 2026-118 has the old VAT number.", "A corrected one is attached as a draft."),
            ),
        ),
    ),
    Chat(
        # Its policy is never, the mirror differs, and two restarts met it while it was busy.
        lane=_GARDEN,
        parts=(
            _tale(
                "garden",
                "When to cut the apple trees",
                timedelta(hours=5),
                ("When do we cut the apple trees?", "In February, on a dry day without frost."),
            ),
        ),
    ),
    Chat(
        # Compressed a moment ago; the gateway moves the lane at its next message.
        lane=Lane(
            platform="mattermost",
            chat_id="m4x9release",
            chat_name="release-train",
            chat_type="channel",
            user_id="u81",
            user_name="Eve",
        ),
        behind=True,
        parts=(
            _tale(
                "train-1",
                "Release train 2026.11",
                timedelta(minutes=25),
                ("Who has not signed off yet?", "Billing and search. Billing waits for the VAT fix."),
            ),
            _tale(
                "train-2",
                "Release train 2026.11 #2",
                timedelta(minutes=24),
                ("And now?", "Only search."),
            ),
        ),
    ),
    # No message has come since it was reset.
    Chat(lane=_HOUSE, parts=()),
)

CODER_CHATS: tuple[Chat, ...] = (
    Chat(
        lane=_direct("telegram", "700002", "Bo Ström"),
        ended_by="session_reset",
        parts=(
            _tale(
                "bo-1",
                "Rename the billing module",
                timedelta(days=3),
                ("Rename billing to invoicing.", "Done in 41 files; the tests pass."),
            ),
            _tale(
                "bo-2",
                "Speed up the import",
                timedelta(hours=3),
                ("The import takes 40 minutes.", "38 of them are one query without an index. Shall I add it?"),
            ),
        ),
    ),
    Chat(
        lane=Lane(
            platform="slack",
            chat_id="C0700009",
            chat_name="#code",
            chat_type="channel",
            user_id="U7",
            user_name="Faye",
            resume_pending=True,
        ),
        parts=(
            _tale(
                "code",
                "Review of the parser",
                timedelta(minutes=35),
                ("Please review the parser branch.", "Reading it; 14 files so far, two questions at the end."),
            ),
        ),
    ),
)

COUNTS = {_GARDEN.key: 2}
"""Restarts in a row with the lane busy."""

POLICIES = {
    "reset_by_platform": {"signal": {"mode": "idle", "idle_minutes": 1440}, "matrix": {"mode": "none"}},
}
"""`gateway.json`: overrides of the reset policy."""

UNREADABLE = (
    "agent:main:webhook:dm:deploy",
    {"session_key": "agent:main:webhook:dm:deploy", "session_id": "20261119_120000_5ca1ab1e", "platform": "webhook"},
)
"""An entry that lacks its times, as a tool left it that knew only half of the format."""
