"""The version of plait that is installed."""

from importlib.metadata import version

__version__ = version("plait")

__all__ = ["__version__"]
