"""What Hermes' people talk about with it: on Telegram, Discord, WhatsApp and Slack, in the terminal and by cron."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from hermes_tui.demo.story import Call, Reply, Tale, Turn

__all__ = ["CHATS", "CRON_ANSWER", "CRON_PROMPT", "HELPERS", "POSTGRES", "POSTGRES_BRANCH", "Chat", "Lane"]

_SONNET = "anthropic/claude-sonnet-4.6"
_HERMES = "nousresearch/hermes-4-405b"


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """A place in a messenger that has one current session."""

    platform: str
    chat_id: str
    chat_name: str
    chat_type: str
    user_id: str
    user_name: str
    thread_id: str | None = None
    resume_pending: bool = False
    suspended: bool = False
    auto_reset: str | None = None
    fresh: bool = False
    """It was reset, and no message has come since: its session has no row."""
    mirrored_as: str = ""
    """Another session that `sessions.json` has for it."""

    @property
    def key(self) -> str:
        """The session key, as the gateway makes it (groups isolated per user)."""
        parts = ["agent", "main", self.platform, self.chat_type, self.chat_id]
        if self.chat_type == "thread" and self.thread_id:
            parts.append(self.thread_id)
        elif self.chat_type != "dm":
            parts.append(self.user_id)
        return ":".join(parts)


class Chat(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions that follow each other in one lane (by compression), or one session in the terminal."""

    parts: tuple[Tale, ...]
    lane: Lane | None = None
    source: str = "cli"
    end_reason: str | None = None
    ended_by: str = "compression"
    """How the parts before the last ended; only those of a compression are each other's continuation."""
    behind: bool = False
    """The lane still leads to the part before the last."""
    archived: bool = False
    photo: bool = False
    """The first prompt comes with a picture."""
    rewound: bool = False
    """The last turn was undone by the user."""
    compacted: bool = False
    """The first turn was summarised away in place."""


def _tale(slug: str, title: str, ago: timedelta, *turns: Turn, model: str = _SONNET, project: str = "") -> Tale:
    return Tale(slug=slug, title=title, project=project, turns=turns, ago=ago, model=model)


def _said(prompt: str, answer: str, *calls: Call, thinking: str = "") -> Turn:
    replies = (Reply(thinking=thinking, calls=calls), Reply(text=answer)) if calls else (Reply(text=answer),)
    return Turn(prompt=prompt, replies=replies)


def _ran(command: str, output: str, seconds: float = 1.0, failed: bool = False) -> Call:
    return Call(kind="shell", target=command, output=output, seconds=seconds, failed=failed)


_DISK = "Filesystem  Size  Used Avail Use% Mounted on\n/dev/sda2   220G  209G   11G  95% /var/lib/docker"

_OPS = Chat(
    lane=Lane(
        platform="telegram",
        chat_id="-1001234567",
        chat_name="Ops",
        chat_type="group",
        user_id="700001",
        user_name="Alice",
        resume_pending=True,
    ),
    parts=(
        _tale(
            "ops-1",
            "Docker network is gone after the reboot",
            timedelta(days=3),
            _said(
                "db-2 came back without its docker network. What happened?",
                "The bridge was removed by the upgrade; compose makes it again on `up`. Shall I?",
                _ran(
                    "docker network ls",
                    "NETWORK ID     NAME      DRIVER    SCOPE\n1c0ffee00dad   host      host      local",
                ),
                thinking="Look before touching anything on a database host.",
            ),
            _said("Yes, but not at noon.", "At 13:00 then. I will say so here when it is done."),
        ),
        _tale(
            "ops-2",
            "Docker network is gone after the reboot #2",
            timedelta(days=1, hours=9),
            _said(
                "Is it up?",
                "Up since 13:00:04. All four containers are healthy.",
                _ran("docker compose up -d && docker ps", "4 containers, healthy", 9.5),
            ),
        ),
        _tale(
            "ops-3",
            "Disk alert on db-2",
            timedelta(minutes=9),
            _said(
                "Disk alert on db-2, 95 %. What grows?",
                "Old images: 81 GB of them. `docker image prune -a --filter until=720h` would free about 77 GB and "
                "touches nothing that runs.\n\n**I have not run it.**",
                _ran("df -h /var/lib/docker", _DISK),
                _ran("docker system df", "Images  143  12  81.2GB  77.4GB (95%)", 3.1),
            ),
            _said("Run it.", "Freed 77.4 GB; the disk is at 60 %.", _ran("docker image prune -af", "77.4GB", 41)),
        ),
    ),
)

