"""The chats of Cursor's command line."""
