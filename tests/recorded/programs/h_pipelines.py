"""QueryPipeline: modules, links, chains, conditions, intermediates, batches, errors."""

from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.query_pipeline import (
    ArgPackComponent,
    CustomQueryComponent,
    FnComponent,
    FunctionComponent,
    InputComponent,
    Link,
    QueryPipeline,
)


def upper(text: str) -> str:
    return text.upper()


def strip(text: str) -> str:
    return text.strip()


def join(a: str, b: str) -> str:
    return f"{a}+{b}"


def times(text: str, n: int = 2) -> str:
    return text * n


def fn(function, **options):
    return FnComponent(fn=function, **options)


class Splitter(CustomQueryComponent):
    """Gives two outputs."""

    sep: str = Field(default=" ", description="What separates.")

    @property
    def _input_keys(self) -> set:
        return {"text"}

    @property
    def _output_keys(self) -> set:
        return {"first", "rest"}

    def _run_component(self, **kwargs) -> dict[str, Any]:
        first, rest = kwargs["text"].split(self.sep, 1)
        return {"first": first, "rest": rest}


class Tagger(CustomQueryComponent):
    """Has an optional input, and validates."""

    tag: str = "t"

    def _validate_component_inputs(self, input: dict[str, Any]) -> dict[str, Any]:
        if input.get("text") == "bad":
            raise ValueError("bad text")
        return input

    @property
    def _input_keys(self) -> set:
        return {"text"}

    @property
    def _optional_input_keys(self) -> set:
        return {"mark"}

    @property
    def _output_keys(self) -> set:
        return {"output"}

    def _run_component(self, **kwargs) -> dict[str, Any]:
        return {"output": f"{self.tag}:{kwargs.get('mark', '-')}:{kwargs['text']}"}


def keys_of(component):
    keys = component.input_keys
    return (
        sorted(keys.required_keys),
        sorted(keys.optional_keys),
        sorted(component.output_keys.required_keys),
    )


def parts(seen):
    return {name: (one.inputs, one.outputs) for name, one in seen.items()}


def fork():
    p = QueryPipeline(
        modules={
            "input": InputComponent(),
            "up": fn(upper),
            "strip": fn(strip),
            "join": fn(join),
        }
    )
    p.add_link("input", "up", src_key="text")
    p.add_link("input", "strip", src_key="text")
    p.add_link("up", "join", dest_key="a")
    p.add_link("strip", "join", dest_key="b")
    return p


def case_chain(env):
    p = QueryPipeline(chain=[fn(strip), fn(upper)])
    return p.run(" hi "), p.run(text=" hi ")


def case_chain_of_two_of_one_class(env):
    p = QueryPipeline(chain=[fn(strip), fn(upper), fn(times)])
    return p.run(" hi ")


def case_fork(env):
    return fork().run(text=" hi ")


async def case_fork_async(env):
    return await fork().arun(text=" hi ")


def case_fork_positional(env):
    return env.error(lambda: fork().run(" hi "))


def case_one_positional_through_input(env):
    p = QueryPipeline(modules={"input": InputComponent(), "up": fn(upper)})
    p.add_link("input", "up")
    return env.error(lambda: p.run(" hi ")), p.run(text=" hi "), p.run(anything=" hi ")


def case_two_values_through_input(env):
    p = QueryPipeline(modules={"input": InputComponent(), "join": fn(join)})
    p.add_link("input", "join", src_key="x", dest_key="a")
    p.add_link("input", "join", src_key="y", dest_key="b")
    return p.run(x="1", y="2"), env.error(lambda: p.run(x="1")), env.error(lambda: p.run("1"))


def case_more_than_was_linked(env):
    p = QueryPipeline(modules={"input": InputComponent(), "up": fn(upper)})
    p.add_link("input", "up", src_key="text")
    return env.error(lambda: p.run(text="a", more="b"))


def case_intermediates(env):
    out, seen = fork().run_with_intermediates(text=" hi ")
    return out, parts(seen)


async def case_intermediates_async(env):
    out, seen = await fork().arun_with_intermediates(text=" hi ")
    return out, parts(seen)


def two_ended():
    p = QueryPipeline(
        modules={"a": fn(upper), "b": fn(strip), "c": fn(join), "d": fn(upper), "e": fn(times)}
    )
    p.add_link("a", "c", dest_key="a")
    p.add_link("b", "c", dest_key="b")
    p.add_link("c", "d")
    p.add_link("c", "e", dest_key="text")
    return p


