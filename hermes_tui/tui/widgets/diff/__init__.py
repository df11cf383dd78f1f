"""The comparison of two sessions on the screen."""
