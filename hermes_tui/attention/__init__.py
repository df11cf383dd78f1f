"""What needs a person now, and how that is known."""
