"""Searching while somebody types."""
