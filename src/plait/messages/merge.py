"""How streamed pieces become one: the merging rules of content, dicts, lists and any value.

Nothing here changes what it is given.
"""

from __future__ import annotations

from typing import Any, cast

Content = str | list[str | dict[str, Any]]

# Identifiers: the same one said twice is one; different ones are concatenated like other text.
IDENTIFIERS = frozenset(("id", "output_version", "model_provider"))
# Numbers that say where or when, not how much: the later one wins.
POSITIONS = frozenset(("index", "created", "timestamp"))


def merge_content(first_content: Content, *contents: Content) -> Content:
    """One content from several: text is joined, blocks are appended or merged by their index.

    >>> merge_content("Hello, ", "world")
    'Hello, world'
    >>> merge_content("a", [{"type": "text", "text": "b"}])
    ['a', {'type': 'text', 'text': 'b'}]
    """
    merged = first_content
    for content in contents:
        if isinstance(merged, str):
            merged = merged + content if isinstance(content, str) else [merged, *content]
        elif isinstance(content, list):
            merged = merge_lists(merged, content) or []
        elif content:
            if merged and isinstance(merged[-1], str):
                merged = [*merged[:-1], merged[-1] + content]
            else:
                merged = [*merged, content]
    return merged


def merge_dicts(left: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    """One dict from several: text joined, numbers added, dicts and lists merged, None ignored.

    Raises:
        TypeError: two values of one key have different types, or a type that cannot be merged.
    """
    merged = left.copy()
    for other in others:
        for key, value in other.items():
            known = merged.get(key)
            if known is None:
                if key not in merged or value is not None:
                    merged[key] = value
            elif value is not None:
                merged[key] = merge_value(key, known, value)
    return merged


def merge_value(key: str, left: Any, right: Any) -> Any:
    """The merged value of one key of `merge_dicts`."""
    if type(left) is not type(right):
        raise TypeError(
            f'additional_kwargs["{key}"] already exists in this message, but with a different type '
            f"({type(left).__name__} and {type(right).__name__}). Give all chunks one type for it."
        )
    if isinstance(left, str):
        is_position = key == "index" and left.startswith("lc_")
        same = left == right and (key in IDENTIFIERS or is_position)
        return left if same else left + right
    if isinstance(left, dict):
        return merge_dicts(cast("dict[str, Any]", left), right)
    if isinstance(left, list):
        return merge_lists(cast("list[Any]", left), right)
    if left == right:
        return left
    if isinstance(left, int) and not isinstance(left, bool):
        return right if key in POSITIONS else left + right
    raise TypeError(
        f"Additional kwargs key {key} already exists in left dict and value has unsupported type "
        f"{type(left)}. Only text, integers, dicts and lists can be merged."
    )


def merge_lists(left: list[Any] | None, *others: list[Any] | None) -> list[Any] | None:
    """One list from several: dicts of one `index` (and no two ids) merge, the rest is added."""
    merged = None if left is None else left.copy()
    for other in others:
        if other is None:
            continue
        if merged is None:
            merged = other.copy()
            continue
        for item in other:
            at = same_position(merged, item)
            if at is None:
                merged.append(item)
            else:
                merged[at] = merge_block(merged[at], item)
    return merged


def same_position(merged: list[Any], item: Any) -> int | None:
    """Where in `merged` stands the dict that `item` continues: same index, no conflicting id."""
    if not isinstance(item, dict):
        return None
    block = cast("dict[str, Any]", item)
    index = block.get("index")
    if not (isinstance(index, int) or (isinstance(index, str) and index.startswith("lc_"))):
        return None
    new_id = block.get("id")
    for n, known in enumerate(merged):
        if isinstance(known, dict):
            other = cast("dict[str, Any]", known)
            if other.get("index") == index:
                known_id = other.get("id")
                if not known_id or not new_id or known_id == new_id:
                    return n
    return None


def merge_block(known: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """Two dicts of one index: the first keeps its type; a foreign value goes to its extras."""
    if item.get("type") == "non_standard" and "value" in item:
        if known.get("type", "non_standard") != "non_standard":
            return merge_dicts(known, {"extras": item["value"]})
        value = item["value"]
        if isinstance(value, dict):  # the first says of what type it is
            value = {k: v for k, v in cast("dict[str, Any]", value).items() if k != "type"}
        return merge_dicts(known, {"index": item["index"], "value": value})
    return merge_dicts(known, {k: v for k, v in item.items() if k != "type"})


def merge_obj(left: Any, right: Any) -> Any:
    """Two values of any kind (a tool's artifact), merged if they can be.

    Raises:
        TypeError: their types differ.
        ValueError: they are neither text, dict nor list, and not equal.
    """
    if left is None or right is None:
        return right if left is None else left
    if type(left) is not type(right):
        raise TypeError(f"Cannot merge a {type(left).__name__} with a {type(right).__name__}.")
    if isinstance(left, str):
        return left + right
    if isinstance(left, dict):
        return merge_dicts(cast("dict[str, Any]", left), right)
    if isinstance(left, list):
        return merge_lists(cast("list[Any]", left), right)
    if left == right:
        return left
    raise ValueError(
        f"Unable to merge {left=} and {right=}. Both must be text, dict or list, or equal."
    )
