"""create_agent: what it promises beyond what the differential programs compare with the peer."""

import operator
from typing import Annotated, Any, NotRequired

import pytest
from pydantic import BaseModel

from plait.agents import AgentState, create_agent
from plait.agents.middleware import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    after_agent,
    after_model,
    before_agent,
    before_model,
    hook_config,
    wrap_model_call,
    wrap_tool_call,
)
from plait.agents.middleware.types import OmitFromInput, PrivateStateAttr
from plait.agents.structured_output import (
    ProviderStrategy,
    StructuredOutputValidationError,
    ToolStrategy,
)
from plait.chat_models import init_chat_model
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import (
    ConfigError,
    DuplicateMiddlewareError,
    InvalidNodeError,
    InvalidUpdateError,
    NotSupportedError,
    UndeclaredJumpError,
    UnknownKeyWarning,
)
from plait.messages import AIMessage, SystemMessage, ToolMessage
from plait.prebuilt import ToolNode, create_react_agent
from plait.prebuilt.tool_node import ToolPolicy
from plait.stream import CustomTransformer, UpdatesTransformer
from plait.testing.models import ScriptedChatModel
from plait.tools import tool
from plait.types import Command, RetryPolicy
from plait.warnings import BetaWarning

USER: Any = {"messages": [("user", "hi")]}
THREAD: Any = {"configurable": {"thread_id": "1"}}


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def call(name: str, id: str = "1", **args: Any) -> Any:
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


ADD = AIMessage("", tool_calls=[call("add", a=1, b=2)])


def texts(result: Any) -> list[str]:
    return [one.text for one in result["messages"]]


def jumping(kind: str, jump: str, declared: Any = None) -> Any:
    made = {"before_agent": before_agent, "before_model": before_model, "after_agent": after_agent}
    return made[kind](name="Jump", can_jump_to=declared)(lambda state, runtime: {"jump_to": jump})


# --- jumps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "jump"),
    [("before_agent", "end"), ("before_model", "end"), ("before_model", "tools"),
     ("after_agent", "model"), ("before_model", "nowhere")],
)  # fmt: skip
def test_a_jump_that_was_not_declared_is_an_error_that_names_the_hook(kind: str, jump: str) -> None:
    agent = create_agent(ScriptedChatModel(["a"]), [add], middleware=[jumping(kind, jump)])
    with pytest.raises(UndeclaredJumpError, match=f"'Jump.{kind}' set jump_to='{jump}'"):
        agent.invoke(USER)


@pytest.mark.parametrize(("kind", "jump"), [("before_model", "model"), ("after_agent", "end")])
def test_a_jump_that_leads_where_the_hook_leads_anyway_needs_no_declaration(
    kind: str, jump: str
) -> None:
    agent = create_agent(ScriptedChatModel(["a"]), [add], middleware=[jumping(kind, jump)])
    assert texts(agent.invoke(USER)) == ["hi", "a"]


def test_a_jump_to_the_end_after_the_agent_ends_it() -> None:
    runs: list[str] = []

    def hook(name: str, **update: Any) -> Any:
        def run(state: Any, runtime: Any) -> Any:
            runs.append(name)
            return update

        return after_agent(name=name, can_jump_to=["end"])(run)

    middleware = [hook("last"), hook("first", jump_to="end")]
    create_agent(ScriptedChatModel(["a"]), middleware=middleware).invoke(USER)
    assert runs == ["first"]


def test_a_hook_that_may_jump_to_tools_needs_tools() -> None:
    with pytest.raises(ConfigError, match=r"Jump.before_model may jump to 'tools'"):
        create_agent(
            ScriptedChatModel([]), middleware=[jumping("before_model", "tools", ["tools"])]
        )


