"""Where threads live: the saver ports (`base`), bytes (`serde`), the log, and the savers."""
