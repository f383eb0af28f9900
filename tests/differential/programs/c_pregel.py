"""Graphs made by hand: nodes over channels, without a StateGraph."""

import asyncio
import operator

from langgraph.cache.memory import InMemoryCache
from langgraph.channels import BinaryOperatorAggregate, EphemeralValue, LastValue, Topic
from langgraph.graph import END
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.runtime import Runtime
from langgraph.types import CachePolicy, Command, RetryPolicy, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


def double(**changes):
    node = NodeBuilder().subscribe_only("a").do(lambda a: a + a).write_to("b")
    given = {
        "nodes": {"double": node},
        "channels": {"a": EphemeralValue(str), "b": EphemeralValue(str)},
        "input_channels": ["a"],
        "output_channels": ["b"],
    }
    return Pregel(**{**given, **changes})


def chain(**changes):
    one = NodeBuilder().subscribe_only("a").do(lambda a: a + 1).write_to("b")
    two = (
        NodeBuilder()
        .subscribe_to("b")
        .read_from("total")
        .do(lambda x: x["b"] + x.get("total", 0))
        .write_to(c=lambda v: v * 10, total=lambda v: v)
    )
    given = {
        "nodes": {"one": one, "two": two},
        "channels": {
            "a": LastValue(int),
            "b": LastValue(int),
            "c": LastValue(int),
            "total": BinaryOperatorAggregate(int, operator.add),
        },
        "input_channels": "a",
        "output_channels": "c",
    }
    return Pregel(**{**given, **changes})


def one_node(node):
    channels = {"a": EphemeralValue(object), "b": LastValue(object)}
    return double(nodes={"double": node}, channels=channels)


def case_one_node(env):
    return double().invoke({"a": "x"}), double(input_channels="a", output_channels="b").invoke("x")


def case_two_nodes_and_two_outputs(env):
    one = NodeBuilder().subscribe_only("a").do(lambda a: a + a).write_to("b")
    two = NodeBuilder().subscribe_to("b").do(lambda x: x["b"] + x["b"]).write_to("c")
    channels = {"a": EphemeralValue(str), "b": LastValue(str), "c": EphemeralValue(str)}
    app = double(nodes={"one": one, "two": two}, channels=channels, output_channels=["b", "c"])
    return app.invoke({"a": "foo"})


def case_topic_and_aggregate(env):
    def run(collected):
        one = NodeBuilder().subscribe_only("a").do(lambda a: a + a).write_to("b", "c")
        two = NodeBuilder().subscribe_only("b").do(lambda b: b + b).write_to("c")
        channels = {"a": EphemeralValue(str), "b": EphemeralValue(str), "c": collected}
        app = double(nodes={"one": one, "two": two}, channels=channels, output_channels=["c"])
        return app.invoke({"a": "foo"})

    def joined(current, update):
        return current + " | " + update if current else update

    return run(Topic(str, accumulate=True)), run(BinaryOperatorAggregate(str, joined))


def case_parallel_writers_of_a_topic(env):
    def writer(name):
        return NodeBuilder().subscribe_only("a").do(lambda a: a + name).write_to("b")

    channels = {"a": EphemeralValue(str), "b": Topic(str)}
    return double(nodes={n: writer(n) for n in "zmk"}, channels=channels).invoke({"a": "x"})


def case_streams(env):
    app = chain()
    modes = ("values", "updates", "tasks")
    return [
        *(list(app.stream(1, stream_mode=mode)) for mode in modes),
        list(app.stream(1, stream_mode=["values", "updates"])),
        list(app.stream(1, output_keys="total")),
        list(app.stream(1, output_keys=["total", "c"])),
        list(app.stream(1)),
    ]


def case_debug_stream(env):
    return [
        {key: part[key] for key in ("step", "type", "payload")}
        for part in chain().stream(1, stream_mode="debug")
    ]


def case_stream_channels(env):
    return [
        list(chain(stream_channels=["b", "c"]).stream(1)),
        list(chain(stream_channels="b").stream(1)),
        list(chain(stream_channels="b").stream(1, stream_mode="updates")),
        list(chain(stream_mode="updates").stream(1)),
    ]


def case_nothing_written_to_the_output(env):
    one = NodeBuilder().subscribe_only("a").do(lambda a: a + 1).write_to("b")
    lone = chain(nodes={"one": one})
    return [
        lone.invoke(1),
        chain(nodes={"one": one}, output_channels=["c", "total"]).invoke(1),
        chain(output_channels=["c", "total"]).invoke(1),
    ]


def case_inputs(env):
    app = double()
    both = chain(input_channels=["a", "b"], output_channels=["b", "c"])
    return [
        env.error(lambda: app.invoke({})),
        env.error(lambda: app.invoke(None)),
        env.error(lambda: app.invoke({"other": 1})),
        env.error(lambda: app.invoke("x")),
        both.invoke({"b": 5}),
    ]


