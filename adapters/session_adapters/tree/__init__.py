"""Conversations that are trees of entries with `id` and `parentId`, as pi, omp and openclaw write them.

The rooms: `records` an entry, `messages` what becomes of it, `file` one file, `paths` the active branch and the
others, `transcript` a branch to read and follow, `summary` what a list shows, `relations` forks and helpers, `live`
running processes, `adapter` what the agents share.
"""
