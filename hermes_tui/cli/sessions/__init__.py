"""`hermes-tui sessions` and its commands."""
