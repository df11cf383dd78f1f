"""What an agent still sees of a conversation, after compaction or by a window.

Format: spec 001.
"""