def case_run_multi(env):
    return two_ended().run_multi({"a": {"text": "x"}, "b": {"text": " y "}})


async def case_run_multi_async(env):
    return await two_ended().arun_multi({"a": {"text": "x"}, "b": {"text": " y "}})


def case_run_multi_with_intermediates(env):
    out, seen = two_ended().run_multi_with_intermediates({"a": {"text": "x"}, "b": {"text": " y "}})
    return out, parts(seen)


async def case_run_multi_with_intermediates_async(env):
    given = {"a": {"text": "x"}, "b": {"text": " y "}}
    out, seen = await two_ended().arun_multi_with_intermediates(given)
    return out, parts(seen)


def case_run_multi_of_one(env):
    p = QueryPipeline(modules={"up": fn(upper)})
    return p.run_multi({"up": {"text": "x"}})


def case_run_multi_errors(env):
    p = two_ended()
    return (
        env.error(lambda: p.run_multi({"a": {"text": "x"}})),
        env.error(lambda: p.run_multi({"a": {"text": "x"}, "b": {"text": "y"}, "z": {}})),
        env.error(lambda: p.run_multi({"a": {"text": "x"}, "b": {"tixt": "y"}})),
        env.error(lambda: p.run("x")),
        env.error(lambda: p.run(text="x")),
    )


def case_return_values_direct(env):
    p = QueryPipeline(chain=[fn(strip), fn(upper)])
    q = QueryPipeline(modules={"split": Splitter()})
    return (
        p.run(" hi ", return_values_direct=False),
        q.run("a b c"),
        q.run("a b c", return_values_direct=False),
    )


def case_batch(env):
    p = QueryPipeline(chain=[fn(strip), fn(upper)])
    return p.run(text=[" a", " b"], batch=True), p.run([" a", " b"], batch=True)


async def case_batch_async(env):
    p = QueryPipeline(chain=[fn(strip), fn(upper)])
    return await p.arun(text=[" a", " b"], batch=True)


def case_batch_multi(env):
    p = two_ended()
    return p.run_multi({"a": {"text": ["x", "z"]}, "b": {"text": [" y ", " w "]}}, batch=True)


def case_batch_with_intermediates(env):
    p = QueryPipeline(chain=[fn(strip), fn(upper)])
    return env.error(lambda: p.run_with_intermediates(text=[" a", " b"], batch=True))


def case_two_outputs(env):
    p = QueryPipeline(modules={"split": Splitter(sep="-"), "join": fn(join)})
    p.add_link("split", "join", src_key="first", dest_key="b")
    p.add_link("split", "join", src_key="rest", dest_key="a")
    return p.run(text="x-y-z")


def case_custom_component(env):
    c = Tagger(tag="q")
    p = QueryPipeline(chain=[c])
    return (
        c.run_component(text="x"),
        c.run_component(text="x", mark="!"),
        p.run("x"),
        p.run(text="x", mark="?"),
        env.error(lambda: p.run(text="bad")),
        env.error(lambda: c.run_component()),
        env.error(lambda: c.run_component(text="x", other="y")),
        keys_of(c),
    )


async def case_custom_component_async(env):
    class Async(Tagger):
        async def _arun_component(self, **kwargs):
            return {"output": f"async:{kwargs['text']}"}

    p = QueryPipeline(chain=[Async(tag="q")])
    return await p.arun("x"), p.run("x")


def case_partial(env):
    c = fn(times)
    c.partial(n=3)
    p = QueryPipeline(chain=[c])
    return p.run("x"), c.run_component(text="y"), c.partial_dict


def case_partial_of_required(env):
    c = fn(join)
    c.partial(a="A")
    p = QueryPipeline(chain=[fn(upper), c])
    return p.run("x"), sorted(c.free_req_input_keys)


def case_partial_after_it_was_added(env):
    c = fn(join)
    p = QueryPipeline(modules={"up": fn(upper), "join": c})
    c.partial(b="B")
    p.add_link("up", "join", dest_key="a")
    return p.run("x")


def case_partial_and_given(env):
    c = fn(times)
    c.partial(n=3)
    return c.run_component(text="x", n=1)


