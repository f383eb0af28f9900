"""ProviderToolSearchMiddleware: which tools are deferred, and what the model is asked with."""

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ProviderToolSearchMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool


class Served(BaseChatModel):
    """A model that says whose it is, and records what it is given."""

    provider: str = "anthropic"
    seen: list

    @property
    def _llm_type(self):
        return "served"

    def _get_ls_params(self, stop=None, **kwargs):
        return {"ls_provider": self.provider}

    def bind_tools(self, tools, **kwargs):
        self.seen.append([t if isinstance(t, dict) else (t.name, t.extras) for t in tools])
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=AIMessage("done"))])


class ChatAnthropic(Served):
    """Says it by its name alone."""

    _get_ls_params = BaseChatModel._get_ls_params


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool(extras={"defer_loading": True, "cache_control": {"type": "ephemeral"}})
def find(key: str) -> str:
    """Find."""
    return key


@tool(extras={"cache_control": {"type": "ephemeral"}})
def order(key: str) -> str:
    """Order."""
    return key


WEB = {"type": "web_search_20250305", "name": "web_search"}


def shown(model, tools, searchable=None, more=()):
    search = ProviderToolSearchMiddleware(searchable_tools=searchable)
    agent = create_agent(model, tools, middleware=[search, *more])
    answer = agent.invoke({"messages": "hi"})["messages"][-1].content
    return answer, model.seen, add.extras, order.extras


def case_by_provider(env):
    return [
        shown(Served(provider=name, seen=[]), [add, order], ["add"])
        for name in ("anthropic", "Anthropic", "openai")
    ]


def case_by_the_name_of_the_class(env):
    return shown(ChatAnthropic(seen=[]), [add, order], ["add"])


def case_tools_that_say_so(env):
    return shown(Served(seen=[]), [add, find])


def case_tools_in_place_of_names(env):
    return shown(Served(seen=[]), [add, order, find], [add, "order"])


def case_beside_tools_of_the_provider(env):
    return shown(Served(seen=[]), [add, WEB], ["add"])


def case_nothing_is_deferred(env):
    return shown(Served(provider="nobody", seen=[]), [add, order], [])


def case_other_providers(env):
    return env.error(lambda: shown(Served(provider="nobody", seen=[]), [add], ["add"]))


def case_names_of_no_tool(env):
    return env.error(lambda: shown(Served(seen=[]), [add, WEB], ["add", "web_search"]))


def case_tools_that_middleware_takes_away(env):
    class Fewer(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request.override(tools=[t for t in request.tools if t is not order]))

    return shown(Served(seen=[]), [add, order, find], None, [Fewer()])


async def case_async(env):
    model = Served(seen=[])
    search = ProviderToolSearchMiddleware(searchable_tools=["add"])
    agent = create_agent(model, [add, find], middleware=[search])
    await agent.ainvoke({"messages": "hi"})
    return model.seen