@pytest.mark.parametrize("place", ["last", "not the last"])
@pytest.mark.parametrize(
    ("kept", "told"),
    [((), ["3", "7"]), (("1",), ["kept 1", "7"]), (("2", "1"), ["kept 2", "kept 1"])],
)
def test_a_jump_to_tools_runs_the_calls_that_nobody_has_answered(
    place: str, kept: tuple[str, ...], told: list[str]
) -> None:
    @after_model(can_jump_to=["tools"])
    def jump(state: Any, runtime: Any) -> Any:
        if state["messages"][-1].text:
            return None
        answers = [ToolMessage(f"kept {id}", tool_call_id=id) for id in kept]
        return {"jump_to": "tools", "messages": answers}

    @after_model
    def other(state: Any, runtime: Any) -> None:
        pass

    both = AIMessage("", tool_calls=[call("add", a=1, b=2), call("add", "2", a=3, b=4)])
    hooks: Any = [jump, other] if place == "last" else [other, jump]  # they run in reverse
    agent = create_agent(ScriptedChatModel([both, "done"]), [add], middleware=hooks)
    heard = [m.text for m in agent.invoke(USER)["messages"]]
    assert heard == ["hi", "", *told, "done"]


def test_a_wrapper_of_the_model_cannot_jump() -> None:
    def wrap(request: Any, handler: Any) -> Any:
        return ExtendedModelResponse(handler(request), Command(update={"jump_to": "end"}))

    agent = create_agent(ScriptedChatModel(["a"]), middleware=[wrap_model_call(wrap)])
    with pytest.raises(UndeclaredJumpError, match="'wrap' sets jump_to"):
        agent.invoke(USER)


async def test_a_jump_of_an_async_hook_is_declared_by_its_own_method() -> None:
    class Stops(AgentMiddleware):
        @hook_config(can_jump_to=["end"])
        async def abefore_model(self, state: Any, runtime: Any) -> Any:
            return {"jump_to": "end"}

    agent = create_agent(ScriptedChatModel([]), middleware=[Stops()])
    assert texts(await agent.ainvoke(USER)) == ["hi"]
    with pytest.raises(InvalidNodeError, match=r"'Stops.before_model'.*ainvoke"):
        agent.invoke(USER)


# --- state ---------------------------------------------------------------------------------------


def test_a_reducer_holds_whatever_mark_stands_behind_it() -> None:
    class State(AgentState):
        seen: NotRequired[Annotated[list[str], operator.add, OmitFromInput]]

    @before_agent(state_schema=State)
    def one(state: Any, runtime: Any) -> Any:
        return {"seen": ["one"]}

    @before_agent(state_schema=State)
    def two(state: Any, runtime: Any) -> Any:
        return {"seen": ["two"]}

    agent = create_agent(ScriptedChatModel(["a"]), middleware=[one, two])
    assert agent.invoke(USER)["seen"] == ["one", "two"]


def test_a_private_key_comes_from_no_caller_and_goes_to_none() -> None:
    class State(AgentState):
        secret: NotRequired[Annotated[str, PrivateStateAttr]]

    seen: list[Any] = []

    @before_model(state_schema=State)
    def look(state: Any, runtime: Any) -> Any:
        seen.append(state.get("secret"))
        return {"secret": "made inside"}

    agent = create_agent(
        ScriptedChatModel(["a", "b"]), middleware=[look], checkpointer=InMemorySaver()
    )
    with pytest.warns(UnknownKeyWarning, match="secret"):
        result = agent.invoke({**USER, "secret": "from outside"}, THREAD)
    assert "secret" not in result
    assert "secret" not in agent.invoke(USER, THREAD)
    assert seen == [None, "made inside"]


def test_a_state_without_messages_is_refused() -> None:
    class Wrong:
        z: int

    for schema in (Wrong, int):
        with pytest.raises(ConfigError, match=r"state|messages"):
            create_agent(ScriptedChatModel([]), state_schema=schema, middleware=[])


class Weather(BaseModel):
    """The weather."""

    degrees: int


