"""Two sessions side by side: what differs, and how it is told."""
