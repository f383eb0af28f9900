"""Authoring: graphs and the reducers of their state."""
