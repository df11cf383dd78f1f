"""Files that are appended to: what was read of them is not read again."""
