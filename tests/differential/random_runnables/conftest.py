"""Keeps pytest from collecting the prelude as a module: `running.py` loads it, once per side."""

collect_ignore = ["prelude.py"]
