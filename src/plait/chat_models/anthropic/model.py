"""`ChatAnthropic`: Anthropic's models, by the official SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from plait.chat_models.anthropic.wire import MessageReader, read_answer, to_wire
from plait.chat_models.failures import of_sdk
from plait.chat_models.remote import RemoteChatModel, StreamReader
from plait.chat_models.results import ChatResult
from plait.chat_models.schemas import for_anthropic, is_strict, schema_of_format
from plait.chat_models.structured import StructuredOutput, by_tool, json_schema, schema_name
from plait.chat_models.wire import Block, described, extras_of, is_builtin, part_of, present
from plait.common.reflection import signature
from plait.runnables.base import Runnable

BEFORE_SCHEMAS = ("claude-2", "claude-3", "claude-instant", "claude-opus-4-0", "claude-sonnet-4-0")
DEFAULT_MAX_TOKENS = 4096
_EXTRAS = (
    "allowed_callers",
    "cache_control",
    "defer_loading",
    "eager_input_streaming",
    "input_examples",
)
"""What Anthropic knows about a tool beside its schema; taken from the tool's `extras`."""


class ChatAnthropic(RemoteChatModel):
    """A model of Anthropic.

    Args:
        max_tokens: How long an answer may be; Anthropic wants a number, so None means 4096.
        top_k: How many of the likeliest words it chooses from.
        thinking: How it thinks, as in Anthropic's documents:
            `{"type": "enabled", "budget_tokens": 2000}`.
        betas: Betas to take part in.

    Raises:
        MissingExtraError: On the first call, if the package anthropic is not installed.
        ModelError: See the family in `plait.errors`.

    >>> ChatAnthropic(model="claude-sonnet-4-5")
    ChatAnthropic(model='claude-sonnet-4-5')
    """

    top_k: int | None = None
    thinking: dict[str, Any] | None = None
    betas: list[str] | None = None

    provider: ClassVar[str] = "anthropic"
    extra: ClassVar[str] = "anthropic"
    aliases: ClassVar[Mapping[str, str]] = {
        **RemoteChatModel.aliases,
        "anthropic_api_key": "api_key",
        "anthropic_api_url": "base_url",
        "default_request_timeout": "timeout",
        "max_tokens_to_sample": "max_tokens",
    }

    @property
    def _llm_type(self) -> str:
        return "anthropic-chat"

    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: Any = None,
        parallel_tool_calls: bool | None = None,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[Any, Any]:
        """This model with tools that it may call.

        Args:
            tools: Functions, plait's or LangChain's tools, pydantic classes, TypedDicts, schemas;
                dicts of tools that Anthropic runs itself (`{"type": "web_search_20250305", ...}`).
            tool_choice: A tool's name; "any", "required" or True: some tool; "auto"; "none".
            parallel_tool_calls: Whether it may call several at once.
            strict: Make arguments fit their schema.
            kwargs: Bound, too.
        """
        made = [tool if is_builtin(tool) else anthropic_tool(tool, strict) for tool in tools]
        chosen = choice(tool_choice, [str(tool.get("name")) for tool in made])
        if parallel_tool_calls is not None and chosen != {"type": "none"}:
            one = {"disable_parallel_tool_use": not parallel_tool_calls}
            chosen = ({"type": "auto"} if chosen is None else chosen) | one
        return self.bind(tools=made, **present(tool_choice=chosen), **kwargs)

    def with_structured_output(
        self,
        schema: Any,
        *,
        include_raw: bool = False,
        method: str | None = None,
        **kwargs: Any,
    ) -> Runnable[Any, Any]:
        """This model, made to answer with a value of a schema (see `BaseChatModel`).

        Args:
            schema: A pydantic class, TypedDict or JSON schema.
            include_raw: Give raw, parsed and parsing_error.
            method: "json_schema" (Anthropic holds the answer to it) or "function_calling" (a tool
                that must be called; while the model thinks, one that it may call). None: the first
                where the model has it, and no object of the schema is open.
            kwargs: Bound, too.

        Raises:
            ValueError: `method` is none of these.
        """
        if method is None:
            held = self._holds_to_schemas() and is_strict(json_schema(schema))
            method = "json_schema" if held else "function_calling"
        if method == "function_calling":
            # A model that thinks may not be forced to call a tool.
            forced = "auto" if self._thinks(kwargs) else schema_name(schema)
            return by_tool(self, schema, include_raw, tool_choice=forced, **kwargs)
        if method != "json_schema":
            raise ValueError(
                f"Unrecognized method {method!r}. Expected 'json_schema' or 'function_calling'."
            )
        form = {"type": "json_schema", "json_schema": {"schema": json_schema(schema)}}
        bound = self.bind(response_format=form, **kwargs)
        return bound | StructuredOutput(schema, "json", include_raw)

    def _holds_to_schemas(self) -> bool:
        return not self.model.startswith(BEFORE_SCHEMAS)

    def _thinks(self, kwargs: Mapping[str, Any]) -> bool:
        thinking = kwargs.get("thinking", self.thinking)
        return bool(thinking) and cast("Block", thinking).get("type") != "disabled"

    def _request(
        self, messages: Sequence[Any], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        system, turns = to_wire(messages)
        own = present(
            model=self.model,
            max_tokens=self.max_tokens or DEFAULT_MAX_TOKENS,
            system=system,
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            thinking=self.thinking,
            stop_sequences=stop,
        )
        asked: Block = {**own, **self.model_kwargs, **kwargs, "messages": turns}
        if (schema := schema_of_format(asked.get("response_format"))) is not None:
            del asked["response_format"]
            form = {"type": "json_schema", "schema": for_anthropic(schema)}
            asked["output_config"] = {**part_of(asked, "output_config"), "format": form}
        if self.betas:
            betas = {"anthropic-beta": ",".join(self.betas)}
            asked["extra_headers"] = betas | part_of(asked, "extra_headers")
        return asked

    def _make_client(self, is_async: bool) -> Any:
        sdk = self._sdk("anthropic")
        settings = present(
            api_key=self._secret(),
            base_url=self.base_url,
            timeout=self.timeout,
            default_headers=self.default_headers,
        )
        make = sdk.AsyncAnthropic if is_async else sdk.Anthropic
        if is_async:
            # The SDK's default one would close itself on whatever loop runs when it is collected.
            settings["http_client"] = sdk.DefaultAsyncHttpxClient()
        return make(max_retries=self.max_retries, **settings)

    def _send(self, client: Any, request: dict[str, Any]) -> Any:
        return client.messages.create(**_arguments(client.messages.create, request))

    def _open(self, client: Any, request: dict[str, Any]) -> Any:
        return client.messages.create(**_arguments(client.messages.create, request), stream=True)

    def _plain(self, answer: Any) -> dict[str, Any]:
        return answer.to_dict(mode="json", warnings=False)  # betas have blocks that it has not

    def _read(self, answer: dict[str, Any], request: dict[str, Any]) -> ChatResult:
        return read_answer(answer)

    def _reader(self, request: dict[str, Any]) -> StreamReader:
        return MessageReader(as_text=not may_cite(request))

    def _translated(self, error: Exception) -> Exception | None:
        return of_sdk(self._sdk("anthropic"), error, self.provider, self.model)


def _arguments(create: Any, request: Block) -> Block:
    """A request as arguments of the SDK: what its version has no name for (samplings, betas) goes
    beside them."""
    known = signature(create).parameters
    beside = {key: value for key, value in request.items() if key not in known}
    if not beside:
        return request
    named = {key: value for key, value in request.items() if key in known}
    return {**named, "extra_body": {**beside, **part_of(request, "extra_body")}}


def anthropic_tool(tool: Any, strict: bool | None) -> Block:
    """Any kind of tool in Anthropic's form; one that is in it stays as it is."""
    if isinstance(tool, Mapping) and "input_schema" in tool:
        return dict(cast("Block", tool))
    function = described(tool)
    schema = part_of(function, "parameters") or {"type": "object", "properties": {}}
    made: Block = {"name": function["name"], "input_schema": schema}
    if function.get("description"):
        made["description"] = function["description"]
    if strict:
        made |= {"strict": True, "input_schema": for_anthropic(schema)}
    return made | extras_of(tool, _EXTRAS)


def choice(wanted: Any, names: Sequence[str]) -> Block | None:
    """A tool choice in Anthropic's form.

    Raises:
        ValueError: No such tool.

    >>> choice("required", [])
    {'type': 'any'}
    """
    if wanted in (None, False):
        return None
    if isinstance(wanted, Mapping):
        given = dict(cast("Block", wanted))
        name = part_of(given, "function").get("name")
        return {"type": "tool", "name": name} if name else given
    if wanted is True or wanted in ("any", "required"):
        return {"type": "any"}
    if wanted in ("auto", "none"):
        return {"type": wanted}
    if wanted in names:
        return {"type": "tool", "name": wanted}
    raise ValueError(f"Tool choice {wanted!r} is no tool that was given. Given: {list(names)}.")


def may_cite(request: Mapping[str, Any]) -> bool:
    """Whether an answer's text may carry citations: of documents, or of tools Anthropic runs."""
    if any("input_schema" not in tool for tool in request.get("tools") or ()):
        return True
    for turn in request["messages"]:
        content = turn["content"]
        if isinstance(content, list) and _may_be_cited(cast("list[Block]", content)):
            return True
    return False


def _may_be_cited(blocks: list[Block]) -> bool:
    for block in blocks:
        if block.get("type") in ("document", "search_result"):
            return True
        inner = block.get("content")
        if isinstance(inner, list) and _may_be_cited(cast("list[Block]", inner)):
            return True
    return False


__all__ = ["ChatAnthropic"]
