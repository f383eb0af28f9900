"""What middleware keeps of its options, and what it makes of a request for another model."""

import warnings

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    CodexSandboxExecutionPolicy,
    DockerExecutionPolicy,
    FilesystemFileSearchMiddleware,
    HostExecutionPolicy,
    HumanInTheLoopMiddleware,
    LLMToolEmulator,
    ModelFallbackMiddleware,
    ModelRequest,
    ModelResponse,
    ModelRetryMiddleware,
    PIIMiddleware,
    ProviderToolSearchMiddleware,
    ShellToolMiddleware,
    SummarizationMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
)
from langchain.agents.middleware.todo import write_todos
from langchain.agents.structured_output import ProviderStrategy
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from pydantic import BaseModel, Field


class Named(BaseChatModel):
    """Says one thing; its kind, name, provider and profile are what a case makes them."""

    says: str = "hello"
    kind: str = "named"
    model_name: str = ""
    model: str = ""
    provider: str = ""
    bound: list = Field(default_factory=list)

    @property
    def _llm_type(self):
        return self.kind

    def _get_ls_params(self, stop=None, **kwargs):
        return {"ls_provider": self.provider} if self.provider else {}

    def bind_tools(self, tools, **kwargs):
        self.bound.append((sorted(one.name for one in tools), sorted(kwargs)))
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.says))])


class ChatAnthropic(Named):
    """Tells its provider by the name of its class alone."""

    def _get_ls_params(self, stop=None, **kwargs):
        return {}


class ChatOpenAI(ChatAnthropic):
    """Tells its provider by the name of its class alone."""


@tool(extras={"cache_control": {"type": "ephemeral"}})
def look(who: str) -> str:
    """Looks somebody up."""
    return who


@tool(extras={"cache_control": {"type": "ephemeral"}, "more": 1})
def add(a: int) -> int:
    """Adds."""
    return a


def _kept(middleware, *names):
    return {name: getattr(middleware, name) for name in names}


TRIES = ("max_retries", "on_failure", "backoff_factor", "initial_delay", "max_delay", "jitter")


def case_options_that_are_kept(env):
    (env.tmp_path / "a.txt").write_text("tea")
    files = FilesystemFileSearchMiddleware(root_path=str(env.tmp_path), use_ripgrep=False)
    errors = (ValueError,)
    emulators = [LLMToolEmulator(model=Named()), LLMToolEmulator(model=Named(), tools=["a", add])]
    return (
        _kept(ModelRetryMiddleware(), *TRIES),
        _kept(
            ModelRetryMiddleware(max_retries=5, retry_on=errors, jitter=False), *TRIES, "retry_on"
        ),
        _kept(ToolRetryMiddleware(tools=["a"], on_failure="error"), *TRIES),
        [(one.emulate_all, sorted(one.tools_to_emulate)) for one in emulators],
        sorted(ProviderToolSearchMiddleware(searchable_tools=["b", add]).searchable_tool_names),
        PIIMiddleware("email").detector("to ann@x.org"),
        SummarizationMiddleware(Named()).summarizer,
        SummarizationMiddleware(Named(), summarizer=Named()).summarizer,
        SummarizationMiddleware(Named(), summarizer=len).summarizer is len,
        ToolErrorMiddleware(lambda error, request: "no").trace_policy.process_inputs({"x": 1}),
        files.glob_search.invoke({"pattern": "*.txt"}),
        files.grep_search.invoke({"pattern": "tea", "output_mode": "count"}),
        write_todos.name,
        write_todos.invoke(
            {
                "args": {"todos": [{"content": "x", "status": "pending"}]},
                "name": "write_todos",
                "type": "tool_call",
                "id": "1",
            }
        ).update["todos"],
    )


def case_a_trigger_that_is_changed_later(env):
    clause = {"messages": 100}
    trigger = [clause]
    middleware = SummarizationMiddleware(Named(), trigger=trigger, keep=("messages", 1))
    clause["messages"] = 1
    trigger.append(("messages", 1))
    given = {"messages": [HumanMessage("a"), HumanMessage("b")]}
    return middleware.trigger, middleware.before_model(given, None)


