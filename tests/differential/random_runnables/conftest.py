"""Keeps pytest from collecting the preludes as modules: `running.py` loads them, once per side."""

collect_ignore = ["prelude.py", "telling.py"]
