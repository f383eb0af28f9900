"""Small helpers: settings of the environment, batches, JSON of models, ids."""

import json
import os

from langchain_core.utils import (
    abatch_iterate,
    batch_iterate,
    convert_to_secret_str,
    from_env,
    get_from_dict_or_env,
    get_from_env,
    guard_import,
    secret_from_env,
)
from langchain_core.utils.env import env_var_is_set
from langchain_core.utils.html import extract_sub_links, find_all_links
from langchain_core.utils.interactive_env import is_interactive_env
from langchain_core.utils.json import (
    parse_and_check_json_markdown,
    parse_json_markdown,
    parse_partial_json,
)
from langchain_core.utils.pydantic import is_basemodel_instance, is_basemodel_subclass
from langchain_core.utils.strings import (
    comma_list,
    sanitize_for_postgres,
    stringify_dict,
    stringify_value,
)
from langchain_core.utils.uuid import uuid7
from langgraph.graph import START, StateGraph
from langgraph.utils.config import get_config, patch_configurable
from pydantic import BaseModel, Field, SecretStr

A, EMPTY, NOWHERE = "PLAIT_TEST_A", "PLAIT_TEST_EMPTY", "PLAIT_TEST_NOWHERE"
os.environ[A] = "a"
os.environ[EMPTY] = ""
os.environ.pop(NOWHERE, None)

TEXTS = [
    '{"a":1}', '```json\n{"a":1}\n```', 'x ```json\n{"a": [1,2}\n``` y', '{"a":', "nope", "",
    "[1,2", "```\n[1]\n```", '{"a":"x\ny"}', '"x"', "null", "```json\n```", "12", "{'a': 1}",
]  # fmt: skip


class Settings(BaseModel):
    name: str = Field(default_factory=from_env([NOWHERE, A]))
    key: SecretStr = Field(default_factory=secret_from_env(A))


def case_environment(env):
    return (
        get_from_env("k", A),
        env.error(lambda: get_from_env("k", EMPTY)),
        env.error(lambda: get_from_env("k", NOWHERE)),
        get_from_env("k", NOWHERE, "d"),
        get_from_env("k", NOWHERE, ""),
        get_from_env("k", EMPTY, "d"),
    )


def case_dicts_before_the_environment(env):
    return (
        get_from_dict_or_env({"k": "v"}, "k", A),
        get_from_dict_or_env({"k": ""}, "k", A),
        get_from_dict_or_env({"j": "v"}, ["k", "j"], A),
        get_from_dict_or_env({}, ["k", "j"], NOWHERE, default="d"),
        env.error(lambda: get_from_dict_or_env({}, ["k", "j"], NOWHERE)),
    )


def case_variables_that_are_set(env):
    found = []
    for value in ("", "0", "false", "False", "true", "1", "no", "FALSE"):
        os.environ["PLAIT_TEST_X"] = value
        found.append((value, env_var_is_set("PLAIT_TEST_X")))
    del os.environ["PLAIT_TEST_X"]
    return found, env_var_is_set(NOWHERE)


def case_factories(env):
    return (
        from_env(A)(),
        from_env(EMPTY)(),
        from_env([NOWHERE, A])(),
        from_env(NOWHERE, default="d")(),
        from_env(NOWHERE, default=None)(),
        env.error(lambda: from_env(NOWHERE)()),
        env.error(lambda: from_env([NOWHERE, NOWHERE], error_message="no")()),
        (Settings().name, Settings().key.get_secret_value()),
    )


def case_secrets(env):
    secret = convert_to_secret_str("x")
    return (
        repr(secret_from_env(A)()),
        secret_from_env([NOWHERE, A])().get_secret_value(),
        secret_from_env(NOWHERE, default="d")().get_secret_value(),
        secret_from_env(NOWHERE, default=None)(),
        env.error(lambda: secret_from_env(NOWHERE)()),
        (repr(secret), convert_to_secret_str(secret) is secret),
    )


def case_batches(env):
    return (
        [list(batch_iterate(size, range(5))) for size in (1, 2, 5, 9, None)],
        list(batch_iterate(2, [])),
        list(batch_iterate(None, iter([]))),
        [env.error(lambda size=size: list(batch_iterate(size, [1]))) for size in (0, -1)],
    )


async def case_async_batches(env):
    async def source(count):
        for n in range(count):
            yield n

    async def batches(size, count):
        return [batch async for batch in abatch_iterate(size, source(count))]

    return (
        [await batches(size, 5) for size in (1, 2, 5, 9, None)],
        await batches(2, 0),
        await env.aerror(batches(0, 3)),
    )


def case_json_of_models(env):
    return [
        (env.error(lambda: parse_json_markdown(text)), env.error(lambda: parse_partial_json(text)))
        for text in TEXTS
    ]


def case_json_with_a_parser(env):
    return (
        parse_json_markdown('```json\n{"a":1}\n```', parser=json.loads),
        env.error(lambda: parse_json_markdown('{"a":1', parser=json.loads)),
        parse_partial_json('{"a":"x\ny"}', strict=True),
    )


def case_json_with_keys(env):
    return [
        env.error(lambda text=text, keys=keys: parse_and_check_json_markdown(text, keys))
        for text, keys in (('{"a":1}', ["a"]), ('{"a":1}', ["b"]), ("[1]", ["a"]), ("nope", []))
    ]


def case_ids(env):
    several = [uuid7() for _ in range(100)]
    given = uuid7(10**18), uuid7(10**18)
    return (
        several == sorted(several),
        len(set(several)),
        {(one.version, one.variant) for one in several},
        [str(one)[:13] for one in given],
        given[0] == given[1],
    )


PAGE = """
<a href="http://x.org/a/1">1</a> <a href="/b">2</a> <img src="c.png"> <a href="#x"> <a href="d/e">
<a href='http://z.org/q'> <a href="/b#frag"> <a href="mailto:me">
<a href="f.pdf"> <a href="a/g?h=1">
"""


def case_links_of_a_page(env):
    told = [sorted(find_all_links(PAGE)), sorted(find_all_links(PAGE, pattern=r'src="(.*?)"'))]
    for more in (
        {},
        {"base_url": "http://x.org"},
        {"prevent_outside": False},
        {"base_url": "http://x.org", "exclude_prefixes": ("http://x.org/a/g",)},
    ):
        told.append(sorted(extract_sub_links(PAGE, "http://x.org/a/", **more)))
    return told


def case_values_as_text(env):
    return [
        stringify_value({"a": [1, {"b": 2}], "c": "d"}),
        stringify_value([1, [2, 3]]),
        stringify_dict({"a": {"b": 1}, "c": [1, 2], 3: None}),
        comma_list([1, "b"]),
        sanitize_for_postgres("a\x00b"),
        sanitize_for_postgres("a\x00b", " "),
    ]


def case_packages_that_are_missing(env):
    return guard_import("json").__name__, env.error(lambda: guard_import("no_such_package"))


def case_what_is_a_model_of_pydantic(env):
    class Model(BaseModel):
        pass

    kinds = [is_basemodel_subclass(each) for each in (Model, int)]
    return kinds, [is_basemodel_instance(each) for each in (Model(), 1)], is_interactive_env()


def case_configs_that_are_patched(env):
    def node(state):
        return {"x": get_config()["configurable"]["user"]}

    graph = StateGraph(dict).add_node("a", node).add_edge(START, "a").compile()
    base = {"tags": ["t"], "configurable": {"user": "ann", "b": 1}}
    patched = patch_configurable(base, {"user": "bob"})
    return patched, base, patch_configurable(None, {"a": 1}), graph.invoke({}, patched)
