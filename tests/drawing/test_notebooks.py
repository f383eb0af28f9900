"""A notebook shows a graph by itself."""

from __future__ import annotations

import sys

import pytest

from .graphs import agent


def test_a_compiled_graph_and_its_drawable_graph_show_themselves() -> None:
    app = agent()
    for shown in (app._repr_mimebundle_(), app.get_graph()._repr_mimebundle_()):
        assert shown["image/svg+xml"].startswith("<svg")
        assert "agent -. &nbsp;call&nbsp; .-> tools;" in shown["text/vnd.mermaid"]
    assert app._repr_svg_() == app.get_graph()._repr_svg_()
    assert "plain" in "".join(app._repr_mimebundle_())


def test_without_the_extra_a_notebook_gets_the_mermaid_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    shown = agent()._repr_mimebundle_()
    assert "image/svg+xml" not in shown
    assert "graph TD;" in shown["text/vnd.mermaid"]
    assert agent()._repr_svg_() is None
