"""What the demo's people do with Codex and OpenCode."""

from __future__ import annotations

from datetime import timedelta

from hermes_tui.demo.story import Call, Compaction, Failure, Helper, Reply, Tale, Turn, edited, number, ran, said

__all__ = [
    "ALT_TEXTS",
    "CHECKOUT",
    "CHECKOUT_FORK",
    "MIGRATION",
    "PAGINATION",
    "SEARCH",
    "VAT",
]

_GPT = "gpt-5.5"

CHECKOUT = Tale(
    slug="codex-checkout",
    title="Checkout in one page",
    project="shop",
    branch="one-page",
    model=_GPT,
    ago=timedelta(minutes=4),
    turns=(
        said(
            "Put the three pages of the checkout into one. Keep the URLs of the old ones alive.",
            "`/checkout` shows address, delivery and payment on one page; the three old URLs lead to its parts.",
            Call(
                kind="read", target="src/shop/checkout.py", output="STEPS = (address, delivery, payment)", seconds=0.1
            ),
            edited("src/shop/checkout.py", "return STEPS[index](request)", "return page(request, STEPS)"),
            ran("pytest -q tests/test_checkout.py", "2 failed, 61 passed in 5.02s", 5.4, failed=True),
            thinking="Three steps, each a function already. One page that calls them in turn is enough.",
            opening="I'll look at how the steps are held together.",
        ),
        said(
            "Two tests fail.",
            "They asked for the old titles. All 63 pass.",
            edited("tests/test_checkout.py", '"Step 1 of 3"', '"Checkout"'),
            ran("pytest -q tests/test_checkout.py", "63 passed in 4.88s", 5.1),
        ),
        said(
            "Does it work without JavaScript?",
            "Yes: it is one form. Without scripts the delivery cost shows after the first submit.",
            ran("curl -s localhost:8000/checkout | rg -c '<form'", "1", 0.3),
        ),
    ),
)
CHECKOUT_FORK = Tale(
    slug="codex-checkout-fork",
    title="",
    project="shop",
    branch="one-page",
    model=_GPT,
    ago=timedelta(minutes=5, seconds=40),
    turns=(
        said(
            "Try it as two pages: address and delivery together, payment alone.",
            "Two pages. The bank's frame has the second one for itself, which their guide asks for.",
            edited(
                "src/shop/checkout.py", "page(request, STEPS)", "page(request, STEPS[:2] if first else STEPS[2:])"
            ),
        ),
    ),
)

_MODULES = ("address", "basket", "catalogue", "coupon", "currency", "delivery", "invoice", "mail", "order", "payment")


def _typing() -> tuple[Turn, ...]:
    """Four passes over ten modules, and a compaction after the second."""
    turns: list[Turn] = []
    for step in range(4):
        for module in _MODULES:
            errors = number(1, 14, "typing", module, step)
            check = ran(f"mypy --strict src/shop/{module}.py", f"Found {errors} errors in 1 file", 3.1, failed=True)
            fix = edited(f"src/shop/{module}.py", "def total(self):", "def total(self) -> Money:")
            prompt = f"Make `{module}` pass the strict type check." if not step else f"`{module}` again, next rule."
            turns.append(said(prompt, f"`{module}`: {errors} errors fixed, none ignored.", check, fix))
        if step == 1:
            summary = (
                "Make src/shop pass mypy --strict, module by module, without ignores. Two of four rules are done."
            )
            asked = "Two rules are left: go on with the third."
            turns.append(Turn(prompt=asked, replies=(Compaction(summary=summary), Reply(text="Going on."))))
    return tuple(turns)


