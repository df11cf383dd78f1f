"""`hermes-tui lanes` and its commands."""
