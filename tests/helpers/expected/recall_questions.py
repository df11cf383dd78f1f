"""Fifty questions about the demo's sessions, each with what the right message begins with.

Written from the messages before any engine was tried, as somebody would ask weeks later: some with the words of the
answer, some without.
"""

from __future__ import annotations

__all__ = ["QUESTIONS"]

QUESTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Why does the sign-in test break now and then?", ("It fails when the clock passes", "Found it. `alive` cuts")),
    ("How long does a session live by default?", ("All 412 pass. The lifetime is",)),
    ("Which comments are left to be done about sessions?", ("Two: `src/shop/session.py:3`", "200 runs, no failure")),
    ("Is it enough to stop the clock in the test?", ("It would hide the fault", "Before you touch Session")),
    ("What was filling up the disk of the database machine?", ("Old images: 81 GB",)),
    ("How much space did we get back on db-2?", ("Freed 77.4 GB",)),
    (
        "Why are our greeting mails treated as junk?",
        ("The new welcome mail has no plain text", "Our welcome mails end"),
    ),
    ("How big is the picture in the mail now?", ("Text part added; the picture",)),
    (
        "Did we put the checkout on a single page?",
        ("`/checkout` shows address", "Put the three pages of the checkout"),
    ),
    ("Why are there two checkout pages in the end?", ("Two pages. The bank's frame",)),
    ("Can one order with scripts switched off?", ("Yes: it is one form", "Does it work without JavaScript")),
    ("Which RSS source is dead?", ("18 of 19 answer",)),
    ("Why were new posts missing from the site map?", ("It is made before the posts are",)),
    ("Where was the parcel of order 88120?", ("At the parcel centre in Kassel",)),
    ("In which order are Japanese addresses written?", ("The form takes its order", "Japanese addresses go from")),
    ("Which sales taxes are hard-coded?", ("0.19 and 0.07 in", "VAT is a constant in the code")),
    ("How many orders had the wrong tax?", ("412 of 88,120 orders",)),
    ("What happens to orders that were already billed?", ("`tax.py` reads the table now",)),
    (
        "What should be ready before the parser is merged?",
        ("Reading it; 14 files so far", "Please review the parser"),
    ),
    ("What do we cook for the vegetarians?", ("Then a second, smaller tray with spinach", "Two of them eat no meat")),
    ("Where is the bar chart of daily sums?", ("A chart with one bar a day",)),
    ("Which partition did the nightly job leave out?", ("`events_p23` of every day", "The nightly loader skipped")),
    ("How many rows were missing and then loaded?", ("Done: 15 partitions",)),
    ("What if we can afford an hour of downtime?", ("Then steps 3 and 4 become", "And with an outage of one hour")),
    ("How do we get from Postgres 15 to 17?", ("## Plan 1. Read what changed", "We must be on Postgres 17")),
    ("Did the ledger agree with the bank in week 7?", ("Week 7: 4,986 bookings",)),
    ("What is Bo waiting for?", ("Bo waits for read access",)),
    ("Who worked on what the day before?", ("Alice: the checkout. Bo", "What did everybody do yesterday")),
    ("Who broke the build this morning?", ("Nobody: the mirror of the package index",)),
    ("How did we make the home page lighter?", ("Most of it are PNGs", "The front page weighs 3.8 MB")),
    ("What do readers with old browsers get for pictures?", ("Both are written now", "WebP then, with the PNG")),
    ("Which searches are slow for want of an index?", ("Two: by name (line 41)", "Which queries in src/shop/search")),
    ("Why did looking for shoes take so long?", ("3.6 of the 4 seconds", "Search takes four seconds")),
    ("Why was a character of the receipt an empty box?", ("フォントに「髙」", "領収書のPDFで")),
    (
        "What is important for the morning meeting?",
        ("Three things: 1. the nightly loader", "What should I know before"),
    ),
    ("When are fruit trees pruned?", ("In February, on a dry day", "When do we cut the apple trees")),
    ("Why is the sum with a voucher off by a cent?", ("Each line is rounded on its own", "With the coupon AUTUMN15")),
    ("Which articles ran out at Christmas?", ("Forty articles sold out last December",)),
    ("How many calendars shall we buy?", ("Added: 990 calendars",)),
    ("What if we order only half of it?", ("Then eleven articles are gone", "And if we are careful")),
    ("Was the copy of the orders of May complete?", ("`orders` of 2026-05",)),
    ("How many payments are there for April 2026?", ("`payments` of 2026-04",)),
    ("Which services wait for the tax correction?", ("Billing and search. Billing waits",)),
    ("What is named in the mail templates without text?", ("Which mail templates have no plain text",)),
    ("How many queries of that page lack an index?", ("38 of them are one query",)),
    ("Copy everything from the beginning of the year", ("Backfill everything since January",)),
    ("Can the chart be printed without colours?", ("Draw the daily totals of the last month",)),
    ("How was the flaky test made to fail every time?", ("With time frozen at .98",)),
    ("What gives the tests a time of their own?", ("A small `Clock` with one method", "Make the lifetime a setting")),
    ("Did the customer's carts of June match?", ("`carts` of 2026-06",)),
)
