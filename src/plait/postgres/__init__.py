"""What all adapters over Postgres stand on: connections, steps of SQL, the schema's migrations.

One database may hold threads and items at once: each adapter brings migrations of its own, and each
has a number of its own in the table `plait_schema_versions`.
"""

from plait.errors import MissingExtraError

try:
    import psycopg
    import psycopg_pool
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError as error:
    raise MissingExtraError(
        "Threads and items in Postgres need psycopg 3. Install it: pip install 'plait[postgres]'"
    ) from error

from plait.postgres.arrays import bool_array, bytes_array, float_array, int_array, text_array
from plait.postgres.database import Database, Target
from plait.postgres.schema import Schema
from plait.postgres.steps import Query, Steps, from_text, to_text

__all__ = [
    "Database",
    "Query",
    "Schema",
    "Steps",
    "Target",
    "bool_array",
    "bytes_array",
    "conninfo_to_dict",
    "float_array",
    "from_text",
    "int_array",
    "make_conninfo",
    "psycopg",
    "psycopg_pool",
    "text_array",
    "to_text",
]
