"""The list of all sessions: kept in memory and in a cache file."""
