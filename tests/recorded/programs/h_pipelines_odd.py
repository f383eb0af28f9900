"""QueryPipeline in odd uses: components by hand, fields, printed runs, shared modules, failures."""

import contextlib
import io
import re
from typing import Any

from llama_index.core.base.query_pipeline.query import (
    InputKeys,
    Link,
    OutputKeys,
    QueryComponent,
)
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.query_pipeline import (
    CustomQueryComponent,
    FnComponent,
    InputComponent,
    LoopComponent,
    QueryPipeline,
)


def upper(text: str) -> str:
    return text.upper()


def strip(text: str) -> str:
    return text.strip()


def fn(function, **options):
    return FnComponent(fn=function, **options)


class ByHand(QueryComponent):
    """Defines everything itself."""

    def set_callback_manager(self, callback_manager: Any) -> None:
        pass

    def _validate_component_inputs(self, input: dict[str, Any]) -> dict[str, Any]:
        return {**input, "text": str(input["text"])}

    def _validate_component_outputs(self, output: dict[str, Any]) -> dict[str, Any]:
        return output

    def _run_component(self, **kwargs: Any) -> dict[str, Any]:
        return {"text": kwargs["text"] + "!", "size": len(kwargs["text"])}

    async def _arun_component(self, **kwargs: Any) -> dict[str, Any]:
        return {"text": kwargs["text"] + "?", "size": len(kwargs["text"])}

    @property
    def input_keys(self) -> InputKeys:
        return InputKeys.from_keys({"text"})

    @property
    def output_keys(self) -> OutputKeys:
        return OutputKeys.from_keys({"text", "size"})


class Fields(CustomQueryComponent):
    """Has fields of all kinds."""

    llm: Any = Field(..., description="A model.")
    names: list[str] = Field(default_factory=list)
    system_prompt: str | None = Field(default=None, description="A prompt.")
    _calls: int = PrivateAttr(default=0)

    @property
    def _input_keys(self) -> set:
        """Inputs."""
        return {"movie"}

    @property
    def _output_keys(self) -> set:
        return {"output"}

    def _run_component(self, **kwargs) -> dict[str, Any]:
        """Run."""
        self._calls += 1
        self.names.append(kwargs["movie"])
        return {"output": (self.llm(kwargs["movie"]), list(self.names), self._calls)}


class Model:
    def __call__(self, text):
        return f"model of {text}"


def case_component_by_hand(env):
    c = ByHand()
    p = QueryPipeline(chain=[c])
    q = QueryPipeline(modules={"hand": ByHand(), "up": fn(upper)})
    q.add_link("hand", "up", src_key="text")
    return c.run_component(text=3), p.run(text="x"), q.run(text="x"), p.run("y")


async def case_component_by_hand_async(env):
    p = QueryPipeline(chain=[ByHand()])
    return await p.arun(text="x"), await ByHand().arun_component(text="x")


def case_fields(env):
    c = Fields(llm=Model())
    p = QueryPipeline(chain=[c])
    return p.run(movie="a"), p.run(movie="b"), c.names, c.system_prompt, Fields(llm=Model()).names


def case_wrong_fields(env):
    def made(**values):
        try:
            return type(Fields(**values)).__name__
        except ValueError:  # pydantic's
            return "ValueError"

    return made(llm=1), made(), made(llm=1, names="x")


def case_positional_values(env):
    return (
        QueryPipeline(chain=[fn(lambda x: [x])]).run(("a", "b")),
        QueryPipeline(chain=[fn(lambda x: [x])]).run(["a"]),
        QueryPipeline(chain=[fn(lambda x: [x])]).run(""),
        QueryPipeline(chain=[fn(lambda x: [x])]).run(False),
    )


def printed(run):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run()
    text = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def case_printed(env):
    p = QueryPipeline(
        modules={"input": InputComponent(), "strip": fn(strip), "up": fn(upper)}, verbose=True
    )
    p.add_link("input", "strip", src_key="text")
    p.add_link("strip", "up")
    return printed(lambda: p.run(text=" hi "))


def case_printed_long(env):
    p = QueryPipeline(modules={"strip": fn(strip)}, verbose=True)
    return [len(line) > 150 for line in printed(lambda: p.run(text="x" * 5000))]


def case_one_component_twice(env):
    c = fn(strip)
    p = QueryPipeline(modules={"a": c, "b": c})
    p.add_link("a", "b")
    return p.run(" x ")


