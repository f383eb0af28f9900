"""What every manager keeps: handlers, tags and metadata, for the next run and for its children."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, TypeAlias, cast
from uuid import UUID

from plait.common.ids import new_id
from plait.common.lazy import lazily


class BaseCallbackManager:
    """Handlers, tags and metadata: those of the next run, and those that its children inherit.

    Args:
        handlers: Who hears the next run.
        inheritable_handlers: Who hears its children too.
        parent_run_id: The run inside which the next one starts.
        tags: The tags of the next run; `inheritable_tags` go on to its children.
        metadata: The metadata of the next run; `inheritable_metadata` goes on to its children.
    """

    is_async: bool = False

    def __init__(
        self,
        handlers: Sequence[Any],
        inheritable_handlers: Sequence[Any] | None = None,
        parent_run_id: UUID | None = None,
        *,
        tags: list[str] | None = None,
        inheritable_tags: list[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        inheritable_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.handlers = list(handlers)
        self.inheritable_handlers = list(inheritable_handlers or ())
        self.parent_run_id = parent_run_id
        self.tags = list(tags or ())
        self.inheritable_tags = list(inheritable_tags or ())
        self.metadata = dict(metadata or {})
        self.inheritable_metadata = dict(inheritable_metadata or {})

    @classmethod
    def adopt(cls, callbacks: Any) -> Self:
        """A new manager from what a config may hold: None, handlers, or any manager.

        A manager of another class, langchain_core's too, is read by its attributes.
        """
        if callbacks is None:
            return cls([])
        if isinstance(callbacks, (list, tuple)):
            handlers = cast("Sequence[Any]", callbacks)
            return cls(handlers, handlers)
        return cls(
            callbacks.handlers,
            callbacks.inheritable_handlers,
            callbacks.parent_run_id,
            tags=callbacks.tags,
            inheritable_tags=callbacks.inheritable_tags,
            metadata=callbacks.metadata,
            inheritable_metadata=callbacks.inheritable_metadata,
        )

    @classmethod
    def configure(
        cls,
        inheritable_callbacks: Any = None,
        local_callbacks: Any = None,
        verbose: bool = False,
        inheritable_tags: list[str] | None = None,
        local_tags: list[str] | None = None,
        inheritable_metadata: Mapping[str, Any] | None = None,
        local_metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """A manager of what is inherited (from the config) and what is local (of one object).

        With `verbose`, one that prints (`StdOutCallbackHandler`) is among the handlers.
        """
        manager = cls.adopt(inheritable_callbacks)
        if local_callbacks is not None:
            for handler in getattr(local_callbacks, "handlers", local_callbacks):
                manager.add_handler(handler, inherit=False)
        if verbose:
            from plait.callbacks.printing import StdOutCallbackHandler  # few programs print

            if not any(isinstance(handler, StdOutCallbackHandler) for handler in manager.handlers):
                manager.add_handler(StdOutCallbackHandler(), inherit=False)
        manager.add_tags(inheritable_tags or [])
        manager.add_tags(local_tags or [], inherit=False)
        manager.add_metadata(inheritable_metadata or {})
        manager.add_metadata(local_metadata or {}, inherit=False)
        return manager

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> Self:
        """The manager of runs that start under `config`."""
        return cls.configure(
            config.get("callbacks"),
            inheritable_tags=config.get("tags"),
            inheritable_metadata=config.get("metadata"),
        )

    def copy(self) -> Self:
        """A manager with the same handlers, tags and metadata in containers of its own."""
        return type(self).adopt(self)

    def merge(self, other: "BaseCallbackManager") -> Self:
        """A manager with what both have; where they disagree on metadata, `other` wins."""
        merged = self.copy()
        merged.parent_run_id = self.parent_run_id or other.parent_run_id
        for handler in other.handlers:
            merged.add_handler(handler, inherit=False)
        _add_missing(merged.inheritable_handlers, other.inheritable_handlers)
        _add_missing(merged.tags, other.tags)
        _add_missing(merged.inheritable_tags, other.inheritable_tags)
        merged.metadata.update(other.metadata)
        merged.inheritable_metadata.update(other.inheritable_metadata)
        return merged

    def add_handler(self, handler: Any, inherit: bool = True) -> None:
        """Let `handler` hear too, once however often it is added."""
        _add_missing(self.handlers, (handler,))
        if inherit:
            _add_missing(self.inheritable_handlers, (handler,))

    def remove_handler(self, handler: Any) -> None:
        """Let `handler` hear no more."""
        _remove(self.handlers, (handler,))
        _remove(self.inheritable_handlers, (handler,))

    def set_handlers(self, handlers: Iterable[Any], inherit: bool = True) -> None:
        """Replace all handlers."""
        self.handlers = []
        self.inheritable_handlers = []
        for handler in handlers:
            self.add_handler(handler, inherit=inherit)

    def set_handler(self, handler: Any, inherit: bool = True) -> None:
        """Replace all handlers by one."""
        self.set_handlers([handler], inherit=inherit)

    def add_tags(self, tags: list[str], inherit: bool = True) -> None:
        """Add tags at the end; one that is there already moves there."""
        _remove(self.tags, tags)
        self.tags.extend(tags)
        if inherit:
            _remove(self.inheritable_tags, tags)
            self.inheritable_tags.extend(tags)

    def remove_tags(self, tags: list[str]) -> None:
        """Take tags away."""
        _remove(self.tags, tags)
        _remove(self.inheritable_tags, tags)

    def add_metadata(self, metadata: Mapping[str, Any], inherit: bool = True) -> None:
        """Add metadata; new values win."""
        self.metadata.update(metadata)
        if inherit:
            self.inheritable_metadata.update(metadata)

    def remove_metadata(self, keys: list[str]) -> None:
        """Take metadata away."""
        for key in keys:
            self.metadata.pop(key, None)
            self.inheritable_metadata.pop(key, None)

    def run_fields(self, run_id: UUID | None) -> dict[str, Any]:
        """What the manager of a new run is made from; a run without an id gets a new one."""
        return {
            "run_id": UUID(new_id()) if run_id is None else run_id,
            "handlers": self.handlers,
            "inheritable_handlers": self.inheritable_handlers,
            "parent_run_id": self.parent_run_id,
            "tags": self.tags,
            "inheritable_tags": self.inheritable_tags,
            "metadata": self.metadata,
            "inheritable_metadata": self.inheritable_metadata,
        }


Callbacks: TypeAlias = list[Any] | BaseCallbackManager | None
"""What `config["callbacks"]` may hold: handlers, or a manager."""


def _add_missing(items: list[Any], more: Iterable[Any]) -> None:
    items.extend(item for item in dict.fromkeys(more) if item not in items)


def _remove(items: list[Any], gone: Iterable[Any]) -> None:
    for item in gone:
        if item in items:
            items.remove(item)


# The peer's paths of them.
_HANDLERS = ("AsyncCallbackHandler", "BaseCallbackHandler")
_MIXINS = (
    "CallbackManagerMixin",
    "ChainManagerMixin",
    "LLMManagerMixin",
    "RetrieverManagerMixin",
    "RunManagerMixin",
    "ToolManagerMixin",
)
_HOMES: dict[str, str] = {
    **dict.fromkeys(_HANDLERS, "plait.callbacks.handlers"),
    **dict.fromkeys(_MIXINS, "plait.callbacks.mixins"),
}
__getattr__ = lazily(__name__, _HOMES)
