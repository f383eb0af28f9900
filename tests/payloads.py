"""Payloads of published attacks on checkpoint loaders, rebuilt as data from their descriptions.

Each would run `_fired` (or import a module that does) in a loader that trusts it. None of them was
ever code of somebody else's: they are written from the public texts of the advisories.
"""

from __future__ import annotations

import json
import pickle
from typing import Any

import ormsgpack

MODULE = "tests_payload_fired"
"""A module that does not exist; an attempt to import it shows in the audit hook."""


class _Reduce:
    def __reduce__(self) -> Any:
        return (__import__, (MODULE,))


def payloads() -> dict[str, bytes]:
    """Name of the class of attack to bytes that carry it."""
    found: dict[str, bytes] = {}
    constructor = {
        "lc": 2,
        "type": "constructor",
        "id": ["os", "system"],
        "args": [f"python -m {MODULE}"],
        "kwargs": {},
    }
    # CVE-2025-64439: a JSON "constructor" object names any module and function to call.
    found["json constructor"] = json.dumps(constructor).encode()
    found["json constructor, nested"] = json.dumps({"messages": [[constructor]]}).encode()
    # CVE-2026-28277: msgpack extensions that name a module, a class and arguments.
    triple = ormsgpack.packb(["os", "system", [f"python -m {MODULE}"]])
    for code in range(128):
        found[f"msgpack ext {code}"] = ormsgpack.packb(ormsgpack.Ext(code, triple))
        method = ormsgpack.packb([MODULE, "Thing", {"a": 1}, "model_validate_json"])
        found[f"msgpack ext {code}, method"] = ormsgpack.packb(ormsgpack.Ext(code, method))
    # CVE-2026-27794: a cache or checkpoint that falls back to pickle.
    found["pickle"] = pickle.dumps(_Reduce(), 4)
    found["pickle, text"] = pickle.dumps(_Reduce(), 0)
    found["pickle in msgpack"] = ormsgpack.packb(["pickle", pickle.dumps(_Reduce())])
    found["pickle in an ext"] = ormsgpack.packb(ormsgpack.Ext(5, pickle.dumps(_Reduce())))
    # CVE-2025-68664: a plain dict of user data that looks like a serialised object ("lc" key).
    secret = {"lc": 1, "type": "secret", "id": ["PATH"]}
    found["lc secret in user data"] = ormsgpack.packb({"user": secret})
    found["lc constructor in user data"] = ormsgpack.packb({"user": {**constructor, "lc": 1}})
    return found


INERT = {
    "lc secret": {"lc": 1, "type": "secret", "id": ["PATH"]},
    "lc constructor": {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {}},
    "plait-like": {"__type__": "os.system", "args": ["x"]},
}
"""Values of user data that look like objects: they must come back as the dicts that they are."""
