"""All edits of a session as one diff by file."""
