"""The demo's other recent conversations: a shop, a blog and a data pipeline."""

from __future__ import annotations

from datetime import timedelta

from hermes_tui.demo.story import Call, Failure, Reply, Tale, Turn

__all__ = ["OTHERS"]

_PARTITIONS = "\n".join(
    f"2026-11-{day:02d}  events_p{hour:02d}  {(day * 7919 + hour * 104729) % 90000 + 10000:>6} rows  ok"
    for day in range(1, 16)
    for hour in range(24)
)

OTHERS: tuple[Tale, ...] = (
    Tale(
        slug="nightly-loader",
        title="Nightly loader skips the last partition",
        project="pipeline",
        branch="loader",
        model="claude-opus-4-6",
        ago=timedelta(hours=1, minutes=4),
        turns=(
            Turn(
                prompt="The nightly loader skipped a partition again. Which one, and why?",
                replies=(
                    Reply(
                        thinking="List the partitions first, then read the range the loader asks for.",
                        calls=(
                            Call(
                                kind="shell", target="python -m pipeline.partitions", output=_PARTITIONS, seconds=2.7
                            ),
                            Call(
                                kind="shell",
                                target="psql -c 'select max(hour) from loaded'",
                                output="psql: error: connection to server on socket failed: No such file",
                                failed=True,
                                seconds=0.2,
                            ),
                        ),
                    ),
                    Reply(
                        text="`events_p23` of every day. The loader asks for `range(first, last)`, which leaves out "
                        "the last one:\n\n- the start is inclusive\n- the end is not\n\n"
                        "Shall I change the call or the helper?"
                    ),
                ),
            ),
            Turn(
                prompt="The call. And load the missing ones.",
                replies=(
                    Reply(
                        calls=(
                            Call(
                                kind="edit",
                                target="pipeline/loader.py",
                                before="for hour in range(first, last):",
                                after="for hour in range(first, last + 1):",
                            ),
                            Call(
                                kind="shell",
                                target="python -m pipeline.load --only p23",
                                output="15 partitions, 761,204 rows",
                                seconds=88.1,
                            ),
                        ),
                    ),
                    Reply(text="Done: 15 partitions, 761,204 rows."),
                ),
            ),
        ),
    ),
    Tale(
        slug="receipts-ja",
        title="領収書の文字化けを直す 🧾",
        project="shop",
        branch="i18n",
        ago=timedelta(hours=3, minutes=20),
        turns=(
            Turn(
                prompt="領収書のPDFで「髙島屋」の「髙」が□になります。直してください。",
                replies=(
                    Reply(
                        text="フォントに「髙」(U+9AD9) が含まれていません。Noto Sans JP に替えます。",
                        calls=(
                            Call(
                                kind="edit",
                                target="src/shop/receipt.py",
                                before='FONT = "IPAGothic"',
                                after='FONT = "Noto Sans JP"',
                            ),
                        ),
                    ),
                    Reply(text="直りました。絵文字 👩‍👩‍👧 と결제も確認済みです。"),
                ),
            ),
        ),
    ),
    Tale(
        slug="cent",
        title="Coupon totals are wrong by one cent",
        project="shop",
        branch="feature/coupon",
        ago=timedelta(hours=5),
        turns=(
            Turn(
                prompt="With the coupon AUTUMN15 some totals are a cent too high. Only with three items or more.",
                replies=(
                    Reply(
                        thinking="Rounding per line instead of once per order.",
                        text="Each line is rounded on its own. I'd round once, at the end; that changes invoices, so "
                        "first the numbers.",
                        calls=(
                            Call(
                                kind="shell",
                                target="python -m shop.audit --coupon AUTUMN15",
                                output="1,204 orders, 311 differ, all by 0.01",
                                seconds=6.5,
                            ),
                        ),
                    ),
                    Failure(status=529, reason="Overloaded"),
                ),
            ),
        ),
    ),
    Tale(
        slug="release-notes",
        title="Write the release notes for 2.4",
        project="blog",
        ago=timedelta(days=1, hours=2),
        turns=(
            Turn(
                prompt="Write the release notes for 2.4 from the merged pull requests. Plain words, no marketing.",
                replies=(
                    Reply(
                        calls=(
                            Call(
                                kind="shell",
                                target="git log --oneline v2.3..v2.4",
                                output="9f2c1aa Sessions live as long as the settings say\n"
                                "1b77e02 Load the last partition too\n"
                                "c0ffee1 Round totals once\n4d10b8e Receipts know every kanji",
                                seconds=0.1,
                            ),
                        ),
                    ),
                    Reply(
                        text="# 2.4\n\n1. Sessions live as long as `SHOP_SESSION_LIFETIME` says.\n"
                        "2. The nightly loader takes the last partition too.\n3. Totals are rounded once per order.\n"
                        "4. Receipts print every kanji.\n\n> Upgrade notes: none."
                    ),
                ),
            ),
        ),
    ),
    Tale(
        slug="which-model",
        title="Compare two drafts of the about page",
        project="blog",
        model="claude-haiku-4-5",
        ago=timedelta(days=2, hours=6),
        turns=(
            Turn(
                prompt="Which of the two drafts in drafts/ reads better to somebody who has never heard of us?",
                replies=(
                    Reply(
                        calls=(
                            Call(kind="shell", target="wc -w drafts/*.md", output="212 drafts/a.md\n488 drafts/b.md"),
                        )
                    ),
                    Reply(
                        text="Draft A: it says what you do in its first sentence. B needs three paragraphs for that."
                    ),
                ),
            ),
        ),
    ),
)
