"""What the demo's people do with Pi and omp: charts of a pipeline, pictures of a blog, a long backfill."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from hermes_tui.demo.story import Call, Compaction, Failure, Helper, Reply, Tale, Turn, edited, number, ran, said

__all__ = [
    "BACKFILL",
    "CHARTS",
    "CHARTS_AGAIN",
    "CHARTS_FORK",
    "CHARTS_LINES",
    "FEED",
    "IMAGES",
    "IMAGES_AGAIN",
    "IMAGES_AVIF",
    "SCHEMA",
]

_TABLES = (
    "orders",
    "order_lines",
    "customers",
    "carts",
    "payments",
    "refunds",
    "stock",
    "events",
    "coupons",
    "mails",
)


def _backfill() -> tuple[Turn, ...]:
    """Ten tables, eleven months each: a turn per table and month, with the summary of the first half in between."""
    turns = [
        said(
            "Backfill everything since January, table by table and month by month. Stop at a difference.",
            "Source and target agree for December, so the copy itself is sound. Starting with `orders`.",
            Call(
                kind="read", target="pipeline/backfill.py", output="def backfill(table, month):\n    ...", seconds=0.1
            ),
            ran("python -m pipeline.counts --month 2025-12", "10 tables, all equal", 12.4),
            thinking="First see that the copy is sound where nothing is missing, then go month by month.",
        )
    ]
    for place, table in enumerate(_TABLES):
        for month in range(1, 12):
            rows = number(4_000, 90_000, "backfill", table, month)
            copied = ran(
                f"python -m pipeline.backfill {table} --month 2026-{month:02d}",
                f"{table} 2026-{month:02d}: {rows:,} rows read, {rows:,} rows written, checksums equal",
                number(20, 900, table, month) / 10,
            )
            prompt = f"Next: {table}, all months." if month == 1 else "Go on."
            turns.append(said(prompt, f"`{table}` of 2026-{month:02d}: {rows:,} rows, equal on both sides.", copied))
        if place == len(_TABLES) // 2:
            turns.append(_HALF)
    return tuple(turns)


_HALF = Turn(
    prompt="How far are we?",
    replies=(
        Compaction(
            summary="## Goal\nBackfill all tables since January 2026, month by month.\n\n"
            "## Progress\n- orders, order_lines, customers, carts, payments, refunds: all months, all equal\n\n"
            "## Next steps\n1. stock, events, coupons, mails"
        ),
        Reply(text="Six tables of ten, 66 months, no difference so far. About forty minutes are left."),
    ),
)

BACKFILL = Tale(
    slug="pi-backfill",
    title="Backfill everything since January",
    project="pipeline",
    branch="backfill",
    ago=timedelta(minutes=6),
    turns=_backfill(),
)

CHARTS = Tale(
    slug="pi-charts",
    title="Draw the daily totals",
    project="pipeline",
    ago=timedelta(hours=1, minutes=20),
    turns=(
        said(
            "Draw the daily totals of the last month for the report. It must survive a black and white printer.",
            "A chart with one bar a day, in `report/daily.svg`. Weekends are hatched.",
            ran("python -m pipeline.report --days 30", "30 days, 1,204,551 events", 3.9),
            Call(
                kind="write",
                target="report/daily.py",
                after="def bars(days):\n    return [bar(day) for day in days]\n",
            ),
            thinking="Black and white: no colours to tell things apart, so hatching.",
        ),
    ),
)
CHARTS_LINES = Tale(
    slug="pi-charts-lines",
    title="",
    project="pipeline",
    ago=timedelta(hours=1, minutes=9),
    turns=(
        said(
            "Try lines instead of bars.",
            "Drawn, but refunds lie on top of returns: with lines the two cannot be told apart.",
            edited("report/daily.py", "    return [bar(day) for day in days]", "    return [line(days)]"),
        ),
    ),
)
CHARTS_AGAIN = Tale(
    slug="pi-charts-again",
    title="",
    project="pipeline",
    ago=timedelta(minutes=58),
    turns=(
        said(
            "Back to the bars. Put the number on top of the highest one.",
            "Done: 61,870 on the 14th.",
            edited("report/daily.py", "bar(day)", "bar(day, label=day is highest)"),
            ran("python -m report.daily && ls -la report", "daily.svg  48 kB", 1.1),
        ),
    ),
)
CHARTS_FORK = Tale(
    slug="pi-charts-fork",
    title="",
    project="pipeline",
    ago=timedelta(hours=1, minutes=2),
    turns=(said("The same chart for hours of the day, in a file of its own.", "`report/hourly.svg`, 24 bars."),),
)
FEED = Tale(
    slug="pi-feed",
    title="The feed is not valid any more",
    project="blog",
    model="claude-opus-4-6",
    ago=timedelta(hours=7, minutes=12),
    turns=(
        Turn(
            prompt="A reader says that our feed is not valid XML since yesterday.",
            replies=(
                Reply(
                    calls=(
                        ran("xmllint --noout public/feed.xml", "feed.xml:91: parser error : EntityRef", failed=True),
                    )
                ),
                Failure(status=529, reason="Overloaded"),
            ),
        ),
    ),
)

_COUNTER = Helper(
    task="Count pictures by format",
    prompt="Count the pictures in content/ by format and size. A table, nothing else.",
    call=ran("find content -name '*.*g' | wc -l", "412"),
    answer="| format | files | MB |\n|---|---|---|\n| png | 268 | 311 |\n| jpg | 144 | 97 |",
)
IMAGES = Tale(
    slug="omp-images",
    title="Halve the weight of the pictures",
    project="blog",
    branch="images",
    ago=timedelta(hours=2, minutes=31),
    turns=(
        said(
            "The front page weighs 9 MB. Halve it without anybody seeing a difference.",
            "Most of it are PNGs that are photographs. As WebP at quality 82 the page is 3.8 MB.",
            ran("du -sh public/img", "408M\tpublic/img", 0.6),
            thinking="Photographs as PNG are the usual reason; check that before anything clever.",
        ),
    ),
)
IMAGES_AVIF = msgspec.structs.replace(
    IMAGES,
    slug="omp-images-avif",
    ago=timedelta(hours=2, minutes=20),
    turns=(
        said(
            "And AVIF?",
            "2.9 MB, but 2 % of the readers in the log would see nothing.",
            ran("python tools/readers.py --since 30d", "no AVIF: 1,911 of 94,207", 2.2),
        ),
    ),
)
IMAGES_AGAIN = msgspec.structs.replace(
    IMAGES,
    slug="omp-images-again",
    ago=timedelta(minutes=34),
    turns=(
        said(
            "WebP then, with the PNG for those who cannot.",
            "Both are written now; the page picks. 3.8 MB for 98 % of the readers.",
            edited("tools/pictures.py", 'FORMATS = ["png"]', 'FORMATS = ["webp", "png"]'),
            ran("make pictures", "412 pictures, 824 files", 48.0),
        ),
        Turn(
            prompt="Sum up for the pull request.",
            replies=(
                Compaction(
                    summary="Goal: halve the front page. WebP with PNG behind it: 9 MB → 3.8 MB; AVIF left out."
                ),
                Reply(text="The front page weighs 3.8 MB instead of 9. Pictures are WebP, with PNG for old readers."),
            ),
        ),
    ),
)
SCHEMA = Tale(
    slug="omp-schema",
    title="Which pictures have no description",
    project="blog",
    ago=timedelta(hours=9, minutes=40),
    turns=(
        Turn(
            prompt="How many pictures have no description? Let somebody else count the formats meanwhile.",
            replies=(
                Reply(calls=(ran("rg -c 'alt=\"\"' content | wc -l", "37", 0.3),), helper=_COUNTER),
                Reply(text="37 of 412 have none. 268 are PNG, 144 JPEG."),
            ),
        ),
    ),
)
