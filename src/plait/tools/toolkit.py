"""`BaseToolkit`: tools that belong together."""

from abc import ABC, abstractmethod

from plait.fields import AnnotatedFields
from plait.tools.base import BaseTool


class BaseToolkit(AnnotatedFields, ABC):
    """Tools that share something, such as a connection. Derive from it and define `get_tools`."""

    @abstractmethod
    def get_tools(self) -> list[BaseTool]:
        """The tools."""
