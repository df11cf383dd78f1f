"""OpenCode (spec 004 §4.2.6; facts: stores/opencode FACTS.md).

The rooms: `records` what OpenCode writes, `messages`, `entries` and `document` how a message of 1.x, of 2.x and of
the document becomes ours, `units` what all layouts have in common, `tables` the databases, `trees` the files from
before them, `summary` what a list shows, `transcript` a conversation to follow, `native` commands and processes,
`adapter` the whole.
"""
