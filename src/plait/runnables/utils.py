"""The names of `langchain_core.runnables.utils`, for programs that import them from there."""

from plait.runnables.addable import AddableDict, aadd, add
from plait.runnables.base import Input, Output
from plait.runnables.fields import (
    AnyConfigurableField,
    ConfigurableField,
    ConfigurableFieldMultiOption,
    ConfigurableFieldSingleOption,
    ConfigurableFieldSpec,
    get_unique_config_specs,
)

__all__ = [
    "AddableDict",
    "AnyConfigurableField",
    "ConfigurableField",
    "ConfigurableFieldMultiOption",
    "ConfigurableFieldSingleOption",
    "ConfigurableFieldSpec",
    "Input",
    "Output",
    "aadd",
    "add",
    "get_unique_config_specs",
]
