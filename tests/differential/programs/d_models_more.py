"""Models as programs write them: which of them ask for the manager of their run, and how."""

import asyncio

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import LLM, BaseChatModel, BaseLLM
from langchain_core.messages import AIMessage
from langchain_core.outputs import (
    ChatGeneration,
    ChatResult,
    Generation,
    GenerationChunk,
    LLMResult,
)


class Tokens(BaseCallbackHandler):
    """Keeps the tokens that it hears."""

    def __init__(self):
        self.tokens = []

    def on_llm_new_token(self, token, **kwargs):
        self.tokens.append(token)


def answer(*parts):
    return ChatResult(generations=[ChatGeneration(message=AIMessage(str(parts)))])


class Chat(BaseChatModel):
    @property
    def _llm_type(self):
        return "chat"


class Text(LLM):
    @property
    def _llm_type(self):
        return "text"


class Bare(Chat):
    def _generate(self, messages, stop=None):
        return answer("bare")


class Keywords(Chat):
    def _generate(self, messages, stop=None, **kwargs):
        return answer(sorted(kwargs))

    async def _agenerate(self, messages, stop=None, **kwargs):
        return answer("async", sorted(kwargs))


class Telling(Chat):
    def _generate(self, messages, stop, run_manager, **kwargs):
        run_manager.on_llm_new_token("a")
        return answer(run_manager.handlers == [], len(str(run_manager.run_id)), run_manager.tags)


class TellingAsync(Telling):
    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        await run_manager.on_llm_new_token("b")
        return answer(run_manager.handlers == [], run_manager.get_sync().handlers == [])


class BareText(Text):
    def _call(self, prompt, stop=None):
        return "bare"


class KeywordsText(Text):
    def _call(self, prompt, stop=None, **kwargs):
        return str(sorted(kwargs))


class TellingText(Text):
    def _call(self, prompt, stop, run_manager, **kwargs):
        run_manager.on_llm_new_token("a")
        return str(run_manager.handlers == [])

    def _stream(self, prompt, stop=None, run_manager=None, **kwargs):
        for token in "ab":
            run_manager.on_llm_new_token(token, chunk=GenerationChunk(text=token))
            yield GenerationChunk(text=token)


class Batched(BaseLLM):
    @property
    def _llm_type(self):
        return "batched"

    def _generate(self, prompts, stop=None, **kwargs):
        return LLMResult(generations=[[Generation(text=str(sorted(kwargs)))] for _ in prompts])


def said(model, **config):
    result = model.invoke("hi", config)
    return getattr(result, "content", result)


def case_code_without_a_run_manager(env):
    """A model whose code has no parameter for the manager gets none, whoever listens."""
    models = [Bare(), Keywords(), BareText(), KeywordsText(), Batched()]
    return [(said(model), said(model, callbacks=[Tokens()])) for model in models]


def case_code_that_asks_for_a_run_manager(env):
    """One whose code has such a parameter gets a manager, also where nobody listens."""
    heard = Tokens()
    models = [Telling(), TellingAsync(), TellingText()]
    alone = [said(model) for model in models]
    return alone, [said(model, callbacks=[heard], tags=["t"]) for model in models], heard.tokens


def case_async_code_and_run_managers(env):
    async def run(model, config):
        return getattr(result := await model.ainvoke("hi", config), "content", result)

    models = [Keywords(), Telling(), TellingAsync(), TellingText()]
    heard = Tokens()
    return (
        [asyncio.run(run(model, {})) for model in models],
        [asyncio.run(run(model, {"callbacks": [heard]})) for model in models],
        heard.tokens,
    )


def case_streams_of_text_that_tell(env):
    heard = Tokens()
    model = TellingText()
    return list(model.stream("hi")), list(model.stream("hi", {"callbacks": [heard]})), heard.tokens


def case_run_managers_of_batches(env):
    return [
        [getattr(one, "content", one) for one in model.batch(["a", "b"], {"max_concurrency": 1})]
        for model in (Telling(), TellingText(), Batched())
    ]


def case_models_of_text_have_no_forms(env):
    return env.error(lambda: BareText().with_structured_output({"title": "x"}))
