"""`BaseExampleSelector`: derive from it to choose the examples of a few-shot prompt."""

from abc import abstractmethod
from typing import Any

from plait.objects.abstract import Abstract


class BaseExampleSelector(Abstract):
    """Chooses examples for an input. A subclass defines `select_examples` and `add_example`."""

    @abstractmethod
    def add_example(self, example: dict[str, str]) -> Any:
        """One more example to choose from."""

    async def aadd_example(self, example: dict[str, str]) -> Any:
        """The async twin of `add_example`."""
        return self.add_example(example)

    @abstractmethod
    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """The examples for this input."""

    async def aselect_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """The async twin of `select_examples`."""
        return self.select_examples(input_variables)


__all__ = ["BaseExampleSelector"]
