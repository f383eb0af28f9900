"""Small tools that any part may use: they know nothing of graphs."""
