"""What the demo's people ask the agents that run as a service: OpenClaw and Hector."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from hermes_tui.demo.story import Call, Compaction, Failure, Reply, Tale, Turn, edited, number, ran, said

__all__ = ["INCIDENT", "INVOICES", "LATE_ORDER", "LEDGER", "MORNING", "RESTOCK", "RESTOCK_FORK", "STANDUP"]

MORNING = Tale(
    slug="openclaw-main",
    title="",
    project=".openclaw/workspace",
    ago=timedelta(hours=4, minutes=4),
    turns=(
        said(
            "What should I know before the stand-up?",
            "Three things:\n\n1. the nightly loader skipped a partition\n2. db-2's disk was full, it is at 60 % now\n"
            "3. Ana waits for an answer about customer 4711",
            ran("cat notes/2026-11-21.md", "- loader: p23 missing\n- db-2: disk\n- support: 4711", 0.1),
        ),
    ),
)
LATE_ORDER = Tale(
    slug="openclaw-telegram",
    title="",
    project=".openclaw/workspace",
    ago=timedelta(minutes=19),
    turns=(
        said(
            "Where is order 88120? The customer is on the phone.",
            "At the parcel centre in Kassel since 06:12, delivery today between 14 and 17 o'clock.",
            ran("shopctl order 88120 --track", "88120  Kassel  06:12  today 14-17", 1.4),
        ),
    ),
)
RESTOCK = Tale(
    slug="openclaw-restock",
    title="Restock plan for December",
    project="shop",
    model="claude-opus-4-6",
    ago=timedelta(hours=6, minutes=2),
    turns=(
        said(
            "Plan what to restock for December from last year's numbers.",
            "Forty articles sold out last December. The list is in `plans/december.md`, dearest first.",
            ran("python -m shop.sold_out --month 2025-12", "40 articles", 4.2),
            Call(
                kind="write",
                target="plans/december.md",
                after="# December\n\n1. advent calendars: 900\n2. candles: 400\n",
            ),
            thinking="Sold out means the number sold is a lower bound; say so.",
        ),
        said(
            "Add a tenth to everything.",
            "Added: 990 calendars, 440 candles, and so on.",
            edited("plans/december.md", "900", "990"),
        ),
    ),
)
RESTOCK_FORK = msgspec.structs.replace(
    RESTOCK,
    slug="openclaw-restock-fork",
    title="Restock plan, careful",
    ago=timedelta(hours=5, minutes=31),
    turns=(
        Turn(
            prompt="And if we are careful and order half?",
            replies=(
                Reply(text="Then eleven articles are gone by the tenth."),
                Failure(status=500, reason="Internal error"),
            ),
        ),
    ),
)


_SUMMARIES = {
    8: "Weeks 1 to 8 of 2026 are reconciled: 41,208 bookings, two of them doubled and reported.",
    16: "Weeks 1 to 16 are reconciled: 83,990 bookings; three doubled ones, all from one card reader.",
}


def _weeks() -> tuple[Turn, ...]:
    """Twenty weeks, and a checkpoint after every eight."""
    turns: list[Turn] = []
    for week in range(1, 21):
        bookings = number(4_800, 5_600, "ledger", week)
        check = ran(f"ledger reconcile --week 2026-{week:02d}", f"{bookings:,} bookings, 0 open", 2.0)
        prompt = f"Week {week}." if turns else "Reconcile the ledger with the bank, week by week. Begin with week 1."
        turn = said(prompt, f"Week {week}: {bookings:,} bookings, everything matches the bank.", check)
        if week - 1 in _SUMMARIES:
            turn = msgspec.structs.replace(turn, replies=(Compaction(summary=_SUMMARIES[week - 1]), *turn.replies))
        turns.append(turn)
    return tuple(turns)


LEDGER = Tale(slug="hector-ledger", title="", project="", model="gpt-5.4", ago=timedelta(minutes=47), turns=_weeks())
STANDUP = Tale(
    slug="hector-standup",
    title="",
    project="",
    ago=timedelta(hours=1, minutes=43),
    turns=(
        said("What did everybody do yesterday?", "Alice: the checkout. Bo: the loader. Ana: 31 customers."),
        said("And what is in the way?", "Bo waits for read access to the replica since Tuesday."),
    ),
)
INVOICES = Tale(
    slug="hector-invoices",
    title="",
    project="",
    ago=timedelta(hours=10, minutes=6),
    turns=(
        said(
            "Make the credit note for invoice 2026-11-0412.",
            "Credit note 2026-11-0412-C over 61.90 EUR is in the outbox, not sent.",
            Call(kind="read", target="invoices/2026-11-0412.json", output='{"total": 61.90}', seconds=0.1),
            Call(kind="write", target="outbox/2026-11-0412-C.json", after='{"total": -61.90}'),
            thinking="They said make, not send: it goes to the outbox.",
        ),
    ),
)
INCIDENT = Tale(
    slug="hector-incident",
    title="",
    project="",
    ago=timedelta(days=1, hours=5),
    turns=(
        Turn(
            prompt="Why did the shop answer slowly at nine?",
            replies=(
                Reply(calls=(ran("uptime", "load average: 31.20, 18.04, 9.11", 0.1),)),
                Failure(status=429, reason="rate limited by the provider"),
            ),
        ),
    ),
)
