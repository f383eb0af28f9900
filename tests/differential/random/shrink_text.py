"""Makes a program that is text smaller: leaves out statements, items and arguments.

It knows Python only, nothing of what the programs are about: each edit takes one part out of the
syntax tree, or puts a part in the place of the whole.
"""

import ast
import copy
from collections.abc import Iterator
from typing import Any


def smaller(text: str) -> Iterator[str]:
    """Every text that one edit makes of this one, the coarse edits first."""
    tree = ast.parse(text)
    seen = {text}
    for index, node in enumerate(ast.walk(tree)):
        for edit in _edits(node):
            made = copy.deepcopy(tree)
            _apply(next(n for i, n in enumerate(ast.walk(made)) if i == index), edit)
            written = ast.unparse(made)
            if written not in seen and len(written) < len(text):
                seen.add(written)
                yield written


def _edits(node: ast.AST) -> Iterator[tuple[Any, ...]]:
    """What can be done to a node: leave out an item of a list, or hoist a part of a part."""
    if isinstance(node, ast.arguments):
        return
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            least = 2 if name == "body" else 1
            if len(value) >= least:
                yield from (("drop", name, i) for i in reversed(range(len(value))))
            for i, item in enumerate(value):
                yield from (("hoist", name, i, *part) for part in _parts(item))
        elif isinstance(value, ast.expr):
            yield from (("hoist", name, None, *part) for part in _parts(value))
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 1:
        half = len(node.value) // 2
        yield from (("text", node.value[:half]), ("text", node.value[half:]))


def _parts(value: Any) -> Iterator[tuple[str | int, ...]]:
    """Where expressions stand inside an expression that may take its place."""
    if not isinstance(value, ast.expr):
        return
    if isinstance(value, ast.Call):
        # What is called is no value, but the object of a method is (not the class of one).
        if isinstance(value.func, ast.Attribute) and not isinstance(value.func.value, ast.Name):
            yield "func", "value"
        yield from (("args", i) for i in range(len(value.args)))
        yield from (("keywords", i, "value") for i in range(len(value.keywords)))
        return
    for name, inner in ast.iter_fields(value):
        if isinstance(inner, ast.expr):
            yield (name,)
        elif isinstance(inner, list):
            yield from ((name, i) for i, item in enumerate(inner) if isinstance(item, ast.expr))


def _apply(node: ast.AST, edit: tuple[Any, ...]) -> None:
    if edit[0] == "text":
        node.value = edit[1]  # type: ignore[attr-defined]
        return
    if edit[0] == "drop":
        _, name, index = edit
        del getattr(node, name)[index]
        if isinstance(node, ast.Dict):
            del (node.values if name == "keys" else node.keys)[index]
        return
    _, name, index, *path = edit
    part = getattr(node, name) if index is None else getattr(node, name)[index]
    for step in path:
        part = part[step] if isinstance(step, int) else getattr(part, step)
    if index is None:
        setattr(node, name, part)
    else:
        getattr(node, name)[index] = part
