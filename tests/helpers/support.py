"""Where the sample stores are, for tests that need to know before a fixture can tell."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["REPOSITORY", "SHARED", "STORES"]

REPOSITORY = Path(__file__).parents[2]

SHARED = Path(os.environ.get("HERMES_TUI_SHARED") or REPOSITORY.parent / "shared")
"""The folder with the sample stores, beside the checkout."""

STORES = SHARED / "stores"
