"""What all adapters over SQLite stand on: the connection, the schema's migrations, a worker thread.

One file may hold threads, items and caches at once: each adapter brings migrations of its own, and
each has a number of its own in the file.
"""

from plait.sqlite.database import WAL_PAGES, Database, Synchronous, fetch
from plait.sqlite.schema import Schema, Statements
from plait.sqlite.transactions import in_transaction
from plait.sqlite.worker import Worker

__all__ = [
    "WAL_PAGES",
    "Database",
    "Schema",
    "Statements",
    "Synchronous",
    "Worker",
    "fetch",
    "in_transaction",
]