def test_a_structured_response_is_stored_without_registering_its_class(tmp_path: Any) -> None:
    answer = AIMessage("", tool_calls=[call("Weather", degrees=3)])
    path = str(tmp_path / "threads.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        agent = create_agent(
            ScriptedChatModel([answer]), response_format=Weather, checkpointer=saver
        )
        agent.invoke(USER, THREAD)
    with SqliteSaver.from_conn_string(path) as saver:
        agent = create_agent(ScriptedChatModel([]), response_format=Weather, checkpointer=saver)
        assert agent.get_state(THREAD).values["structured_response"] == Weather(degrees=3)


CUT_OFF = AIMessage(
    "",
    invalid_tool_calls=[
        {"type": "invalid_tool_call", "name": "Weather", "args": '{"degr', "id": "0", "error": None}
    ],
)


def test_a_structured_response_that_was_cut_off_is_asked_for_again() -> None:
    model = ScriptedChatModel([CUT_OFF, AIMessage("", tool_calls=[call("Weather", degrees=3)])])
    out = create_agent(model, [add], response_format=ToolStrategy(Weather)).invoke(USER)
    assert out["structured_response"] == Weather(degrees=3)
    told = out["messages"][2]
    assert (told.tool_call_id, "raise max_tokens" in told.content) == ("0", True)
    assert [one.type for one in out["messages"]] == ["human", "ai", "tool", "ai", "tool"]


def test_a_structured_response_that_was_cut_off_is_an_error_where_those_are_raised() -> None:
    strategy = ToolStrategy(Weather, handle_errors=False)
    agent = create_agent(ScriptedChatModel([CUT_OFF]), response_format=strategy)
    with pytest.raises(StructuredOutputValidationError, match="cannot be read"):
        agent.invoke(USER)


def test_a_model_that_refuses_to_answer_in_a_form_says_so() -> None:
    refused = AIMessage("", additional_kwargs={"refusal": "I will not."})
    model = ScriptedChatModel([refused])
    agent = create_agent(model, response_format=ProviderStrategy(Weather))
    with pytest.raises(StructuredOutputValidationError, match=r"refused to answer: I will not\."):
        agent.invoke(USER)


def test_one_of_several_forms_is_chosen_by_a_tool_whatever_the_provider_holds_to() -> None:
    class Other(BaseModel):
        wind: int

    said = AIMessage("", tool_calls=[call("Other", wind=3)])
    model = ScriptedChatModel([said], profile={"structured_output": True})
    agent = create_agent(model, response_format=Weather | Other)
    assert agent.invoke(USER)["structured_response"] == Other(wind=3)


def test_two_schemas_of_one_name_are_refused() -> None:
    schema = {"type": "object", "properties": {}}
    with pytest.raises(ConfigError, match="one name"):
        ToolStrategy({"oneOf": [schema, schema]})


# --- calls ---------------------------------------------------------------------------------------


