"""`hermes-tui hermes` and its commands."""
