"""The programs here are data of a test, and no modules with examples."""

collect_ignore_glob = ["right/*", "wrong.py"]
