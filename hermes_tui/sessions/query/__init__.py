"""The search grammar, one for the search box, the command line and the library.

`query.parse` understands whatever is typed (`grammar`). `Query.finds` says by itself, without any index, whether a
session with certain messages is found: every faster way must agree with it.
"""
