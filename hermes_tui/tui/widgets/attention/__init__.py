"""What needs a person, on the screen."""
