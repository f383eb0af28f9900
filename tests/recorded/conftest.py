"""Keeps pytest from collecting the programs as modules: `test_recorded.py` runs them."""

collect_ignore_glob = ["programs/*"]
