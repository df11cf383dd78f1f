"""Asking the search index."""