def case_tokens_by_the_kind_of_model(env):
    text = [HumanMessage("a" * 12)]
    used = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}
    answer = AIMessage("b", usage_metadata=used, response_metadata={"model_provider": "x"})
    kinds = ("named", "anthropic-chat", "anthropic-chat-vertexai", "anthropic-bedrock-chat")
    counters = [SummarizationMiddleware(Named(kind=kind)).token_counter for kind in kinds]
    own = SummarizationMiddleware(Named(kind="anthropic-chat"), token_counter=len).token_counter
    return [(count(text), count([*text, answer])) for count in counters], own(text)


def _is_summarized(provider, said, **options):
    used = {"input_tokens": 900, "output_tokens": 101, "total_tokens": 1001}
    answer = AIMessage("b", usage_metadata=used, response_metadata={"model_provider": said})
    middleware = SummarizationMiddleware(
        Named(provider=provider), trigger=("tokens", 1000), keep=("messages", 1), **options
    )
    given = {"messages": [HumanMessage("a"), answer, HumanMessage("c")]}
    return middleware.before_model(given, None) is not None


def case_tokens_that_providers_of_other_names_report(env):
    pairs = [
        ("amazon_bedrock", "bedrock_converse"),
        ("openai-mantle", "openai"),
        ("anthropic-mantle", "anthropic"),
        ("openai", "openai"),
        ("openai", "anthropic"),
        ("amazon_bedrock", "openai"),
    ]
    return [_is_summarized(*pair, token_counter=len) for pair in pairs]


def case_long_answers_scale_the_estimate(env):
    used = {"input_tokens": 30, "output_tokens": 10, "total_tokens": 40}
    answer = AIMessage("b" * 40, usage_metadata=used, response_metadata={"model_provider": "x"})
    texts = [HumanMessage("a" * 40), answer, HumanMessage("c" * 40), HumanMessage("d" * 40)]
    found = []
    for trigger in (50, 60, 70, 80, 90):
        middleware = SummarizationMiddleware(
            Named(), trigger=("tokens", trigger), keep=("tokens", 30)
        )
        update = middleware.before_model({"messages": texts}, None)
        found.append(None if update is None else len(update["messages"]))
    return found


# --- requests to another model ---------------------------------------------------------------

MARK = {"type": "ephemeral"}


def _marked():
    return ModelRequest(
        model=Named(kind="anthropic-chat"),
        system_message=SystemMessage([{"type": "text", "text": "s", "cache_control": MARK}]),
        messages=[
            HumanMessage(
                [
                    {"type": "text", "text": "a", "extras": {"x": 1, "cache_control": MARK}},
                    {"type": "text", "text": "b", "metadata": {"y": 1, "cache_control": MARK}},
                    {"type": "text", "text": "d", "extras": {"cache_control": MARK}},
                    {"type": "text", "text": "e", "metadata": {"cache_control": MARK}},
                    "plain",
                ]
            ),
            AIMessage("c"),
        ],
        tools=[
            look,
            add,
            {"name": "own", "cache_control": MARK, "extras": {"cache_control": MARK}},
        ],
        model_settings={
            "temperature": 1,
            "cache_control": MARK,
            "prompt_cache_key": "k",
            "extra_headers": {"X-Session-Affinity": "t", "X-Request-ID": "r"},
        },
    )


def _asked(kind):
    asked = []

    def handler(request):
        asked.append(request)
        if len(asked) == 1:
            raise ValueError("down")
        return ModelResponse(result=[AIMessage("ok")])

    given = _marked()
    ModelFallbackMiddleware(Named(kind=kind)).wrap_model_call(given, handler)
    last = asked[-1]
    return (
        last.system_message.content,
        [message.content for message in last.messages],
        [one if isinstance(one, dict) else (one.name, one.extras) for one in last.tools],
        last.model_settings,
        given.model_settings == _marked().model_settings and look.extras is not None,
    )


