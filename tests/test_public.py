"""What is public says so: every public name exists and has a docstring; `__all__` is complete."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.differential.loading import programs, translate

import plait

HOUSE = Path(plait.__file__).parent


def front_doors() -> list[str]:
    """The modules that programs import from: the packages, and the files beside them."""
    found = [path.parent for path in HOUSE.rglob("__init__.py")]
    files = [path.with_suffix("") for path in HOUSE.glob("*.py") if path.stem != "__init__"]
    names = (path.relative_to(HOUSE.parent).parts for path in [*found, *files])
    return sorted(".".join(parts) for parts in names)


MODULES = front_doors()


def opened(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as missing:  # an extra that is not installed
        pytest.skip(str(missing))


def own_members(value: type[Any]) -> dict[str, Any]:
    """The public methods and properties that a class of plait's defines itself (of a suite of
    conformance: but for its tests, whose names say what they are about)."""
    code = (type(own_members), property, classmethod, staticmethod)
    return {
        name: member
        for name, member in vars(value).items()
        if not name.startswith(("_", "test_")) and isinstance(member, code)
    }


@pytest.mark.parametrize("name", MODULES)
def test_dir_has_every_public_name(name: str) -> None:
    module = opened(name)
    assert {*getattr(module, "__all__", ())} <= {*dir(module)}


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_exists_and_has_a_docstring(name: str) -> None:
    module = opened(name)
    assert module.__doc__
    bare: list[str] = []
    for public in getattr(module, "__all__", ()):
        value = getattr(module, public)
        if not inspect.isroutine(value) and not inspect.isclass(value):
            continue
        if not (getattr(value, "__module__", None) or "").startswith("plait"):
            continue
        if not inspect.getdoc(value):
            bare.append(public)
        if inspect.isclass(value):
            bare += [
                f"{public}.{member}"
                for member in own_members(value)
                if not inspect.getdoc(getattr(value, member))
            ]
    assert bare == []


@pytest.mark.parametrize("name", MODULES)
def test_public_aliases_are_types_and_no_texts(name: str) -> None:
    """So that programs may write `StructuredResponse | None` in annotations of their own."""
    module = opened(name)
    names = [each for each in getattr(module, "__all__", ()) if each[:1].isupper()]
    texts = [each for each in names if isinstance(getattr(module, each), str)]
    assert [each for each in texts if not each.isupper()] == []


LOOKS_INSIDE = """
import importlib, sys
for package in sys.argv[1:]:
    name, inside = package.rsplit(".", 1)
    getattr(importlib.import_module(name), inside)
"""


def test_modules_in_a_package_are_its_attributes() -> None:
    """`import langgraph.graph` is enough for `langgraph.graph.message.add_messages`."""
    modules = ["graph.message", "prebuilt.tool_node", "pregel.main", "checkpoint.base.id", "types"]
    named = [f"plait.{module}" for module in modules]
    subprocess.run([sys.executable, "-c", LOOKS_INSIDE, *named], check=True)
    with pytest.raises(AttributeError, match="no_such_module"):
        _ = plait.graph.no_such_module


def test_every_error_and_warning_is_public() -> None:
    tree = ast.parse((HOUSE / "errors.py").read_text("utf-8"))
    classes = {each.name for each in tree.body if isinstance(each, ast.ClassDef)}
    assert classes - set(plait.errors.__all__) == set()


@pytest.mark.parametrize("name", MODULES)
def test_no_module_takes_the_place_of_a_public_name(name: str) -> None:
    """Whoever imports a module of a package sets the package's attribute of that name to it."""
    package = opened(name)
    modules = {each.name for each in pkgutil.iter_modules(getattr(package, "__path__", ()))}
    for both in modules.intersection(getattr(package, "__all__", ())):
        before = getattr(package, both)
        importlib.import_module(f"{name}.{both}")
        assert getattr(package, both) is before, f"{name}.{both}"


def names_that_programs_import() -> dict[str, set[str]]:
    """The names that the differential programs import from the peers, by plait's modules."""
    found: dict[str, set[str]] = {}
    for program in programs():
        for node in ast.walk(ast.parse(program.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                module = translate(node.module)
                if module.startswith("plait"):
                    found.setdefault(module, set()).update(each.name for each in node.names)
    return found


def test_checkers_let_programs_import_what_runs() -> None:
    """What a module has only imported is private to strict checkers, unless `__all__` names it."""
    private: list[str] = []
    for module, names in names_that_programs_import().items():
        tree = ast.parse(Path(str(importlib.import_module(module).__file__)).read_text("utf-8"))
        imported = {
            each.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for each in node.names
            if each.asname != each.name
        }
        public = getattr(importlib.import_module(module), "__all__", ())
        private += [f"{module}.{name}" for name in sorted(names & imported) if name not in public]
    assert private == []