def test_the_model_is_bound_once_while_middleware_asks_for_the_same() -> None:
    bound: list[Any] = []

    class Counts(ScriptedChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            bound.append([one.name for one in tools])
            return super().bind_tools(tools, **kwargs)

    model = Counts([ADD, ADD, "done"])
    create_agent(model, [add]).invoke(USER)
    assert bound == [["add"]]


def test_settings_of_one_call_are_none_of_the_next() -> None:
    asked: list[Any] = []

    class Keeps(ScriptedChatModel):
        def _generate(self, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
            asked.append(kwargs.pop("temperature", None))
            return super()._generate(messages, stop, **kwargs)

    @wrap_model_call
    def warms_up(request: ModelRequest[Any], handler: Any) -> Any:
        return handler(request if asked else request.override(model_settings={"temperature": 1}))

    create_agent(Keeps([ADD, ADD, "done"]), [add], middleware=[warms_up]).invoke(USER)
    assert asked == [1, None, None]


def other(a: int) -> int:
    """Does something else."""
    return a


@pytest.mark.parametrize("make", [create_agent, create_react_agent])
@pytest.mark.parametrize("provider", ["scripted", "openai", "anthropic", "google_genai"])
def test_a_model_with_other_tools_than_the_agent_is_refused(make: Any, provider: str) -> None:
    model: Any = ScriptedChatModel([ADD, "done"])
    if provider != "scripted":
        model = init_chat_model(f"{provider}:some", api_key="k")
    for bound in ([other], [add, other]):
        with pytest.raises(ConfigError, match=r"The model has the tools .*'other'.* bound to it"):
            make(model.bind_tools(bound), [add])
    own = {"google_search": {}} if provider == "google_genai" else {"type": "web_search"}
    with pytest.raises(ConfigError, match=r"has the tools .*_search'.* bound to it"):
        make(model.bind_tools([add, own]), [add])
    make(model.bind_tools([add, own]), [add, own])
    agent = make(model.bind_tools([add]), [add])
    if provider == "scripted":
        assert texts(agent.invoke(USER)) == ["hi", "", "3", "done"]


def test_a_model_with_some_of_the_tools_of_the_agent_is_shown_all() -> None:
    class More(AgentMiddleware):
        tools = (tool(other),)

    model = ScriptedChatModel(["done"])
    create_agent(model.bind_tools([add]), [add], middleware=[More()]).invoke(USER)
    assert [one.name for one in model.calls[0].tools] == ["other", "add"]


def test_the_tools_of_a_request_replace_those_of_its_model() -> None:
    model = ScriptedChatModel(["done"])

    @wrap_model_call
    def choose(request: ModelRequest, handler: Any) -> Any:
        bound: Any = model.bind_tools([other], tool_choice="other", temperature=0)
        return handler(request.override(model=bound, tool_choice="add"))

    create_agent(ScriptedChatModel([]), [add], middleware=[choose]).invoke(USER)
    assert [one.name for one in model.calls[0].tools] == ["add"]
    assert model.calls[0].kwargs == {"tool_choice": "add", "temperature": 0}


def test_each_step_can_have_its_own_model_prompt_and_tools() -> None:
    small, large = ScriptedChatModel(["small"]), ScriptedChatModel([ADD, "large"])

    @wrap_model_call
    def choose(request: ModelRequest, handler: Any) -> Any:
        first = len(request.messages) == 1
        if first:
            return handler(request.override(model=large, system_message=SystemMessage("Call.")))
        return handler(request.override(tools=[], system_message=SystemMessage("Sum up.")))

    agent = create_agent(small, [add], middleware=[choose])
    assert texts(agent.invoke(USER)) == ["hi", "", "3", "small"]
    assert large.calls[0].messages[0].text == "Call."
    assert small.calls[0].messages[0].text == "Sum up."


def test_what_a_wrapper_must_not_return_is_named() -> None:
    wrong = wrap_model_call(name="Wrong")(lambda request, handler: "text")
    agent = create_agent(ScriptedChatModel([]), middleware=[wrong])
    with pytest.raises(InvalidUpdateError, match="'Wrong' returned 'text'"):
        agent.invoke(USER)


def test_a_request_that_is_changed_in_place_warns() -> None:
    request = ModelRequest(model=None, messages=[])
    with pytest.warns(DeprecationWarning, match="override"):
        request.system_prompt = "new"  # type: ignore[misc]
    assert request.system_prompt == "new"


def test_hooks_call_their_second_parameter_what_they_like() -> None:
    class Free(AgentMiddleware):
        def before_model(self, state: Any, rt: Any) -> Any:
            return {"messages": [type(rt).__name__]}

        async def aafter_model(self, _state: Any, _rt: Any) -> Any:
            return {"messages": [type(_rt).__name__]}

        def after_model(self, state: Any, rt: Any) -> Any:
            return None

    agent = create_agent(ScriptedChatModel(["a"]), middleware=[Free()])
    assert texts(agent.invoke(USER)) == ["hi", "Runtime", "a"]


async def test_async_runs_use_async_hooks_where_there_are_some() -> None:
    used: list[str] = []

    class Both(AgentMiddleware):
        def before_model(self, state: Any, runtime: Any) -> Any:
            used.append("sync")

        async def abefore_model(self, state: Any, runtime: Any) -> Any:
            used.append("async")

        def after_model(self, state: Any, runtime: Any) -> Any:
            used.append("only sync")

    await create_agent(ScriptedChatModel(["a"]), middleware=[Both()]).ainvoke(USER)
    assert used == ["async", "only sync"]


def test_a_tool_node_keeps_its_policies_and_interceptors_inside_those_of_middleware() -> None:
    order: list[str] = []

    def noting(name: str) -> Any:
        def wrap(request: Any, handler: Any) -> Any:
            order.append(name)
            return handler(request)

        return wrap

    attempts: list[int] = []

    def flaky(a: int) -> int:
        """Fails once."""
        attempts.append(a)
        if len(attempts) == 1:
            raise ConnectionError("lost")
        return a

    class Brings(AgentMiddleware):
        tools = (add,)

    node = ToolNode(
        [flaky],
        wrap_tool_call=noting("node"),
        policies={"flaky": ToolPolicy(retry_policy=RetryPolicy(initial_interval=0, jitter=False))},
    )
    both = AIMessage("", tool_calls=[call("flaky", a=1)]), ADD
    agent = create_agent(
        ScriptedChatModel([*both, "done"]),
        node,
        middleware=[Brings(), wrap_tool_call(name="M")(noting("middleware"))],
    )
    assert texts(agent.invoke(USER)) == ["hi", "", "1", "", "3", "done"]
    assert order == ["middleware", "node", "middleware", "node"]
    assert attempts == [1, 1]


def flaky_in(attempts: list[int]) -> Any:
    """A tool that fails the first time that it is called with a number."""

    @tool
    def flaky(a: int) -> int:
        """Fails once."""
        attempts.append(a)
        if attempts.count(a) == 1:
            raise ConnectionError("lost")
        return a

    return flaky


@after_model(can_jump_to=["tools"])
def all_at_once(state: AgentState[Any], runtime: Any) -> Any:
    """Leads to the tools, whose node then makes all calls of the message."""
    return {"jump_to": "tools"} if state["messages"][-1].tool_calls else None


AT_ONCE = ToolPolicy(retry_policy=RetryPolicy(initial_interval=0, jitter=False))


def test_policies_hold_where_a_hook_lets_the_node_make_several_calls() -> None:
    attempts: list[int] = []
    node = ToolNode([flaky_in(attempts)], policies={"flaky": AT_ONCE})
    several = AIMessage("", tool_calls=[call("flaky", a=1), call("flaky", "2", a=2)])
    model = ScriptedChatModel([several, "done"])
    agent = create_agent(model, node, middleware=[all_at_once])
    assert texts(agent.invoke(USER)) == ["hi", "", "1", "2", "done"]
    assert sorted(attempts) == [1, 1, 2, 2]


def test_a_policy_of_all_tools_holds_for_those_that_middleware_brings() -> None:
    attempts: list[int] = []

    class Brings(AgentMiddleware):
        tools = (flaky_in(attempts),)

    model = ScriptedChatModel([AIMessage("", tool_calls=[call("flaky", a=1)]), "done"])
    agent = create_agent(model, ToolNode([add], policies=AT_ONCE), middleware=[Brings()])
    assert texts(agent.invoke(USER)) == ["hi", "", "1", "done"]
    assert attempts == [1, 1]


async def test_a_sync_interceptor_of_a_tool_node_is_not_passed_by_in_async_runs() -> None:
    """An approval, say: with middleware around it that has both forms, nothing else would tell."""
    asked: list[str] = []

    def approve(request: Any, handler: Any) -> Any:
        asked.append(request.tool_call["name"])
        return handler(request)

    class Both(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return handler(request)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return await handler(request)

    def agent() -> Any:
        node = ToolNode([add], wrap_tool_call=approve)
        return create_agent(ScriptedChatModel([ADD, "done"]), node, middleware=[Both()])

    assert texts(agent().invoke(USER)) == ["hi", "", "3", "done"]
    with pytest.raises(NotSupportedError, match="only a sync interceptor"):
        await agent().ainvoke(USER)
    assert asked == ["add"]


# --- what is wrong -------------------------------------------------------------------------------


def test_what_is_no_middleware_is_refused() -> None:
    for wrong in (1, AgentMiddleware, lambda state: None):
        with pytest.raises(ConfigError, match="no middleware"):
            create_agent(ScriptedChatModel([]), middleware=[wrong])  # type: ignore[list-item]


def test_two_middlewares_of_one_name_are_refused() -> None:
    same = [after_model(name="Same")(lambda state, runtime: None) for _ in range(2)]
    with pytest.raises(DuplicateMiddlewareError, match="'Same' is there twice"):
        create_agent(ScriptedChatModel([]), middleware=same)


def test_an_agent_tells_its_tool_calls_and_what_its_middleware_transforms() -> None:
    class Updates(AgentMiddleware):
        transformers = (UpdatesTransformer,)

    agent = create_agent(
        ScriptedChatModel(["Hello."]), middleware=[Updates()], transformers=[CustomTransformer]
    )
    with pytest.warns(BetaWarning):
        run = agent.stream_events({"messages": "Hi!"}, version="v3")
    assert {"custom", "tool_calls", "updates"} < set(run.extensions)
    assert [list(update) for update in run.updates] == [["model"]]


def test_what_two_middlewares_transform_alike_is_transformed_once() -> None:
    made: list[Any] = []

    def counted(scope: tuple[str, ...]) -> Any:
        made.append(scope)
        return UpdatesTransformer(scope)

    class One(AgentMiddleware):
        transformers = (counted,)

    class Two(AgentMiddleware):
        transformers = (counted,)

    agent = create_agent(ScriptedChatModel(["Hello."]), middleware=[One(), Two()])
    with pytest.warns(BetaWarning):
        run = agent.stream_events({"messages": "Hi!"}, version="v3")
    assert [list(update) for update in run.updates] == [["model"]]
    assert made == [()]


def test_a_prompt_that_is_none_says_what_to_use() -> None:
    with pytest.raises(ConfigError, match="dynamic_prompt"):
        create_agent(ScriptedChatModel([]), system_prompt=lambda state: "x")  # type: ignore[arg-type]


def test_tools_of_a_generator_are_those_of_a_list() -> None:
    model = ScriptedChatModel([ADD, "end"])
    agent = create_agent(model, (one for one in [add]))  # pyright: ignore[reportArgumentType]
    assert texts(agent.invoke(USER))[2:] == ["3", "end"]


@pytest.mark.parametrize("make", [create_agent, create_react_agent])
def test_a_model_that_is_asked_again_after_an_error_is_so_with_tools_too(make: Any) -> None:
    failures = [ConnectionError("down"), ConnectionError("down")]

    class Flaky(ScriptedChatModel):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            if failures:
                raise failures.pop()
            return super()._generate(*args, **kwargs)

    again: Any = {"stop_after_attempt": 3, "wait_exponential_jitter": False}
    agent = make(Flaky([ADD, "three"]).with_retry(**again), [add])
    assert texts(agent.invoke(USER)) == ["hi", "", "3", "three"]

    failures += [ConnectionError("down"), ConnectionError("down")]
    model: Any = Flaky([ADD, "three"]).with_retry(**again)
    assert model.bind_tools([add]).invoke("hi").tool_calls == ADD.tool_calls
