"""Chat loaders: what reads conversations from exports of other programs."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from plait.chat_sessions import ChatSession


class BaseChatLoader(ABC):
    """Derive from it and define `lazy_load`."""

    @abstractmethod
    def lazy_load(self) -> Iterator[ChatSession]:
        """One conversation after the other."""

    def load(self) -> list[ChatSession]:
        """All conversations."""
        return list(self.lazy_load())


__all__ = ["BaseChatLoader"]
