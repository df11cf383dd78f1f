"""Where the sample stores are, for tests that need to know before a fixture can tell."""

from __future__ import annotations

from pathlib import Path

__all__ = ["REPOSITORY", "STORES"]

REPOSITORY = Path(__file__).parents[2]

STORES = REPOSITORY / "tests" / "stores"
"""One folder per agent: what real programs wrote, with its FACTS.md and the expected figures."""
