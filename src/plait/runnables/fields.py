"""What can be configured: the fields that a program declares, and the specs that tell of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from plait.runnables.base import Runnable


class ConfigurableField(NamedTuple):
    """A field that an entry of `configurable` changes."""

    id: str
    """The key in `configurable`."""
    name: str | None = None
    description: str | None = None
    annotation: Any = None
    is_shared: bool = False
    """Alternatives with `prefix_keys` leave the key as it is."""

    def __hash__(self) -> int:
        return hash((self.id, self.annotation))


class ConfigurableFieldSingleOption(NamedTuple):
    """A field whose value is one of named ones."""

    id: str
    options: Mapping[str, Any]
    """Name to value."""
    default: str
    name: str | None = None
    description: str | None = None
    is_shared: bool = False

    def __hash__(self) -> int:
        return hash((self.id, tuple(self.options), self.default))


class ConfigurableFieldMultiOption(NamedTuple):
    """A field whose value is a list of named ones."""

    id: str
    options: Mapping[str, Any]
    """Name to value."""
    default: Sequence[str]
    name: str | None = None
    description: str | None = None
    is_shared: bool = False

    def __hash__(self) -> int:
        return hash((self.id, tuple(self.options), tuple(self.default)))


AnyConfigurableField = (
    ConfigurableField | ConfigurableFieldSingleOption | ConfigurableFieldMultiOption
)


class ConfigurableFieldSpec(NamedTuple):
    """One entry of `configurable` that a runnable takes."""

    id: str
    annotation: Any
    name: str | None = None
    description: str | None = None
    default: Any = None
    is_shared: bool = False
    dependencies: list[str] | None = None
    """Entries that must be given, too."""


def get_unique_config_specs(specs: Iterable[ConfigurableFieldSpec]) -> list[ConfigurableFieldSpec]:
    """The specs by id, each once.

    Raises:
        ValueError: Two of one id differ.
    """
    unique: dict[str, ConfigurableFieldSpec] = {}
    for spec in specs:
        known = unique.setdefault(spec.id, spec)
        if known != spec:
            raise ValueError(
                f"The key {spec.id!r} of `configurable` is declared twice, differently: "
                f"{known} and {spec}. Give one of them another id."
            )
    return [unique[key] for key in sorted(unique)]


def specs_of(runnables: "Iterable[Runnable[Any, Any]]") -> list[ConfigurableFieldSpec]:
    """What can be configured in any of the runnables."""
    return get_unique_config_specs(spec for runnable in runnables for spec in runnable.config_specs)
