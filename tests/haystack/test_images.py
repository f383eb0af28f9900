"""Images are shown by Pillow, which draws; here something small stands for it and for a notebook.

What they leave out: Pillow reads the bytes and opens a window, a notebook puts them below a cell.
"""

import base64
import importlib.util
import sys
from io import BytesIO
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from plait.errors import MissingExtraError
from plait.haystack import ImageContent

BYTES = b"GIF89a" + b"\0" * 20
IMAGE = ImageContent(base64.b64encode(BYTES).decode())


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What Pillow's images were shown of, in windows."""
    shown: list[Any] = []

    def opened(file: BytesIO) -> Any:
        content = file.read()
        return SimpleNamespace(content=content, show=lambda: shown.append(content))

    image: Any = ModuleType("PIL.Image")
    image.open = opened
    monkeypatch.setitem(sys.modules, "PIL", ModuleType("PIL"))
    monkeypatch.setitem(sys.modules, "PIL.Image", image)
    monkeypatch.setitem(sys.modules, "IPython", None)
    return shown


def _notebook(monkeypatch: pytest.MonkeyPatch, shell: Any) -> list[Any]:
    cells: list[Any] = []
    package: Any = ModuleType("IPython")
    package.get_ipython = lambda: shell
    display: Any = ModuleType("IPython.display")
    display.display = cells.append
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return cells


def test_an_image_is_shown_in_a_window(shown: list[Any]) -> None:
    IMAGE.show()
    assert shown == [BYTES]


@pytest.mark.parametrize("shell", [None, SimpleNamespace()])
def test_an_image_is_shown_in_a_window_where_ipython_has_no_notebook(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch, shell: Any
) -> None:
    cells = _notebook(monkeypatch, shell)
    IMAGE.show()
    assert (shown, cells) == ([BYTES], [])


def test_an_image_is_shown_below_the_cell_of_a_notebook(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = _notebook(monkeypatch, SimpleNamespace(kernel=object()))
    IMAGE.show()
    assert (shown, [one.content for one in cells]) == ([], [BYTES])


def test_without_pillow_an_image_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("PIL") is not None:
        monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match="pip install pillow"):
        IMAGE.show()
