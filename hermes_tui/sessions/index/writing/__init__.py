"""The one process that brings the search index up to date."""
