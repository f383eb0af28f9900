"""Stores: long-term memory that all threads share (`base`), in memory and in a SQLite file."""