_PLAN = _said(
    "We must be on Postgres 17 by March. Make a plan I can show.",
    "## Plan\n\n1. Read what changed between 15 and 17 for what we use.\n"
    "2. Restore last night's dump into 17, run the tests.\n"
    "3. Logical replication from 15 to 17.\n4. Switch on a Sunday.\n\n"
    "Step 2 takes two hours; the rest depends on it.",
    Call(kind="read", target="docs/database.md", output="Postgres 15.6, 214 GB, 3 logical slots", seconds=0.1),
    thinking="They want something to show: four steps, one line each.",
)

POSTGRES = _tale("postgres", "Plan the move to Postgres 17", timedelta(hours=2), _PLAN, project="pipeline")
POSTGRES_BRANCH = _tale(
    "postgres-branch",
    "Plan the move to Postgres 17 #2",
    timedelta(hours=1, minutes=31),
    _said(
        "And with an outage of one hour instead of replication?", "Then steps 3 and 4 become one dump and restore."
    ),
    project="pipeline",
)

HELPERS = (
    _tale(
        "helper-1",
        "",
        timedelta(hours=1, minutes=55),
        _said("What changed from 15 to 17?", "Nine things we use."),
        model=_HERMES,
    ),
    _tale(
        "helper-2",
        "",
        timedelta(hours=1, minutes=57),
        _said("Is MERGE used in src/?", "In two places."),
        model=_HERMES,
    ),
)
"""The first was sent off by `POSTGRES`, the second by the first."""

CRON_PROMPT = "Check that last night's backup can be read, and say so in one line."
CRON_ANSWER = "Backup of {day} is readable: 214 GB, 1,208 files, newest 03:12."

CHATS: tuple[Chat, ...] = (
    _OPS,
    Chat(
        lane=Lane(
            platform="discord",
            chat_id="880012",
            chat_name="#dev › release",
            chat_type="thread",
            user_id="77",
            user_name="Bo Ström",
            thread_id="880012",
        ),
        parts=(
            _tale(
                "dev",
                "Why is the build red?",
                timedelta(hours=2, minutes=12),
                _said(
                    "main is red, who did it?",
                    "Nobody: the mirror of the package index answered 502 for four minutes. The retry is green.",
                    _ran("gh run view --log-failed", "ERROR: HTTP error 502 while getting wheel", 2.4, failed=True),
                ),
                _said("😅 sorry", "No harm done."),
                model=_HERMES,
            ),
        ),
    ),
    Chat(
        lane=Lane(
            platform="whatsapp",
            chat_id="4915112345@s.whatsapp.net",
            chat_name="Bob",
            chat_type="dm",
            user_id="4915112345@s.whatsapp.net",
            user_name="Bob",
            suspended=True,
        ),
        photo=True,
        parts=(
            _tale(
                "bob",
                "Was steht auf dem Schild? 📷",
                timedelta(days=2, hours=1),
                _said(
                    "Was steht auf dem Schild?",
                    "„Betreten der Baustelle verboten“, darunter die Nummer der Bauleitung.",
                ),
            ),
        ),
    ),
    Chat(
        lane=Lane(
            platform="slack",
            chat_id="C0700001",
            chat_name="#support",
            chat_type="channel",
            user_id="U1",
            user_name="Ana",
            auto_reset="idle",
        ),
        end_reason="idle",
        parts=(
            _tale(
                "support",
                "Customer 4711 cannot log in",
                timedelta(days=3, hours=5),
                _said(
                    "Customer 4711 cannot log in since Tuesday.",
                    "Their session is 0.3 s long. That is the flaky test, live.",
                ),
                model=_HERMES,
            ),
        ),
    ),
    Chat(
        end_reason="user_exit",
        compacted=True,
        parts=(
            _tale(
                "zh",
                "修复订单导出的时区问题",
                timedelta(days=4),
                _said("导出的订单时间比实际晚八小时，请检查。", "导出时没有带时区，已按 UTC 处理。"),
                _said("再检查一下报表。", "报表也一样，已经改好。"),
                project="shop",
            ),
        ),
    ),
    Chat(
        source="tui",
        archived=True,
        end_reason="tui_shutdown",
        parts=(
            _tale(
                "names",
                "Names for the new service",
                timedelta(days=12),
                _said(
                    "Ten names for a service that archives events. No birds.", "Attic, Ledger, Silo, Cellar, Shelf …"
                ),
                project="pipeline",
            ),
        ),
    ),
    Chat(
        rewound=True,
        end_reason="user_exit",
        parts=(
            _tale(
                "cellar",
                "Describe the archiver in one sentence",
                timedelta(days=5, hours=3),
                _said(
                    "One sentence for the README of the archiver.",
                    "Cellar keeps every event once and finds it again.",
                ),
                _said("Shorter, and make it rhyme.", "Cellar: a better event teller."),
                project="pipeline",
            ),
        ),
    ),
)
