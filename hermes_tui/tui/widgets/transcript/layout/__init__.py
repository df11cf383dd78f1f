"""Messages of a transcript laid out as rows of text."""
