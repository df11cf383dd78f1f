"""The search index: words of every message, in one SQLite cache file.

A cache, never a truth: it can be deleted at any time, is made anew when it is damaged or of another form, and what it
does not cover is searched in the stores themselves. It holds words and places, not the texts.
"""
