"""Conversations as trees of `id` and `parentId`, as pi, omp and openclaw have.

The rooms: `records` an entry, `messages` what becomes of it, `file` one file, `paths` the active branch and the
others, `transcript` a branch to read and follow, `summary` what a list shows, `relations` forks and helpers, `live`
running processes, `adapter` what the agents share.
"""