def case_marks_for_caches_of_other_models(env):
    kinds = ("named", "anthropic-chat", "anthropic-bedrock-chat", "anthropic-chat-vertexai")
    return [_asked(kind) for kind in (*kinds, "fireworks-chat", "openai-chat", "azure-openai-chat")]


def _settings_left():
    seen = []

    def handler(request):
        seen.append(request.model_settings)
        if len(seen) == 1:
            raise ValueError("down")
        return ModelResponse(result=[AIMessage("ok")])

    for settings in (
        {"extra_headers": {"x-session-affinity": "t"}},
        {"extra_headers": {"other": "t"}},
        {"prompt_cache_key": "k"},
        {"temperature": 0},
    ):
        del seen[:]
        request = ModelRequest(model=Named(), messages=[], model_settings=settings)
        ModelFallbackMiddleware(Named()).wrap_model_call(request, handler)
        yield seen[-1]


def case_settings_without_marks(env):
    return list(_settings_left())


def _searched(model, runtime=None):
    seen = []

    def handler(request):
        seen.append(request)
        return ModelResponse(result=[AIMessage("ok")])

    request = ModelRequest(model=model, messages=[], tools=[add], runtime=runtime)
    ProviderToolSearchMiddleware(searchable_tools=["add"]).wrap_model_call(request, handler)
    return [one for one in seen[-1].tools if isinstance(one, dict)]


def case_providers_by_the_class_of_the_model(env):
    return (
        _searched(ChatAnthropic()),
        _searched(ChatOpenAI()),
        env.error(lambda: _searched(Named())),
    )


class Weather(BaseModel):
    """The weather."""

    t: int


def _strategy(tools, **fields):
    model = Named(says='{"t": 1}', bound=[], **fields)
    agent = create_agent(model, tools, response_format=Weather)
    agent.invoke({"messages": "hi"}, {"recursion_limit": 20})
    return model.bound[-1] if model.bound else None


def case_models_that_can_hold_to_a_schema(env):
    names = (
        *("gpt-4o", "gpt-4", "GPT-5-mini", "gpt-5.2-pro", "openai/gpt-5.5", "o3", "gpt-oss-120b"),
        *("claude-sonnet-4-5", "claude-sonnet-4-0", "anthropic.claude-opus-4-6-20260101-v1:0"),
        *("grok-4-fast", "grok-3", "gemini-3-pro", "llama"),
    )
    return (
        [_strategy([add], model_name=name) for name in names],
        [_strategy([add], model=name) for name in names[:2]],
        [
            _strategy([add], model_name=name, profile={"structured_output": True})
            for name in ("llama", "gemini-2.5-pro", "gemini-3-pro", "models/gemini-flash-latest")
        ],
    )


def case_profiles_that_say_no(env):
    return _strategy([add], model_name="gpt-4o", profile={"structured_output": False})


def case_providers_of_models_that_the_config_chooses(env):
    found = []

    class Look(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            try:
                return search.wrap_model_call(request, caught)
            except ValueError as error:
                found.append(type(error).__mro__[-3].__name__)
                return AIMessage("no")

    def caught(request):
        found.append([one for one in request.tools if isinstance(one, dict)])
        return ModelResponse(result=[AIMessage("ok")])

    search = ProviderToolSearchMiddleware(searchable_tools=["add"])
    model = init_chat_model(
        "openai:gpt-5", configurable_fields=("model", "model_provider"), api_key="x"
    )
    agent = create_agent(model, [add], middleware=[Look()])
    agent.invoke({"messages": "hi"})
    return found


def case_a_shell_that_is_none(env):
    return (
        env.error(lambda: ShellToolMiddleware(shell_command=[])),
        env.error(lambda: ShellToolMiddleware(shell_command=())),
        env.error(lambda: ShellToolMiddleware(env={1: "x"})),
        env.error(lambda: ShellToolMiddleware(env={"A": 1}).name),
    )


class Edited(BaseChatModel):
    """Says what its script says."""

    says: list

    @property
    def _llm_type(self):
        return "edited"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=self.says.pop(0))])


