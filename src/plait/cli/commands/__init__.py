"""The commands: each file has its click command (or group of commands) under the name `command`."""
