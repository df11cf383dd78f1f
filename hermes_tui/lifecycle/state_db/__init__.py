"""Hermes' `state.db`, to be written: sessions, messages, titles, search.

Format: spec 000.
"""