def case_function_keys(env):
    def both(a, b=1, *, c, d=2):
        return [a, b, c, d]

    return (
        keys_of(fn(both)),
        keys_of(fn(both, output_key="all")),
        keys_of(fn(both, req_params={"a"}, opt_params={"c"})),
        fn(both).run_component(a=1, c=2),
        fn(both, output_key="all").run_component(a=1, c=2, d=3),
        FunctionComponent is not None,
        keys_of(FunctionComponent(fn=both)),
    )


def case_function_errors(env):
    c = fn(join)
    return (
        env.error(lambda: c.run_component(a="1")),
        env.error(lambda: c.run_component(a="1", b="2", z="3")),
    )


def case_links_by_hand(env):
    p = QueryPipeline(
        modules={"up": fn(upper), "join": fn(join), "low": fn(strip), "in": InputComponent()},
        links=[
            Link("in", "up", src_key="t"),
            Link("in", "low", src_key="t"),
            Link("up", "join", dest_key="a"),
            Link(src="low", dest="join", dest_key="b"),
        ],
    )
    more = QueryPipeline(modules={"up": fn(upper), "strip": fn(strip)})
    more.add_links([Link("strip", "up")])
    return p.run(t=" x "), more.run(" y ")


def case_condition(env):
    p = QueryPipeline(
        modules={"route": fn(strip), "yes": fn(upper), "no": fn(times)},
    )
    p.add_link("route", "yes", condition_fn=lambda x: x == "y")
    p.add_link("route", "no", dest_key="text", condition_fn=lambda x: x != "y")
    return p.run_multi({"route": {"text": "y"}}), p.run_multi({"route": {"text": "n"}})


def case_condition_and_one_end(env):
    p = QueryPipeline(
        modules={"route": fn(strip), "yes": fn(upper), "no": fn(times)},
    )
    p.add_link("route", "yes", condition_fn=lambda x: x == "y")
    p.add_link("route", "no", dest_key="text", condition_fn=lambda x: x != "y")
    return env.error(lambda: p.run("y"))


def joined_condition():
    p = QueryPipeline(
        modules={
            "route": fn(strip),
            "yes": fn(upper),
            "no": fn(times),
            "end": fn(lambda **kw: sorted(kw.items()), req_params=set(), opt_params={"a", "b"}),
        },
    )
    p.add_link("route", "yes", condition_fn=lambda x: x == "y")
    p.add_link("route", "no", dest_key="text", condition_fn=lambda x: x != "y")
    p.add_link("yes", "end", dest_key="a")
    p.add_link("no", "end", dest_key="b")
    return p


def case_condition_joins(env):
    return env.error(lambda: joined_condition().run("y")), env.error(
        lambda: joined_condition().run("n")
    )


def case_input_fn(env):
    p = QueryPipeline(modules={"strip": fn(strip), "up": fn(upper)})
    p.add_link("strip", "up", input_fn=lambda x: f"<{x}>")
    return p.run(" a ")


def case_input_fn_and_condition(env):
    p = QueryPipeline(modules={"strip": fn(strip), "up": fn(upper)})
    p.add_link("strip", "up", input_fn=lambda x: f"<{x}>", condition_fn=lambda x: x == "a")
    return p.run(" a "), env.error(lambda: p.run(" b "))


def case_condition_from_input(env):
    p = QueryPipeline(modules={"in": InputComponent(), "yes": fn(upper), "no": fn(times)})
    p.add_link("in", "yes", src_key="t", condition_fn=lambda x: x == "y")
    p.add_link("in", "no", src_key="t", dest_key="text", condition_fn=lambda x: x != "y")
    return p.run_multi({"in": {"t": "y"}})


def case_ways_that_conditions_join(env):
    def p():
        made = QueryPipeline(
            modules={
                "in": InputComponent(),
                "up": fn(upper),
                "twice": fn(times),
                "end": fn(lambda text: f"<{text}>"),
            }
        )
        made.add_link("in", "up")
        made.add_link("in", "twice", dest_key="text")
        made.add_link("up", "end", condition_fn=lambda x: x == "Y")
        made.add_link("twice", "end", condition_fn=lambda x: x != "yy")
        return made

    return p().run(t="y"), p().run(t="n")


def case_arg_pack(env):
    p = QueryPipeline(
        modules={
            "in": InputComponent(),
            "up": fn(upper),
            "strip": fn(strip),
            "pack": ArgPackComponent(),
            "show": fn(lambda input: list(input)),
        }
    )
    p.add_link("in", "up", src_key="t")
    p.add_link("in", "strip", src_key="t")
    p.add_link("up", "pack", dest_key="one")
    p.add_link("strip", "pack", dest_key="two")
    p.add_link("pack", "show")
    return p.run(t=" x ")


