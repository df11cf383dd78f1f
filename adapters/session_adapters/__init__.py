"""Read the session stores of AI agents, truly read-only.

One module per agent; `model` holds the types they all speak, `base` what an adapter is, `registry` which ones
exist. Nothing here knows of screens, indexes, configuration or of changing a store.
"""