MIGRATION = Tale(
    slug="codex-typing",
    title="Strict types for the shop",
    project="shop",
    branch="types",
    model=_GPT,
    ago=timedelta(hours=8, minutes=20),
    turns=_typing(),
)
_INDEXES = Helper(
    task="Find missing indexes",
    prompt="Which queries in src/shop/search.py have no index? Read only; answer with a list.",
    call=ran("rg -n 'filter\\(' src/shop/search.py", "41: filter(name)\n77: filter(brand)", 0.2),
    answer="Two: by name (line 41) and by brand (line 77).",
)
SEARCH = Tale(
    slug="codex-search",
    title="Search takes four seconds",
    project="shop",
    model="gpt-5.4",
    ago=timedelta(hours=3, minutes=2),
    turns=(
        Turn(
            prompt="Search takes four seconds. Let a helper look at the indexes while you profile.",
            replies=(
                Reply(
                    text="The helper reads; I measure.",
                    calls=(
                        ran("python -m cProfile -s tottime -m shop.search shoes | head -4", "3.61 s in like()", 4.4),
                    ),
                    helper=_INDEXES,
                ),
                Reply(text="3.6 of the 4 seconds are one `LIKE '%shoes%'`. A trigram index would make it 20 ms."),
            ),
        ),
        Turn(
            prompt="Add it.",
            replies=(
                Reply(calls=(ran("psql -f migrations/0041_trigram.sql", "CREATE INDEX", 61.0),)),
                Failure(status=503, reason="The server is overloaded"),
            ),
        ),
    ),
)

_RATES = Helper(
    task="List the rates in use",
    prompt="Which VAT rates stand in the code and in the database? List them with places.",
    call=ran("rg -n '0\\.(19|07|20|25)' src", "src/shop/tax.py:8: 0.19\nsrc/shop/tax.py:9: 0.07", 0.3),
    answer="0.19 and 0.07 in `src/shop/tax.py`; the table `rates` has 27 countries and nobody reads it.",
)
VAT = Tale(
    slug="opencode-vat",
    title="VAT by country instead of by constant",
    project="shop",
    branch="vat",
    ago=timedelta(minutes=26),
    turns=(
        Turn(
            prompt="VAT is a constant in the code. Take it from the table `rates`. What would that change?",
            replies=(
                Reply(
                    thinking="First what is there: constants in the code, rows in the table.",
                    text="I let a helper list the rates and count the orders that would differ.",
                    calls=(ran("python -m shop.audit --vat", "88,120 orders, 412 differ", 9.1),),
                    helper=_RATES,
                ),
                Reply(text="412 of 88,120 orders, all to Finland: 25.5 % since September instead of 24 %."),
            ),
        ),
        said(
            "Do it, from the next order on.",
            "`tax.py` reads the table now; old orders keep what they were billed.",
            edited("src/shop/tax.py", "RATE = 0.19", "def rate(country, day):\n    return rates.at(country, day)"),
            ran("pytest -q tests/test_tax.py", "27 passed in 1.02s", 1.4),
        ),
    ),
)
ALT_TEXTS = Tale(
    slug="opencode-alt",
    title="Descriptions for 37 pictures",
    project="blog",
    ago=timedelta(hours=6, minutes=44),
    turns=(
        said(
            "Write descriptions for the pictures that have none. One sentence each, what is to be seen.",
            "37 descriptions; five are marked for you, because I cannot tell who is in them.",
            Call(kind="read", target="content/2026/spring.md", output="![](spring.jpg)", seconds=0.1),
            edited("content/2026/spring.md", "![](spring.jpg)", "![Cherry blossom over the canal](spring.jpg)"),
        ),
        Turn(
            prompt="The same for the archive.",
            replies=(
                Compaction(
                    summary="37 pictures have descriptions, five wait for a human. Next: the archive, 140 pictures."
                ),
                Reply(text="140 pictures in the archive; I'll go year by year, newest first."),
            ),
        ),
    ),
)
PAGINATION = Tale(
    slug="opencode-pages",
    title="The archive's second page is empty",
    project="blog",
    model="claude-haiku-4-5",
    ago=timedelta(days=1, hours=3),
    turns=(
        Turn(
            prompt="The second page of the archive is empty.",
            replies=(
                Reply(calls=(ran("curl -s localhost:4000/archive/2/ | wc -c", "0", 0.2),)),
                Failure(status=429, reason="Rate limit reached"),
            ),
        ),
    ),
)
