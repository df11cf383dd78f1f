"""Conversations as trees of `id` and `parentId`, as pi, omp and openclaw have.

The rooms: `records` an entry, `messages` what becomes of it, `builder` many of them, `file` one file, `paths` the
active branch and the others, `transcript` a branch to read and follow, `follower` its texts for a search, `ends` and
`summary` what a list shows, `live` running processes, `adapter` what the agents share.
"""