def case_reads(env):
    def shown(builder):
        channels = {name: LastValue(str) for name in ("a", "b", "c")}
        node = builder.do(repr).write_to("c")
        app = double(nodes={"n": node}, channels=channels, output_channels=["c"])
        return app.invoke({"a": "x"})

    return [
        shown(NodeBuilder().subscribe_only("a")),
        shown(NodeBuilder().subscribe_to("a")),
        shown(NodeBuilder().subscribe_to("a", "b")),
        shown(NodeBuilder().subscribe_to("a", read=False)),
        shown(NodeBuilder().subscribe_to("a", read=False).read_from("a")),
        shown(NodeBuilder().subscribe_to("a").read_from("b")),
    ]


def case_writes(env):
    def written(builder, *channels, **mapped):
        return one_node(builder.write_to(*channels, **mapped)).invoke({"a": "x"})

    def only():
        return NodeBuilder().subscribe_only("a")

    return [
        written(only(), "b"),
        written(only().do(lambda a: a + "1").do(lambda a: a + "2"), "b"),
        written(only(), b=str.upper),
        written(only(), b=5),
        written(only(), b=None),
        written(only(), b=lambda a: None),
        written(only().do(lambda a: None), "b"),
        env.error(lambda: written(only().write_to("b"), "b")),
        env.error(lambda: written(only(), __pregel_tasks=lambda a: a)),
    ]


def case_commands_are_plain_values(env):
    node = (
        NodeBuilder()
        .subscribe_only("a")
        .do(lambda a: Command(goto="double"))
        .write_to(b=lambda command: command.goto)
    )
    return one_node(node).invoke({"a": "x"})


def case_generator_node(env):
    def twice(a):
        yield a
        yield a

    return one_node(NodeBuilder().subscribe_only("a").do(twice).write_to("b")).invoke({"a": "x"})


async def case_async_nodes(env):
    async def shout(a):
        return a + "!"

    app = one_node(NodeBuilder().subscribe_only("a").do(shout).do(str.upper).write_to("b"))
    parts = [part async for part in app.astream({"a": "x"}, stream_mode="updates")]
    return await app.ainvoke({"a": "x"}), parts, env.error(lambda: app.invoke({"a": "x"}))


def case_builder_errors(env):
    return [
        env.error(lambda: NodeBuilder().subscribe_only("a").subscribe_only("b")),
        env.error(lambda: NodeBuilder().subscribe_to("a").subscribe_only("b")),
        env.error(lambda: NodeBuilder().subscribe_only("a").subscribe_to("b")),
    ]


def case_reading_beside_a_single_channel(env):
    return env.error(lambda: NodeBuilder().subscribe_only("a").read_from("b"))


def case_validation(env):
    def made(**changes):
        app = double(**changes)
        return type(app).__name__

    channels = {"a": EphemeralValue(str), "b": EphemeralValue(str), "c": EphemeralValue(str)}
    reserved = {**channels, "__interrupt__": LastValue(str)}
    nobody = NodeBuilder().do(lambda a: a).write_to("b")
    lost = NodeBuilder().subscribe_only("zz").do(lambda a: a).write_to("b")
    reader = NodeBuilder().subscribe_to("a").read_from("zz").do(lambda a: a).write_to("b")
    known = NodeBuilder().subscribe_only("a").write_to("b")
    changes = [
        {"input_channels": "zz"},
        {"input_channels": ["zz"]},
        {"output_channels": "zz"},
        {"output_channels": ["zz"]},
        {"stream_channels": "zz"},
        {"stream_channels": ["zz"]},
        {"interrupt_before_nodes": ["zz"]},
        {"interrupt_after_nodes": ["zz"]},
        {"interrupt_before_nodes": "*"},
        {"nodes": {}},
        {"nodes": {"n": nobody}},
        {"nodes": {"n": lost}},
        {"nodes": {"n": reader}},
        {"nodes": {"__interrupt__": known}},
        {"channels": None},
        {"channels": reserved},
        {"channels": channels, "input_channels": "c"},
        {"channels": channels, "input_channels": ["c"]},
        {"channels": channels, "input_channels": ["a", "c"]},
        {"auto_validate": False, "input_channels": "zz"},
    ]
    late = double(auto_validate=False, input_channels="zz")
    return [env.error(lambda c=c: made(**c)) for c in changes], env.error(late.validate)


def case_unknown_channel_is_written(env):
    return env.error(
        lambda: one_node(NodeBuilder().subscribe_only("a").write_to("zz")).invoke({"a": "x"})
    )


