"""Threads of LangGraph become plait's: read from its own databases as data, written anew.

`import_langgraph` moves what LangGraph's SQLite and Postgres savers have stored. The bytes are
decoded against a closed table of types: nothing that they name is imported or called.

- `rows`: what a database of LangGraph's holds, whichever it is; `sqlite`, `postgres` read it.
- `values`, `pickles`, `known`: its bytes, and the objects in them.
- `places`: ids and namespaces, there and here.
- `threads`: a thread's checkpoints and pending work, as plait's.
- `again`: what is new of a thread that was imported before.
- `moving`: writing them, and the report.
"""

from plait.importing.moving import ImportedThread, ImportReport, Size, import_langgraph

__all__ = ["ImportReport", "ImportedThread", "Size", "import_langgraph"]
