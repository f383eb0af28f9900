"""Caches of nodes' results: the port (`base`), in memory, in a SQLite file, in Redis."""
