"""What needs a person now, how that is known, and what a person has seen."""
