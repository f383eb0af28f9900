"""The peer's module paths of small helpers; each module says what it owns."""
