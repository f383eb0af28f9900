"""The functions behind debug streams, given tasks and channels."""

from langgraph.channels import LastValue
from langgraph.pregel import debug
from langgraph.types import Interrupt, PregelExecutableTask, TracePolicy, omit_payload


def task(**changes):
    config = {
        "configurable": {"__pregel_x": 1, "thread_id": "1"},
        "metadata": {"k": 1, "langgraph_step": 1, "thread_id": "1"},
        "tags": ["q"],
    }
    given = {
        "name": "n",
        "input": {"a": 1},
        "proc": None,
        "writes": [],
        "config": config,
        "triggers": ("a",),
        "retry_policy": (),
        "cache_key": None,
        "id": "i",
        "path": ("p",),
    }
    return PregelExecutableTask(**{**given, **changes})


def case_tasks(env):
    hidden = task(config={"tags": ["langsmith:hidden"]})
    tagged = task(config={"tags": ["seq:step:1", "mine"], "metadata": {"a": 1}})
    steps = task(config={"tags": ["seq:step:1"]})
    return list(debug.map_debug_tasks([task(), hidden, task(config={}), tagged, steps]))


def case_task_results(env):
    question = Interrupt("q", "qid")
    writes = [
        [("a", 1), ("__interrupt__", [question]), ("b", 2)],
        [("a", 1), ("a", 2)],
        [],
        [("__return__", 7)],
    ]
    return [
        list(debug.map_debug_task_results((task(), w), keys))
        for w in writes
        for keys in ("a", ["a"])
    ]


def case_tasks_with_writes(env):
    tasks = [task(), task(id="j", name="m")]
    asked = ("j", "__interrupt__", [Interrupt("q", "qid")])
    return [
        debug.tasks_w_writes(tasks, [("i", "a", 1), asked], None, ["a"]),
        debug.tasks_w_writes(tasks, [("i", "__error__", "E"), ("j", "__return__", 7)], None, "a"),
        debug.tasks_w_writes(tasks, [("i", "a", 1)], {"i": {"configurable": {}}}, "a"),
        debug.tasks_w_writes(tasks, None, None, ["a"]),
    ]


def case_checkpoint(env):
    channels = {"a": LastValue(int).from_checkpoint(5), "b": LastValue(int)}
    config = {"configurable": {"thread_id": "1", "__pregel_x": 1}}

    def payloads(keys, writes):
        made = debug.map_debug_checkpoint(
            config, channels, keys, {"step": 1}, [task()], writes, None, ["a"]
        )
        return list(made)

    asked = ("i", "__interrupt__", [Interrupt("q", "qid")])
    return [payloads(["a", "b"], [("i", "a", 1)]), payloads("a", [asked]), payloads(["a"], [])]


def case_small_ones(env):
    return [
        debug.get_bolded_text("x"),
        [debug.get_colored_text("x", c) for c in ("red", "green", "yellow", "blue")],
        env.error(lambda: debug.get_colored_text("x", "zz")),
        debug.rm_pregel_keys({"configurable": {"a": 1, "__pregel_x": 2}, "tags": ["a"]}),
        debug.rm_pregel_keys(None),
        [debug.is_multiple_channel_write(x) for x in ({"$writes": [1]}, {"$writes": 1}, {}, 5)],
        [debug.map_task_result_writes(w) for w in ([("a", 1)], [("a", 1), ("a", 2)], [])],
        omit_payload("secret"),
        TracePolicy(process_inputs=omit_payload).process_inputs(1),
    ]
