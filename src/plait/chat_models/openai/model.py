"""`ChatOpenAI`: OpenAI's models, and every server that speaks its protocol, by the official SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from plait.chat_models.failures import of_sdk
from plait.chat_models.openai import chat, responses
from plait.chat_models.openai.address import address
from plait.chat_models.remote import RemoteChatModel, StreamReader
from plait.chat_models.results import ChatResult
from plait.chat_models.schemas import for_openai, is_strict
from plait.chat_models.structured import StructuredOutput, by_tool, json_schema, schema_name
from plait.chat_models.wire import Block, described, extras_of, is_builtin, present
from plait.errors import InvalidInputError
from plait.runnables.base import Runnable

ONLY_CHAT = ("stop", "seed", "n", "logprobs", "presence_penalty", "frequency_penalty")
ONLY_RESPONSES = ("reasoning", "previous_response_id", "include", "truncation", "conversation")
BEFORE_SCHEMAS = ("gpt-3.5", "gpt-4-", "gpt-4o-2024-05-13")


class ChatOpenAI(RemoteChatModel):
    """A model of OpenAI, or of a server that speaks its protocol (vLLM, Ollama, OpenRouter, ...).

    Args:
        base_url: Another server than OpenAI's; None: what the environment names
            (`OPENAI_API_BASE`, `OPENAI_BASE_URL`), else OpenAI.
        organization: The organization that pays.
        reasoning_effort: How long a reasoning model thinks ("minimal", "low", "medium", "high").
        reasoning: The same and more, for the responses API: `{"effort": ..., "summary": "auto"}`.
        use_responses_api: Which of the two APIs; None: responses where only it can do what is
            asked (`reasoning`, tools that OpenAI runs), else chat completions.
        stream_usage: Ask for token counts at the end of a stream (chat completions).
        seed, n, logprobs, top_logprobs, presence_penalty, frequency_penalty, service_tier: As in
            OpenAI's documents.

    Raises:
        MissingExtraError: On the first call, if the package openai is not installed.
        ModelError: See the family in `plait.errors`.

    >>> ChatOpenAI(model="gpt-5")
    ChatOpenAI(model='gpt-5')
    """

    organization: str | None = None
    reasoning_effort: str | None = None
    reasoning: dict[str, Any] | None = None
    use_responses_api: bool | None = None
    stream_usage: bool = True
    seed: int | None = None
    n: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    service_tier: str | None = None

    provider: ClassVar[str] = "openai"
    extra: ClassVar[str] = "openai"
    aliases: ClassVar[Mapping[str, str]] = {
        **RemoteChatModel.aliases,
        "openai_api_key": "api_key",
        "openai_api_base": "base_url",
        "openai_organization": "organization",
        "max_completion_tokens": "max_tokens",
        "max_output_tokens": "max_tokens",
    }

    @property
    def _llm_type(self) -> str:
        return "openai-chat"

    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: Any = None,
        strict: bool | None = None,
        parallel_tool_calls: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[Any, Any]:
        """This model with tools that it may call.

        Args:
            tools: Functions, plait's or LangChain's tools, pydantic classes, TypedDicts, schemas;
                dicts of tools that OpenAI runs itself (`{"type": "web_search"}`).
            tool_choice: A tool's name; "any", "required" or True: some tool; "auto"; "none".
            strict: Make arguments fit their schema.
            parallel_tool_calls: Whether it may call several at once.
            kwargs: Bound, too.
        """
        made = [tool if is_builtin(tool) else function_tool(tool, strict) for tool in tools]
        more = present(
            tool_choice=choice(tool_choice, made), parallel_tool_calls=parallel_tool_calls
        )
        return self.bind(tools=made, **more, **kwargs)

    def with_structured_output(
        self,
        schema: Any,
        *,
        include_raw: bool = False,
        method: str = "json_schema",
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[Any, Any]:
        """This model, made to answer with a value of a schema (see `BaseChatModel`).

        Args:
            schema: A pydantic class, TypedDict or JSON schema; with "json_mode", None is any JSON.
            include_raw: Give raw, parsed and parsing_error.
            method: "json_schema" (OpenAI holds the answer to it), "function_calling" (a tool that
                must be called) or "json_mode" (JSON of any form; say in the prompt which).
            strict: Whether OpenAI must hold to every detail; None: where the schema allows it.
            kwargs: Bound, too; `tools` may be called before the answer.

        Raises:
            ValueError: `method` is none of these.
        """
        if method == "json_schema" and not self._holds_to_schemas():
            method = "function_calling"
        if method == "function_calling":
            name = schema_name(schema)
            one = {"tool_choice": name, "parallel_tool_calls": False}
            return by_tool(self, schema, include_raw, strict=strict, **one, **kwargs)
        if method == "json_mode":
            form: Block = {"type": "json_object"}
        elif method == "json_schema":
            form = schema_form(schema, strict)
        else:
            raise ValueError(
                f"Unrecognized method {method!r}. "
                "Expected 'json_schema', 'function_calling' or 'json_mode'."
            )
        if tools := kwargs.pop("tools", None):
            bound = self.bind_tools(tools, strict=strict, response_format=form, **kwargs)
        else:
            bound = self.bind(response_format=form, **kwargs)
        return bound | StructuredOutput(schema, "json", include_raw)

    def _holds_to_schemas(self) -> bool:
        return not self.model.startswith(BEFORE_SCHEMAS)

    def _uses_responses(self, kwargs: Mapping[str, Any]) -> bool:
        if self.use_responses_api is not None:
            return self.use_responses_api
        if self.reasoning is not None:
            return True
        asked = {**self.model_kwargs, **kwargs}
        return any(asked.get(key) is not None for key in ONLY_RESPONSES) or any(
            is_builtin(tool) for tool in asked.get("tools") or ()
        )

    def _request(
        self, messages: Sequence[Any], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        if (form := kwargs.get("response_format")) is not None:
            kwargs = {**kwargs, "response_format": strict_format(form)}
        common = present(
            model=self.model,
            temperature=self.temperature,
            top_p=self.top_p,
            service_tier=self.service_tier,
            top_logprobs=self.top_logprobs,
        )
        own = present(
            stop=stop,
            seed=self.seed,
            n=self.n,
            logprobs=self.logprobs,
            presence_penalty=self.presence_penalty,
            frequency_penalty=self.frequency_penalty,
        )
        if self._uses_responses(kwargs):
            _check_known(own | kwargs)
            return self._response_request(common, messages, kwargs)
        if "max_completion_tokens" not in kwargs:
            limit = "max_completion_tokens" if address(self.base_url) is None else "max_tokens"
            own |= present(**{limit: kwargs.pop("max_tokens", self.max_tokens)})
        own |= present(reasoning_effort=self.reasoning_effort)
        asked = {**common, **own, **self.model_kwargs, **kwargs}
        return {**asked, "messages": chat.to_wire(messages)}

    def _response_request(
        self, common: Block, messages: Sequence[Any], kwargs: dict[str, Any]
    ) -> Block:
        effort = {"effort": self.reasoning_effort} if self.reasoning_effort else None
        limit = self._settings(["max_tokens"], kwargs)["max_tokens"]
        own = present(max_output_tokens=limit, reasoning=self.reasoning or effort)
        asked = {**common, **own, **self.model_kwargs, **kwargs}
        if tools := asked.get("tools"):
            asked["tools"] = [responses_tool(tool) for tool in tools]
        if (chosen := asked.get("tool_choice")) is not None:
            asked["tool_choice"] = responses_choice(chosen)
        if form := asked.pop("response_format", None):
            asked["text"] = {**asked.get("text", {}), "format": responses_format(form)}
        return {**asked, "input": responses.to_items(messages)}

    def _make_client(self, is_async: bool) -> Any:
        sdk = self._sdk("openai")
        settings = present(
            api_key=self._secret(),
            base_url=address(self.base_url),
            organization=self.organization,
            timeout=self.timeout,
            default_headers=self.default_headers,
        )
        make = sdk.AsyncOpenAI if is_async else sdk.OpenAI
        if is_async:
            # The SDK's default one would close itself on whatever loop runs when it is collected.
            settings["http_client"] = sdk.DefaultAsyncHttpxClient()
        return make(max_retries=self.max_retries, **settings)

    def _send(self, client: Any, request: dict[str, Any]) -> Any:
        if "input" in request:
            return client.responses.create(**request)
        return client.chat.completions.create(**request)

    def _open(self, client: Any, request: dict[str, Any]) -> Any:
        if "input" in request:
            return client.responses.create(**request, stream=True)
        if self.stream_usage and "stream_options" not in request:
            request = {**request, "stream_options": {"include_usage": True}}
        return client.chat.completions.create(**request, stream=True)

    def _plain(self, answer: Any) -> dict[str, Any]:
        return answer.to_dict(mode="json", warnings=False)  # servers take liberties with types

    def _read(self, answer: dict[str, Any], request: dict[str, Any]) -> ChatResult:
        return (responses if "input" in request else chat).read_answer(answer)

    def _reader(self, request: dict[str, Any]) -> StreamReader:
        if "input" not in request:
            return chat.ChatReader()
        builtin = any(tool.get("type") != "function" for tool in request.get("tools") or ())
        return responses.ResponseReader(as_text=not builtin)

    def _translated(self, error: Exception) -> Exception | None:
        return of_sdk(self._sdk("openai"), error, self.provider, self.model)


def _check_known(asked: Mapping[str, Any]) -> None:
    """Check that the responses API has what is asked for.

    Raises:
        InvalidInputError: It has not.
    """
    unknown = [name for name in ONLY_CHAT if asked.get(name) and (name, asked[name]) != ("n", 1)]
    if unknown:
        raise InvalidInputError(
            f"OpenAI's responses API has no {', '.join(unknown)}. Leave that out, or ask by chat "
            "completions: use_responses_api=False, without reasoning= and tools that OpenAI runs."
        )


def schema_form(schema: Any, strict: bool | None = None) -> Block:
    """The response format that holds an answer to a schema.

    Args:
        schema: A pydantic class, TypedDict or JSON schema.
        strict: Whether OpenAI must hold to every detail; None: where the schema allows it.
    """
    plain = json_schema(schema)
    strict = is_strict(plain) if strict is None else strict
    shown = for_openai(plain) if strict else plain
    return {
        "type": "json_schema",
        "json_schema": {"name": schema_name(schema), "schema": shown, "strict": strict},
    }


def function_tool(tool: Any, strict: bool | None) -> Block:
    """Any kind of tool as a function of chat completions."""
    function = dict(described(tool))
    if strict is not None:
        function["strict"] = strict
        if strict and "parameters" in function:
            function["parameters"] = for_openai(function["parameters"])
    return {"type": "function", "function": function | extras_of(tool, ("defer_loading",))}


def choice(wanted: Any, tools: Sequence[Block]) -> Any:
    """A tool choice in OpenAI's form.

    Raises:
        ValueError: No such tool.

    >>> choice("any", []), choice(None, [])
    ('required', None)
    """
    if wanted in (None, False) or isinstance(wanted, Mapping):
        return cast("Any", wanted) or None
    if wanted is True or wanted == "any":
        return "required"
    if wanted in ("auto", "none", "required"):
        return wanted
    names = [t["function"]["name"] for t in tools if t.get("type") == "function"]
    if wanted in names:
        return {"type": "function", "function": {"name": wanted}}
    if any(tool.get("type") == wanted for tool in tools):
        return {"type": wanted}
    raise ValueError(f"Tool choice {wanted!r} is no tool that was given. Given: {names}.")


def responses_tool(tool: Block) -> Block:
    """A tool of chat completions in the flat form of the responses API."""
    function = tool.get("function")
    if not isinstance(function, dict):
        return tool
    return {"type": "function", "strict": False, **cast("Block", function)}


def responses_choice(wanted: Any) -> Any:
    """A tool choice of chat completions in the form of the responses API."""
    if isinstance(wanted, dict) and "function" in wanted:
        return {"type": "function", "name": cast("Block", wanted)["function"]["name"]}
    return cast("Any", wanted)


def strict_format(form: Any) -> Any:
    """A response format whose schema, if it is strict, is one that OpenAI's strict mode takes."""
    inner = cast("Block", form).get("json_schema") if isinstance(form, dict) else None
    if not isinstance(inner, dict) or not cast("Block", inner).get("strict"):
        return cast("Any", form)
    schema = for_openai(cast("Block", inner)["schema"])
    return {**cast("Block", form), "json_schema": {**cast("Block", inner), "schema": schema}}


def responses_format(form: Block) -> Block:
    """A response format of chat completions in the flat form of the responses API."""
    inner = form.get("json_schema")
    return {"type": "json_schema", **cast("Block", inner)} if isinstance(inner, dict) else form


__all__ = ["ChatOpenAI"]
