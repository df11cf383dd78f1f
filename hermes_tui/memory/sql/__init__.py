"""Layer 1 in SQL: SQLite files and PostgreSQL servers behind one interface."""
