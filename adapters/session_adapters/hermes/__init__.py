"""Hermes (spec 000, spec 004 §4.2.10; facts: hermes.md 1, 2 and 4.4).

The rooms: `records` the rows, `session_queries` and `message_queries` the SQL that asks for them, `lineage` how
sessions hang together, `summaries` and `messages` what becomes of it, `transcript` a conversation to follow,
`old_transcripts` the files from before the database, `adapter` the whole.
"""
