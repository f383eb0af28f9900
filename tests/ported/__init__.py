"""Packages of third parties, run with their import roots changed (see `__main__`)."""
