"""The parts of the screens. They know the types of the sessions, and no adapter."""