def case_attributes(env):
    app, single = double(), double(input_channels="a", output_channels="b", name="Twice")
    return [
        (app.input_channels, app.output_channels, app.stream_mode, app.name, app.debug),
        (single.input_channels, single.output_channels, single.name, single.step_timeout),
        (app.interrupt_before_nodes or (), double(interrupt_after_nodes="*").interrupt_after_nodes),
        (list(app.nodes), [name for name in app.channels if not name.startswith("__")]),
        (app.InputType, app.OutputType, single.InputType, single.OutputType),
        (app.context_schema, app.config, app.checkpointer, app.store, app.retry_policy),
        {channel: list(nodes) for channel, nodes in app.trigger_to_nodes.items()},
        [name for name in app.stream_channels_list if not name.startswith("__")],
        app.copy({"name": "q"}).name,
        app.with_config({"tags": ["x"]}).config["tags"],
    ]


def case_node_attributes(env):
    node = NodeBuilder().subscribe_to("a", "b", read=False).read_from("a").do(len).meta("t", k=1)
    made = node.build()
    single = NodeBuilder().subscribe_only("a").build()
    return [
        (made.channels, list(made.triggers), made.tags, made.metadata),
        (single.channels, list(single.triggers), single.tags, single.metadata),
    ]


def case_node_alone(env):
    node = double().nodes["double"]
    return node.invoke("x"), node.bound.invoke("x")


def case_config_and_runtime(env):
    seen = {}

    def look(a, config, runtime: Runtime):
        seen["tags"] = config["tags"]
        seen["k"] = config["metadata"]["k"]
        seen["where"] = [config["metadata"][f"langgraph_{x}"] for x in ("step", "node", "path")]
        seen["context"] = runtime.context
        return a

    node = NodeBuilder().subscribe_only("a").do(look).meta("t1", "t2", k=1).write_to("b")
    one_node(node).invoke({"a": 1}, context={"user": "u"})
    return seen


def case_retries(env):
    def run(policies=(), **graph):
        attempts = []

        def flaky(a):
            attempts.append(a)
            if len(attempts) < 3:
                raise ConnectionError(a)
            return len(attempts)

        node = NodeBuilder().subscribe_only("a").do(flaky).write_to("b")
        return double(nodes={"n": node.add_retry_policies(*policies)}, **graph).invoke({"a": "x"})

    policy = RetryPolicy(initial_interval=0.001, jitter=False)
    return [
        run((policy,)),
        run(retry_policy=policy),
        run(retry_policy=[policy]),
        env.error(lambda: run((policy._replace(max_attempts=1),), retry_policy=policy)),
        env.error(run),
    ]


def case_saved_thread(env):
    app = chain(checkpointer=env.saver())
    first = app.invoke(1, CONFIG)
    state = app.get_state(CONFIG)
    history = [
        (s.values, s.next, s.metadata["step"], s.metadata["source"], [t.result for t in s.tasks])
        for s in app.get_state_history(CONFIG)
    ]
    return first, (state.values, state.next), history, app.invoke(5, CONFIG)


def case_updates_by_hand(env):
    def updated(number, values, as_node):
        app = chain(checkpointer=env.saver())
        config = {"configurable": {"thread_id": str(number)}}
        app.invoke(1, config)
        app.update_state(config, values, as_node=as_node)
        state = app.get_state(config)
        source = state.metadata["source"]
        return (state.values, state.next, source), app.invoke(None, config)

    asked = [
        (41, "one"),
        (7, "two"),
        (7, None),
        (7, "zz"),
        (7, "__start__"),
        (None, END),
        (3, "__input__"),
        (None, "__copy__"),
    ]
    return [env.error(lambda i=i, v=v, n=n: updated(i, v, n)) for i, (v, n) in enumerate(asked)]


def case_updates_of_an_empty_thread(env):
    def updated(number, app, values, as_node=None):
        config = {"configurable": {"thread_id": str(number)}}
        app.update_state(config, values, as_node=as_node)
        state = app.get_state(config)
        return state.values, state.next, state.metadata["source"]

    saver = env.saver()
    whole = chain(checkpointer=saver)
    lone = double(checkpointer=saver)
    listed = chain(checkpointer=saver, input_channels=["a"])
    return [
        env.error(lambda: updated(1, whole, 5)),
        updated(2, whole, 5, "one"),
        updated(3, whole, 5, "__input__"),
        updated(4, listed, {"a": 5}, "__input__"),
        updated(5, lone, "x"),
    ]


def case_breakpoints(env):
    def stopped(number, **given):
        app = chain(checkpointer=env.saver(), **given)
        config = {"configurable": {"thread_id": str(number)}}
        first = app.invoke(1, config)
        state = app.get_state(config)
        return first, state.values, state.next, app.invoke(None, config)

    asked = [
        {"interrupt_before_nodes": ["two"]},
        {"interrupt_after_nodes": ["one"]},
        {"interrupt_before_nodes": "*"},
        {"interrupt_after_nodes": "*"},
    ]
    return [stopped(number, **given) for number, given in enumerate(asked)]


