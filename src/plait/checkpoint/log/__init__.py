"""The log: what all savers of ours share. A saver itself is a dumb store of rows.

- `requests`: the vocabulary that a row store executes; `keys`: ids as stored.
- `records`: what the bytes of a row mean, with their final kinds.
- `versions`: a channel's versions as differences, their writing and their reading.
- `stamps`: how a change of a mutable value is noticed; `splices`: how two lists differ.
- `claims`: who owns a thread; `heartbeat`: how a claim stays alive.
- `session`: the native port; `peer`: LangGraph's port; `retention`: prune, copy, delete.
- `saver`: `NativeSaver`, the base of every saver of ours.
"""

from plait.checkpoint.log.saver import NativeSaver

__all__ = ["NativeSaver"]
