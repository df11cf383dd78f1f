"""What tests need to know before a fixture can tell: where the sample stores are, how long to wait."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PATIENCE", "REPOSITORY", "STORES"]

REPOSITORY = Path(__file__).parents[2]

STORES = REPOSITORY / "tests" / "stores"
"""One folder per agent: what real programs wrote, with its FACTS.md and the expected figures."""

PATIENCE = 60.0
"""Seconds to wait for what must come: only a test that fails waits so long, however busy the machine is."""
