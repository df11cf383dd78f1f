"""The connection to `state.db`: who may write, and what the tables are."""
