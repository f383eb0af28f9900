"""`BaseExampleSelector`: derive from it to choose the examples of a few-shot prompt."""

from typing import Any


class BaseExampleSelector:
    """Chooses examples for an input. A subclass defines `select_examples` and `add_example`."""

    def add_example(self, example: dict[str, str]) -> Any:
        """One more example to choose from."""
        raise NotImplementedError(f"{type(self).__name__} must define add_example().")

    async def aadd_example(self, example: dict[str, str]) -> Any:
        """The async twin of `add_example`."""
        return self.add_example(example)

    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """The examples for this input."""
        raise NotImplementedError(f"{type(self).__name__} must define select_examples().")

    async def aselect_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """The async twin of `select_examples`."""
        return self.select_examples(input_variables)


__all__ = ["BaseExampleSelector"]
