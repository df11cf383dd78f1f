"""What the program remembers from one run to the next, in files of the user's state directory."""
