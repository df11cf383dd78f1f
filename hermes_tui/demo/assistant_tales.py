"""What the demo's people do with Copilot, Gemini and Cursor."""

from __future__ import annotations

from datetime import timedelta

from hermes_tui.demo.story import Call, Failure, Helper, Reply, Tale, Turn, edited, ran, said

__all__ = ["COMMENTS", "EMAILS", "FLAGS", "FORMS", "RETRIES", "SITEMAP"]

_TEMPLATES = Helper(
    task="Find templates without a text part",
    prompt="Which mail templates have no plain text part? Names only.",
    call=ran("ls mails/*.html mails/*.txt", "receipt.html receipt.txt welcome.html", 0.1),
    answer="`welcome` alone.",
)
EMAILS = Tale(
    slug="copilot-emails",
    title="Mails end up in spam",
    project="shop",
    branch="mails",
    model="claude-sonnet-4.6",
    ago=timedelta(minutes=9, seconds=30),
    turns=(
        Turn(
            prompt="Our welcome mails end up in spam since Monday. Why?",
            replies=(
                Reply(
                    thinking="Spam since a day: something changed that day. Look at the log and at the mail itself.",
                    calls=(ran("git log --since=monday --oneline -- mails", "4d10b8e New welcome mail", 0.1),),
                    helper=_TEMPLATES,
                ),
                Reply(text="The new welcome mail has no plain text part, and a picture of 2 MB. Both cost points."),
            ),
        ),
        said(
            "Add the text, and make the picture small.",
            "Text part added; the picture has 61 kB. The score is 0.4 instead of 6.1.",
            Call(kind="write", target="mails/welcome.txt", after="Welcome to the shop!\n"),
            ran("python -m shop.mails --score welcome", "0.4", 2.3),
        ),
    ),
)
FLAGS = Tale(
    slug="copilot-flags",
    title="Remove flags that are always on",
    project="shop",
    model="gpt-5.4",
    ago=timedelta(hours=11),
    turns=(
        Turn(
            prompt="Which feature flags are on for everybody since more than a month? Remove them.",
            replies=(
                Reply(calls=(ran("python -m shop.flags --older 30", "new_cart\nfast_images\nvat_2026", 0.8),)),
                Failure(status=500, reason="Internal server error"),
            ),
        ),
    ),
)

_FEEDS = Helper(
    task="Check the feeds",
    prompt="Fetch every feed in feeds.txt and say which do not answer.",
    call=ran("xargs -n1 curl -sI < feeds.txt | rg -c 200", "18", 7.0),
    answer="18 of 19 answer; `old.example.org` does not.",
)
SITEMAP = Tale(
    slug="gemini-sitemap",
    title="The site map forgets the newest posts",
    project="blog",
    model="gemini-2.5-pro",
    ago=timedelta(minutes=14),
    turns=(
        said(
            "The site map does not have the posts of this week.",
            "It is made before the posts are. I changed the order in the Makefile; all 412 posts are in it now.",
            Call(kind="read", target="Makefile", output="site: sitemap posts", seconds=0.1),
            edited("Makefile", "site: sitemap posts", "site: posts sitemap"),
            ran("make site && rg -c '<loc>' public/sitemap.xml", "412", 14.2),
            thinking="This week's posts alone are missing: an order of steps, not a filter.",
        ),
        Turn(
            prompt="Check our feeds as well.",
            replies=(Reply(text="I'll send somebody.", helper=_FEEDS), Reply(text="18 of 19 answer.")),
        ),
    ),
)
COMMENTS = Tale(
    slug="gemini-comments",
    title="Count comments without counting spam",
    project="blog",
    model="gemini-2.5-flash",
    ago=timedelta(hours=13, minutes=20),
    turns=(
        said(
            "How many comments did we have last month, without spam?",
            "214, and 3,902 that the filter took.",
            ran("sqlite3 comments.db 'select spam, count(*) from comments group by 1'", "0|214\n1|3902", 0.1),
        ),
    ),
)

FORMS = Tale(
    slug="cursor-forms",
    title="Address form for Japan",
    project="shop",
    branch="i18n",
    model="composer-2.5",
    ago=timedelta(minutes=22),
    turns=(
        said(
            "Japanese addresses go from large to small. Make the form follow the country.",
            "The form takes its order from `src/shop/address.py`; Japan begins with the postal code.",
            Call(kind="read", target="src/shop/address.py", output='ORDER = ["street", "city", "zip"]', seconds=0.1),
            edited("src/shop/address.py", "ORDER = [", 'ORDER = {"JP": ["zip", "prefecture", "city"], None: ['),
            thinking="One order per country, with a default; no second template.",
        ),
        said("And tests?", "Four, one per order.", ran("pytest -q tests/test_address.py", "4 passed in 0.61s", 0.9)),
    ),
)
RETRIES = Tale(
    slug="cursor-retries",
    title="Retries that do not stampede",
    project="pipeline",
    model="gpt-5.4-high",
    ago=timedelta(hours=12, minutes=15),
    turns=(
        said(
            "All workers retry in the same second. Spread them.",
            "Each waits a random part of the interval now; the peak is 9 requests instead of 240.",
            edited("pipeline/retry.py", "sleep(interval)", "sleep(random() * interval)"),
            ran("python -m pipeline.simulate --workers 240", "peak 9/s", 3.3),
        ),
    ),
)
