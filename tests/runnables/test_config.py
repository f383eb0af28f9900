"""Configs complete, merge and patch as langchain_core's do: one expression, run on both."""

import subprocess
import sys
import warnings
from uuid import UUID

import langchain_core.callbacks as their_callbacks
import langchain_core.runnables.config as theirs
import pytest

import plait.callbacks as our_callbacks
import plait.runnables.config as ours
from plait.callbacks import CallbackManager, has_listeners

CONFIGS = [
    {},
    {"tags": ["b", "a"], "metadata": {"x": 1}},
    {"tags": ["c", "a"], "metadata": {"x": 2, "y": {"z": 1}}},
    {"tags": None, "metadata": None, "recursion_limit": None, "callbacks": None},
    {"configurable": {"thread_id": "1", "n": 2, "__p": 3, "api_key": "k"}},
    {"configurable": {"model": "m", "checkpoint_ns": "ns"}, "metadata": {"model": "mine"}},
    {"configurable": {"model": 3, "checkpoint_ns": ""}},
    {"thread_id": "stray", "configurable": {"thread_id": "2"}},
    {"run_name": "n", "run_id": UUID(int=5), "max_concurrency": 3, "recursion_limit": 7},
    {"run_name": "", "max_concurrency": 0, "recursion_limit": 25},
]


@pytest.mark.parametrize("config", [None, *CONFIGS], ids=str)
def test_ensure_config_gives_what_the_peer_gives(config):
    assert ours.ensure_config(config) == theirs.ensure_config(config)


@pytest.mark.parametrize("first", [None, *CONFIGS], ids=str)
@pytest.mark.parametrize("second", [None, *CONFIGS], ids=str)
def test_merge_configs_gives_what_the_peer_gives(first, second):
    assert ours.merge_configs(first, second) == theirs.merge_configs(first, second)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_patch_config_gives_what_the_peer_gives(config):
    for changes in [
        {},
        {"recursion_limit": 3, "max_concurrency": 2, "run_name": "z"},
        {"configurable": {"thread_id": "new", "more": 1}},
        {"callbacks": CallbackManager([])},
    ]:
        assert ours.patch_config(config, **changes) == theirs.patch_config(config, **changes)


@pytest.mark.parametrize("config", [None, *CONFIGS], ids=str)
def test_the_config_of_the_context_is_inherited_as_in_the_peer(config):
    parent = {"tags": ["p"], "metadata": {"p": 1}, "recursion_limit": 7, "configurable": {"q": 1}}
    results = []
    for lib in (ours, theirs):
        with lib.set_config_context(parent) as context:
            calls = [(lib.ensure_config, config), (lib.merge_configs, config)]
            results.append([context.run(*call) for call in calls])
            assert lib.ensure_config()["tags"] == []  # only inside that context
    assert results[0] == results[1]


def test_a_config_of_the_caller_is_never_changed():
    hears = our_callbacks.BaseCallbackHandler()
    config = {"tags": ["a"], "metadata": {"a": 1}, "configurable": {"a": 1}, "callbacks": [hears]}
    complete = ours.ensure_config(config)
    for key in config:
        assert complete[key] == config[key]
        assert complete[key] is not config[key]


def test_later_configs_replace_keys_of_earlier_ones():
    both = ours.ensure_config({"tags": ["a"], "run_name": "n"}, None, {"tags": ["b"]})
    assert both["tags"] == ["b"]
    assert both["run_name"] == "n"


@pytest.mark.parametrize("kinds", [("list", "list"), ("list", "manager"), ("manager", "list"),
                                   ("manager", "manager")], ids=str)  # fmt: skip
def test_callbacks_of_merged_configs_hear_the_same_runs_as_in_the_peer(kinds):
    def merged(lib, callbacks):
        first, second = callbacks.BaseCallbackHandler(), callbacks.BaseCallbackHandler()
        names = {id(first): "first", id(second): "second"}

        def made(kind, handler, tag, parent):
            if kind == "list":
                return [handler]
            return callbacks.CallbackManager(
                [handler], [handler], parent, tags=[tag], inheritable_metadata={tag: 1}
            )

        result = lib.merge_configs(
            {"callbacks": made(kinds[0], first, "t1", None)},
            {"callbacks": made(kinds[1], second, "t2", UUID(int=2))},
        )["callbacks"]
        if isinstance(result, list):
            return [names[id(h)] for h in result]
        return (
            sorted(names[id(h)] for h in result.handlers),  # the peer keeps them in a set
            {names[id(h)] for h in result.inheritable_handlers},
            result.parent_run_id,
            sorted(result.tags),
            result.inheritable_metadata,
        )

    assert merged(ours, our_callbacks) == merged(theirs, their_callbacks)


def test_config_lists_give_what_the_peer_gives():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for args in [
            (None, 2),
            ({"tags": ["a"]}, 0),
            ({"run_id": UUID(int=1), "tags": ["a"]}, 3),
            ([{"tags": ["a"]}, {}], 2),
        ]:
            assert ours.get_config_list(*args) == theirs.get_config_list(*args)


def test_config_lists_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match="2 configs for 3 inputs"):
        ours.get_config_list([{}, {}], 3)
    with pytest.raises(ValueError, match="length must be >= 0"):
        ours.get_config_list(None, -1)


def test_a_run_id_for_many_inputs_warns_that_only_the_first_has_it():
    with pytest.warns(RuntimeWarning, match="first input of the batch only"):
        ours.get_config_list({"run_id": UUID(int=1)}, 2)


def test_has_listeners_sees_handlers_in_lists_and_in_managers_of_both_kinds():
    handler = our_callbacks.BaseCallbackHandler()
    for nobody in [None, {}, {"callbacks": None}, {"callbacks": []},
                   {"callbacks": CallbackManager([])},
                   {"callbacks": their_callbacks.CallbackManager([])}]:  # fmt: skip
        assert not has_listeners(nobody)
    for somebody in [[handler], CallbackManager([handler]),
                     their_callbacks.CallbackManager([handler])]:  # fmt: skip
        assert has_listeners({"callbacks": somebody})


@pytest.mark.parametrize("module", ["plait.runnables.config", "plait.runnables.base"])
def test_importing_the_floor_of_runnables_loads_nothing_heavy(module):
    heavy = ("pydantic", "asyncio", "concurrent.futures", "uuid", "inspect", "threading")
    program = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert loaded.stdout.strip() == "[]", loaded.stderr


async def test_run_in_executor_carries_context_and_stop_iteration():
    with ours.set_config_context({"tags": ["t"]}) as context:
        token = ours.var_child_runnable_config.set(context.get(ours.var_child_runnable_config))
        try:
            config = await ours.run_in_executor(None, ours.ensure_config)
        finally:
            ours.var_child_runnable_config.reset(token)
    assert config["tags"] == ["t"]
    with pytest.raises(RuntimeError, match="StopIteration"):
        await ours.run_in_executor(None, next, iter(()))