def case_default_values(env):
    def greet(name, greeting="Hi", *, mark="!"):
        return f"{greeting} {name}{mark}"

    p = QueryPipeline(chain=[fn(greet)])
    q = QueryPipeline(modules={"in": InputComponent(), "greet": fn(greet)})
    q.add_link("in", "greet", src_key="who", dest_key="name")
    q.add_link("in", "greet", src_key="how", dest_key="mark")
    return p.run("a"), p.run(name="a", mark="?"), q.run(who="b", how=".")


def case_generators_and_none(env):
    p = QueryPipeline(chain=[fn(lambda x: None), fn(lambda y: y is None)])
    return p.run("x")


def case_two_pipelines_share_a_module(env):
    c = fn(strip)
    one, two = QueryPipeline(chain=[c]), QueryPipeline(chain=[c, fn(upper)])
    return one.run(" a "), two.run(" a ")


def case_failure_then_success(env):
    state = {"n": 0}

    def flaky(text):
        state["n"] += 1
        if state["n"] == 1:
            raise RuntimeError("once")
        return text

    p = QueryPipeline(chain=[fn(strip), fn(flaky)])
    return env.error(lambda: p.run(" x")), p.run(" x")


def case_grows_after_a_run(env):
    p = QueryPipeline(modules={"strip": fn(strip)})
    first = p.run(" x ")
    p.add("up", fn(upper))
    p.add_link("strip", "up")
    return first, p.run(" x ")


def case_async_function(env):
    async def later(text):
        return text.upper()

    def now(text):
        return text.lower()

    c = FnComponent(fn=now, async_fn=later)
    return QueryPipeline(chain=[c]).run("Ab")


async def case_async_function_async(env):
    async def later(text):
        return text.upper()

    def now(text):
        return text.lower()

    c = FnComponent(fn=now, async_fn=later)
    return await QueryPipeline(chain=[c]).arun("Ab"), await QueryPipeline(chain=[fn(now)]).arun(
        "Ab"
    )


def case_link_fields(env):
    one = Link("a", "b", src_key="x", dest_key="y")
    return one.src, one.dest, one.src_key, one.dest_key, one.condition_fn, one.input_fn


def case_diamond(env):
    p = QueryPipeline(
        modules={
            "in": InputComponent(),
            "a": fn(strip),
            "b": fn(lambda x: x + "b"),
            "c": fn(lambda x: x + "c"),
            "d": fn(lambda left, right, top: f"{left}{right}{top}"),
        }
    )
    p.add_link("in", "a", src_key="q")
    p.add_link("a", "b")
    p.add_link("a", "c")
    p.add_link("b", "d", dest_key="left")
    p.add_link("c", "d", dest_key="right")
    p.add_link("a", "d", dest_key="top")
    out, seen = p.run_with_intermediates(q=" x ")
    return out, {k: (v.inputs, v.outputs) for k, v in seen.items()}


def case_same_value_to_two_inputs(env):
    p = QueryPipeline(modules={"a": fn(strip), "b": fn(lambda x, y: x + y)})
    p.add_link("a", "b", dest_key="x")
    p.add_link("a", "b", dest_key="y")
    return p.run(" q ")


def case_module_names(env):
    def made(name):
        return QueryPipeline(modules={name: fn(strip)}).run(" x ")

    return [env.error(lambda n=n: made(n)) for n in ("a b", "a-b", "日本", "1", "A")]


def case_module_names_of_all_kinds(env):
    def made(name):
        return QueryPipeline(modules={name: fn(strip)}).run(" x ")

    return [env.error(lambda n=n: made(n)) for n in ("", "a.b", "a:b", "a|b", "__x__", "__end__")]


def counting(**options):
    return LoopComponent(
        pipeline=QueryPipeline(chain=[fn(lambda n: n + 1)]),
        add_output_to_input_fn=lambda inputs, outputs: {"n": outputs["output"]},
        **options,
    )


def case_loops(env):
    enough = counting(should_exit_fn=lambda outputs: outputs["output"] >= 3, max_iterations=10)
    same = LoopComponent(pipeline=QueryPipeline(chain=[fn(lambda n: n + 1)]), max_iterations=3)
    return (
        enough.run_component(n=0),
        QueryPipeline(chain=[enough, fn(lambda n: [n])]).run(n=0),
        counting().run_component(n=0),
        same.run_component(n=0),
        sorted(enough.input_keys.required_keys),
        sorted(enough.output_keys.required_keys),
    )


async def case_loops_async(env):
    return await QueryPipeline(chain=[counting(max_iterations=4)]).arun(n=0)