def case_edits_of_an_earlier_turn(env):
    def calls(name, **args):
        return AIMessage("", tool_calls=[{"name": name, "args": args, "id": "1"}])

    says = [calls("add", a=1), AIMessage("x"), calls("look", who="me"), AIMessage("y")]
    agent = create_agent(
        Edited(says=says),
        [add, look],
        middleware=[HumanInTheLoopMiddleware({"add": True})],
        checkpointer=env.saver(),
    )
    thread = {"configurable": {"thread_id": "1"}}
    edit = {"type": "edit", "edited_action": {"name": "add", "args": {"a": 2}}}
    kept = []
    for given in ("hi", Command(resume={"decisions": [edit]}), "again"):
        given = {"messages": given} if isinstance(given, str) else given
        agent.invoke(given, thread)
        kept.append(agent.get_state(thread).values.get("hitl_edited_tool_calls"))
    return kept


def case_answers_whose_blocks_have_their_text_as_content(env):
    content = ['{"t":', {"content": " 1"}, {"type": "text", "text": "}"}]
    agent = create_agent(
        Edited(says=[AIMessage(content=content)]), response_format=ProviderStrategy(Weather)
    )
    return agent.invoke({"messages": "hi"})["structured_response"].t


def case_a_tool_node_as_tools(env):
    model = Edited(says=[AIMessage("x")])
    return env.error(lambda: create_agent(model, ToolNode([add])).invoke({"messages": "hi"}).keys())


def case_models_of_other_providers(env):
    return env.error(lambda: init_chat_model("groq:llama-3", api_key="x"))


def case_patterns_of_names_that_are_none(env):
    for name in ("a.py", "b.txt"):
        (env.tmp_path / name).write_text("tea")
    search = FilesystemFileSearchMiddleware(root_path=str(env.tmp_path), use_ripgrep=False)
    patterns = (
        "*.{py",
        "*.py}",
        "*.{}",
        "",
        "*.py\0",
        "*.py\n",
        "}{",
        "*.{py,}",
        "{a,b}.{py,txt}",
        "[",
    )
    return [search.grep_search.invoke({"pattern": "tea", "include": one}) for one in patterns]


def case_sizes_that_are_none(env):
    triggers = (
        *({"tokens": 1000.5}, {"messages": 2.0}, {"messages": "10"}, {"messages": True}, {}),
        *("messages", 5, ["messages", 5], ("messages", "2"), ("fraction", "x"), ("tokens", 0)),
    )
    return [
        env.error(lambda one=one: SummarizationMiddleware(Named(), trigger=one).name)
        for one in triggers
    ]


def case_older_options_beside_newer(env):
    given = (
        {"trigger": ("tokens", 2000), "max_tokens_before_summary": 1000},
        {"keep": ("messages", 5), "messages_to_keep": 10},
        {"keep": ("messages", 20), "messages_to_keep": 10},
        {"max_tokens_before_summary": None},
    )
    found = []
    for options in given:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            middleware = SummarizationMiddleware(Named(), **options)
        found.append((middleware.trigger, middleware.keep, [one.category.__name__ for one in told]))
    return found


class Asked(BaseModel):
    """Keeps configs."""

    config: RunnableConfig
    more: list[RunnableConfig | None] = Field(default_factory=list)


def case_configs_in_pydantic_models(env):
    asked = Asked(config={"tags": ["a"], "configurable": {"x": 1}}, more=[None, {"metadata": {}}])
    return asked.config, asked.more, env.error(lambda: Asked(config={"tags": 1}))


def case_policies_by_position(env):
    host = HostExecutionPolicy(1.0, 2.0, 3.0, 4, 5, None, None, False)
    given = ["--label", "a"]
    policy = DockerExecutionPolicy(1.0, 2.0, extra_run_args=given)
    given.append("b")
    return (
        host.startup_timeout,
        host.max_output_bytes,
        host.create_process_group,
        CodexSandboxExecutionPolicy(1.0).command_timeout,
        (policy.command_timeout, policy.startup_timeout, policy.extra_run_args),
        DockerExecutionPolicy().extra_run_args,
    )
