"""Hector: sessions in SQLite or PostgreSQL, in four generations of tables.

Format: spec 001; facts stores/hector FACTS.md.

The rooms: `records` what Hector writes, `messages` how a row becomes messages, `ids` the composite ids, `layout` what
all generations have in common, `conversations` the tables of v0, v1 and the guide, `events` those of v2, `reader` how
a database is asked and `postgres` how a server is, `configuration` where to look, `counts` what a session comes to,
`recount` the same again, `summary` what a list shows, `transcript` a conversation to follow, `adapter` the whole.
"""
