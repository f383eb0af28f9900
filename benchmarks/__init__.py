"""Figures: plait beside langgraph, in one process, one program text for both.

Run with ``make bench`` or ``python -m benchmarks [--quick] [--only NAME]``; look into one plait
program with ``python -m benchmarks.profile NAME``. The modules, from the bottom up:

- ``implementations``: the names a program needs, taken from one import root.
- ``measure``: the interleaving timer and the arithmetic of samples.
- ``programs``: the workloads, each written once for every implementation.
- ``stores``: those of stores, with their floors.
- ``floors``: the same calls made by plain Python, the cost nobody can beat.
- ``startup`` and ``memory``: what needs a fresh process, import cost and peak memory.
- ``report``: the verdicts, the table and the JSON file.
- ``cases``: which figures exist, with their musts, aims and numbers of rounds.
- ``suite``: measures the wanted ones.
- ``places``, ``conversations`` and ``durability``: conversations in memory, SQLite and Postgres; a
  table of their own, by ``python -m benchmarks.durability [--quick]``.
"""
