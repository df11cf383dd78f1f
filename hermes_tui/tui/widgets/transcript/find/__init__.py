"""What is looked for in a transcript, and how it is reached.

The rooms: `find_bar` where it is typed, `typed_find` what is typed there, `session_find` how often it is in the
session, `finder` the way to it, `target` what that is, `part_search` the parts that are not loaded, `match_highlight`
the matches.
"""
