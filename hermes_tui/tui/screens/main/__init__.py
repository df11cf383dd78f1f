"""The main screen and its parts."""