def case_arg_pack_alone(env):
    return (
        ArgPackComponent().run_component(a=1, b=2),
        ArgPackComponent(convert_fn=str).run_component(a=1, b=2),
        keys_of(ArgPackComponent()),
    )


def case_input_alone(env):
    return InputComponent().run_component(a=1, b=2), keys_of(InputComponent())


def case_nested(env):
    inner = QueryPipeline(chain=[fn(strip), fn(upper)])
    outer = QueryPipeline(modules={"inner": inner, "twice": fn(times)})
    outer.add_link("inner", "twice", dest_key="text")
    return outer.run(text=" hi "), keys_of(inner)


def case_nested_two_outputs(env):
    inner = QueryPipeline(chain=[fn(strip), Splitter()])
    outer = QueryPipeline(modules={"inner": inner, "join": fn(join)})
    outer.add_link("inner", "join", src_key="first", dest_key="a")
    outer.add_link("inner", "join", src_key="rest", dest_key="b")
    return outer.run(text=" a b "), keys_of(inner)


def case_errors_while_building(env):
    def p():
        return QueryPipeline(modules={"up": fn(upper), "join": fn(join), "split": Splitter()})

    def cycle():
        one = QueryPipeline(modules={"a": fn(upper), "b": fn(strip)})
        one.add_link("a", "b")
        one.add_link("b", "a")
        return one.run("x")

    return (
        env.error(lambda: p().add("up", fn(upper))),
        env.error(lambda: p().add_link("up", "nowhere")),
        env.error(lambda: p().add_link("nowhere", "up")),
        env.error(lambda: p().add_link("up", "join")),
        env.error(lambda: p().add_link("up", "join", dest_key="c")),
        env.error(lambda: p().add_link("split", "up")),
        env.error(lambda: p().add_link("split", "up", src_key="none")),
        env.error(cycle),
        env.error(lambda: p().add("x", "text")),
        env.error(lambda: QueryPipeline().run("x")),
    )


def case_errors_of_modules(env):
    def broken(text):
        raise KeyError(text)

    p = QueryPipeline(chain=[fn(strip), fn(broken)])
    return env.error(lambda: p.run(" x "))


def case_wrong_inputs(env):
    p = QueryPipeline(chain=[fn(join)])
    return (
        p.run(a="1", b="2"),
        env.error(lambda: p.run("1")),
        env.error(lambda: p.run(a="1")),
        env.error(lambda: p.run(a="1", b="2", c="3")),
        env.error(lambda: p.run("1", "2")),
        env.error(lambda: p.run("1", b="2")),
    )


def case_missing_link(env):
    p = QueryPipeline(modules={"up": fn(upper), "join": fn(join)})
    p.add_link("up", "join", dest_key="a")
    return env.error(lambda: p.run("x"))


def case_positional_after_optional(env):
    p = QueryPipeline(chain=[fn(times)])
    return p.run("x"), p.run(text="x", n=3), env.error(lambda: p.run("x", n=3))


def case_roots_and_leaves(env):
    p = two_ended()
    return sorted(p.get_root_keys()), sorted(p.get_leaf_keys())


def case_add_chain(env):
    p = QueryPipeline(modules={"up": fn(upper), "strip": fn(strip), "times": fn(times)})
    p.add_chain(["strip", "up", "times"])
    return p.run(" a ")


def case_chain_of_names_and_modules(env):
    p = QueryPipeline(modules={"input": InputComponent()})
    p.add_chain(["input", fn(strip), fn(upper)])
    return p.run(text=" a ")


def case_modules_by_name(env):
    p = fork()
    return sorted(p.module_dict), type(p.module_dict["up"]).__name__


def case_links_before_modules(env):
    p = QueryPipeline()
    return env.error(lambda: p.add_link("a", "b"))


def case_values_pass_as_they_are(env):
    p = QueryPipeline(chain=[fn(lambda x: x), fn(lambda y: [y, type(y).__name__])])
    return p.run(x=None), p.run(x=[]), p.run(x={"a": 1}), p.run({"a": 1}), p.run(0)


def case_unlinked_module(env):
    p = QueryPipeline(modules={"up": fn(upper), "strip": fn(strip), "alone": fn(times)})
    p.add_link("strip", "up")
    return env.error(lambda: p.run("x")), p.run_multi(
        {"strip": {"text": " x"}, "alone": {"text": "y"}}
    )