def case_questions(env):
    node = NodeBuilder().subscribe_only("a").do(lambda a: interrupt("?") + a).write_to("b")
    channels = {"a": EphemeralValue(str), "b": LastValue(str)}
    app = double(nodes={"n": node}, channels=channels, checkpointer=env.saver())
    asked = app.invoke({"a": "x"}, CONFIG)["__interrupt__"]
    waiting = app.get_state(CONFIG).next
    return [i.value for i in asked], waiting, app.invoke(Command(resume="yes"), CONFIG)


def case_command_as_input(env):
    app = chain(checkpointer=env.saver(), input_channels=["a"], output_channels=["b", "c"])
    first = env.error(lambda: app.invoke(Command(update={"b": 5}), CONFIG))
    app.invoke({"a": 1}, CONFIG)
    return first, app.invoke(Command(update={"b": 7}), CONFIG), app.get_state(CONFIG).values


def case_subgraph(env):
    node = NodeBuilder().subscribe_only("x").do(chain()).write_to("y")
    app = Pregel(
        nodes={"inner": node},
        channels={"x": EphemeralValue(int), "y": LastValue(int)},
        input_channels="x",
        output_channels="y",
    )
    parts = [(len(ns), part) for ns, part in app.stream(1, subgraphs=True)]
    return app.invoke(1), parts


def case_the_cycle_of_the_handbook(env):
    node = NodeBuilder().subscribe_only("v").do(lambda v: v + v if len(v) < 10 else None)
    app = Pregel(
        nodes={"n": node.write_to("v")},
        channels={"v": EphemeralValue(str)},
        input_channels=["v"],
        output_channels=["v"],
    )
    return env.error(lambda: app.invoke({"v": "a"}, {"recursion_limit": 3}))


def case_caches(env):
    def run(node, **given):
        calls = []

        def count(a):
            calls.append(a)
            return a + "!"

        node = node.do(count).write_to("b")
        app = double(nodes={"n": node}, cache=InMemoryCache(), **given)
        results = [app.invoke({"a": "x"}) for _ in range(2)]
        parts = list(app.stream({"a": "x"}, stream_mode="updates"))
        before = len(calls)
        app.clear_cache()
        app.invoke({"a": "x"})
        return results, parts, before, len(calls)

    def only():
        return NodeBuilder().subscribe_only("a")

    return [
        run(only()),
        run(only().add_cache_policy(CachePolicy())),
        run(only(), cache_policy=CachePolicy()),
    ]


async def case_timeouts(env):
    async def hang(a):
        await asyncio.sleep(30)

    def app(node, **given):
        return double(nodes={"n": node.do(hang).write_to("b")}, **given)

    def only():
        return NodeBuilder().subscribe_only("a")

    built = only().set_timeout(3).build()
    return [
        built.timeout.run_timeout,
        only().build().timeout,
        await env.aerror(app(only().set_timeout(0.05)).ainvoke({"a": "x"})),
        await env.aerror(app(only(), step_timeout=0.05).ainvoke({"a": "x"})),
    ]


def case_outputs_that_live_for_one_step(env):
    def app(**changes):
        one = NodeBuilder().subscribe_only("a").do(lambda a: a + 1).write_to("b", "c")
        two = NodeBuilder().subscribe_only("c").do(lambda c: c + 1).write_to("d")
        channels = {"a": EphemeralValue(int), "b": EphemeralValue(int)}
        channels |= {"c": LastValue(int), "d": LastValue(int)}
        given = {"input_channels": "a", "output_channels": "b", **changes}
        return Pregel(nodes={"one": one, "two": two}, channels=channels, **given)

    saved = app(checkpointer=env.saver(), interrupt_before_nodes=["two"], output_channels=["b"])
    return [
        app().invoke(1),
        app(output_channels=["b"]).invoke(1),
        app(output_channels=["b", "d"]).invoke(1),
        list(app(output_channels=["b", "d"]).stream(1)),
        list(app().stream(1, output_keys="b")),
        [saved.invoke(1, CONFIG), saved.invoke(None, CONFIG)],
    ]


def case_tags_of_a_node(env):
    one = NodeBuilder().subscribe_only("a").do(lambda a: a + 1).write_to("b").meta("x", "y", k=1)
    channels = {"a": EphemeralValue(int), "b": LastValue(int)}
    app = Pregel(nodes={"one": one}, channels=channels, input_channels="a", output_channels="b")
    config = {"tags": ["mine"], "metadata": {"m": 2}}
    return list(app.stream(1, stream_mode="tasks")), list(
        app.stream(1, config, stream_mode="debug")
    )
