"""What the demo's people do with Codex, Gemini, Copilot, Cursor and OpenCode."""

from __future__ import annotations

from datetime import timedelta

from hermes_tui.demo.story import Call, Compaction, Failure, Helper, Reply, Tale, Turn, edited, number, ran, said

__all__ = [
    "CHECKOUT",
    "CHECKOUT_FORK",
    "MIGRATION",
    "SEARCH",
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