def case_ways_that_join(env):
    def ways(end, *keys):
        p = QueryPipeline(
            modules={"route": fn(strip), "yes": fn(upper), "no": fn(times), "end": fn(end)}
        )
        p.add_link("route", "yes", condition_fn=lambda x: x == "y")
        p.add_link("route", "no", dest_key="text", condition_fn=lambda x: x != "y")
        p.add_link("yes", "end", dest_key=keys[0])
        p.add_link("no", "end", dest_key=keys[-1])
        return p

    def one(x):
        return f"<{x}>"

    joined, lacking = ways(one, "x"), ways(join, "a", "b")
    return (
        joined.run("y"),
        joined.run("n"),
        joined.run_multi({"route": {"text": "n"}}),
        parts(joined.run_with_intermediates("y")[1]),
        lacking.run("y"),
        lacking.run("n"),
    )


def case_conditions_of_no_way_and_of_two(env):
    def ways(first, second):
        p = QueryPipeline(modules={"a": fn(strip), "b": fn(upper), "c": fn(times)})
        p.add_link("a", "b", condition_fn=lambda x: first)
        p.add_link("a", "c", dest_key="text", condition_fn=lambda x: second)
        return p

    given = {"a": {"text": "x"}}
    return (
        ways(False, False).run("x"),
        ways(False, False).run_multi(given),
        ways("yes", "").run("x"),
        ways(True, True).run_multi(given),
    )


def case_agents_way(env):
    def decide(text):
        return {"done": "end" in text, "text": text}

    p = QueryPipeline(
        modules={
            "in": InputComponent(),
            "decide": fn(decide),
            "work": fn(upper),
            "answer": fn(strip),
            "last": fn(lambda response: [response]),
        }
    )
    p.add_link("in", "decide", src_key="task", dest_key="text")
    for name, done in (("work", False), ("answer", True)):
        p.add_link(
            "decide",
            name,
            condition_fn=lambda x, done=done: x["done"] is done,
            input_fn=lambda x: x["text"],
        )
    p.add_link("answer", "last")
    p.add_link("work", "last")
    return p.run(task="go on"), p.run(task=" the end ")


def case_errors_of_conditions(env):
    def p(**functions):
        made = QueryPipeline(modules={"a": fn(strip), "b": fn(upper)})
        made.add_link("a", "b", **functions)
        return made

    return (
        env.error(lambda: p(condition_fn=lambda x: 1 / 0).run("x")),
        env.error(lambda: p(input_fn=lambda x: x.nothing).run("x")),
    )


def case_more_batches(env):
    p = QueryPipeline(modules={"join": fn(join)})
    return (
        p.run(a=["1", "2"], b=["3", "4"], batch=True),
        p.run(a=["1", "2"], b=["3", "4"], batch=True, return_values_direct=False),
        p.run(a=[], b=[], batch=True),
        env.error(lambda: p.run(a=["1", "2"], b=["3"], batch=True)),
    )


def case_outputs_of_a_wrong_name(env):
    class Wrong(Tagger):
        def _run_component(self, **kwargs):
            return {"wrong": 1}

    class More(Tagger):
        def _run_component(self, **kwargs):
            return {"output": 1, "more": 2}

    class Changed(Tagger):
        def _validate_component_outputs(self, output):
            return {"output": [output["output"]]}

    return (
        env.error(lambda: Wrong().run_component(text="x")),
        env.error(lambda: QueryPipeline(chain=[More()]).run(text="x")),
        Changed().run_component(text="x"),
    )


def case_name_of_the_output(env):
    p = QueryPipeline(chain=[fn(strip, output_key="bare")])
    outer = QueryPipeline(modules={"inner": p, "up": fn(upper)})
    outer.add_link("inner", "up", src_key="bare")
    return p.run("x"), p.run("x", return_values_direct=False), keys_of(p), outer.run(text="a")


def case_nested_with_an_input(env):
    inner = QueryPipeline(modules={"in": InputComponent(), "up": fn(upper)})
    inner.add_link("in", "up", src_key="q")
    outer = QueryPipeline(modules={"strip": fn(strip), "inner": inner})
    outer.add_link("strip", "inner", dest_key="q")
    return outer.run(" x")


def case_chain_from_an_input(env):
    return QueryPipeline(chain=[InputComponent(), fn(strip)]).run(text=" x")
