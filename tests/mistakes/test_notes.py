"""What plait adds to errors that are not its own: where they happened, and with what."""

import pytest

from .table import graph_of


def test_an_error_of_a_reducer_names_the_key_the_reducer_and_the_update() -> None:
    graph = graph_of(a=lambda state: {"items": "x"}).compile()
    with pytest.raises(TypeError) as caught:
        graph.invoke({"items": ["i"]})
    note = " ".join(caught.value.__notes__)
    for part in ("'items'", "add", "'x'", "str", "list"):
        assert part in note


def test_an_error_of_a_node_names_the_node() -> None:
    def fetch(state: object) -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone") as caught:
        graph_of(fetch=fetch).compile().invoke({"text": ""})
    assert "'fetch'" in " ".join(caught.value.__notes__)
