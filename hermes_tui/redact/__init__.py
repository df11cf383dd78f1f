"""Masking of secrets in texts (`--redact`)."""

from __future__ import annotations

from hermes_tui.redact.pattern import Pattern
from hermes_tui.redact.redactor import Redactor, patterns

__all__ = ["Pattern", "Redactor", "patterns"]
