"""What a list shows of a Copilot session."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from session_adapters.fold import SessionFold
from session_adapters.model import EPOCH
from session_adapters.text import one_line

__all__ = ["summary_fields"]


def summary_fields(fold: SessionFold, title: str, created: datetime | None) -> dict[str, Any]:
    """Fields of a `SessionSummary`. `title`: the one the session was given, if any."""
    made = created or fold.oldest or EPOCH
    return {
        **fold.fields(),
        "agent": "copilot",
        "title": one_line(title) or one_line(fold.prompt),
        "preview": one_line(fold.prompt, 200),
        "created_at": made,
        "updated_at": fold.newest or made,
    }
