"""The list of conversations and of search results."""
