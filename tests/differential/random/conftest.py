"""Keeps pytest from collecting the stages as modules: `sides.py` loads them, once per side."""

collect_ignore_glob = ["*/stage/*"]
