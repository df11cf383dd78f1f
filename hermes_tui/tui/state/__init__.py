"""What the program remembers from one run to the next."""
