"""Stores: long-term memory that all threads share (`base`), in memory, SQLite and Postgres."""
