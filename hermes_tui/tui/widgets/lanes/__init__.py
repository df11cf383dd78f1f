"""The gateway's lanes on the screen."""
