"""The databases of Cursor's editor."""
