"""The catalogue of all sessions and the facade over it, without a screen."""
