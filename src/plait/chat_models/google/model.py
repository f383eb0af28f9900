"""`ChatGoogle`: Google's models, by the official SDK (google-genai)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from plait.chat_models.failures import failure, of_transport
from plait.chat_models.google.wire import PartReader, read_answer, to_wire
from plait.chat_models.remote import RemoteChatModel, StreamReader
from plait.chat_models.results import ChatResult
from plait.chat_models.schemas import schema_of_format
from plait.chat_models.structured import StructuredOutput, by_tool, json_schema, schema_name
from plait.chat_models.wire import Block, described, is_builtin, part_of, present
from plait.runnables.base import Runnable

THINKING = ("thinking_budget", "thinking_level", "include_thoughts")
SAMPLING = ("temperature", "max_tokens", "top_p", "top_k", "seed", "n")
SETTINGS = ("model", "safety_settings", *SAMPLING, *THINKING)
"""What a call may set, too, under the names that it has here."""


class ChatGoogle(RemoteChatModel):
    """A model of Google: the Gemini API, or Vertex AI with `vertexai=True`.

    Args:
        top_k: How many of the likeliest words it chooses from.
        seed: A number that makes answers alike.
        n: How many candidates to answer with.
        thinking_budget: How many tokens it may think; 0: none, -1: as many as it likes.
        thinking_level: How long it thinks ("low", "high"), for models that take this instead.
        include_thoughts: Whether its thoughts come with the answer.
        safety_settings: As in Google's documents.
        vertexai, project, location, credentials: For Vertex AI.

    Raises:
        MissingExtraError: On the first call, if the package google-genai is not installed.
        ModelError: See the family in `plait.errors`.

    >>> ChatGoogle(model="gemini-2.5-flash")
    ChatGoogle(model='gemini-2.5-flash')
    """

    top_k: int | None = None
    seed: int | None = None
    n: int | None = None
    thinking_budget: int | None = None
    thinking_level: str | None = None
    include_thoughts: bool | None = None
    safety_settings: list[Any] | None = None
    vertexai: bool | None = None
    project: str | None = None
    location: str | None = None
    credentials: Any = None

    provider: ClassVar[str] = "google"
    extra: ClassVar[str] = "google"
    aliases: ClassVar[Mapping[str, str]] = {
        **RemoteChatModel.aliases,
        "google_api_key": "api_key",
        "max_output_tokens": "max_tokens",
    }

    @property
    def _llm_type(self) -> str:
        return "google-chat"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any
    ) -> Runnable[Any, Any]:
        """This model with tools that it may call.

        Args:
            tools: Functions, plait's or LangChain's tools, pydantic classes, TypedDicts, schemas;
                dicts of tools that Google runs itself (`{"google_search": {}}`).
            tool_choice: A tool's name; "any", "required" or True: some tool; "auto"; "none".
            kwargs: Bound, too.
        """
        own = [tool for tool in tools if _is_googles(tool)]
        functions = [declaration(tool) for tool in tools if not _is_googles(tool)]
        made = [*([{"function_declarations": functions}] if functions else []), *own]
        chosen = choice(tool_choice, [function["name"] for function in functions])
        return self.bind(tools=made, **present(tool_config=chosen), **kwargs)

    def with_structured_output(
        self,
        schema: Any,
        *,
        include_raw: bool = False,
        method: str = "json_schema",
        **kwargs: Any,
    ) -> Runnable[Any, Any]:
        """This model, made to answer with a value of a schema (see `BaseChatModel`).

        Args:
            schema: A pydantic class, TypedDict or JSON schema; with "json_mode", None is any JSON.
            include_raw: Give raw, parsed and parsing_error.
            method: "json_schema" (Google holds the answer to it), "function_calling" (a tool that
                must be called) or "json_mode" (JSON of any form).
            kwargs: Bound, too.

        Raises:
            ValueError: `method` is none of these.
        """
        if method == "function_calling":
            chosen = schema_name(schema)
            return by_tool(self, schema, include_raw, tool_choice=chosen, **kwargs)
        if method not in ("json_schema", "json_mode"):
            raise ValueError(
                f"Unrecognized method {method!r}. "
                "Expected 'json_schema', 'function_calling' or 'json_mode'."
            )
        form: Block = {"response_mime_type": "application/json"}
        if method == "json_schema":
            form["response_json_schema"] = json_schema(schema)
        return self.bind(**form, **kwargs) | StructuredOutput(schema, "json", include_raw)

    def _request(
        self, messages: Sequence[Any], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        system, contents = to_wire(messages)
        its = self._settings(SETTINGS, kwargs)
        thinking = {key: its[key] for key in THINKING if its[key] is not None}
        own = present(
            system_instruction=system,
            temperature=its["temperature"],
            max_output_tokens=its["max_tokens"],
            top_p=its["top_p"],
            top_k=its["top_k"],
            seed=its["seed"],
            candidate_count=its["n"],
            stop_sequences=stop,
            safety_settings=its["safety_settings"],
            thinking_config=thinking or None,
        )
        # Functions are called by tools of the program, never by the SDK itself.
        own["automatic_function_calling"] = {"disable": True}
        config = {**own, **self.model_kwargs, **kwargs}
        if (schema := schema_of_format(config.get("response_format"))) is not None:
            del config["response_format"]
            config["response_mime_type"] = "application/json"
            config["response_json_schema"] = schema
        return {"model": its["model"], "contents": contents, "config": config}

    def _make_client(self, is_async: bool) -> Any:
        sdk = self._sdk("google.genai")
        timeout = None if self.timeout is None else int(self.timeout * 1000)
        http = present(base_url=self.base_url, headers=self.default_headers, timeout=timeout)
        http["retry_options"] = {"attempts": self.max_retries + 1}
        settings = present(
            api_key=self._secret(),
            vertexai=self.vertexai,
            project=self.project,
            location=self.location,
            credentials=self.credentials,
        )
        client = sdk.Client(http_options=http, **settings)
        return client.aio if is_async else client

    def _send(self, client: Any, request: dict[str, Any]) -> Any:
        return client.models.generate_content(**request)

    def _open(self, client: Any, request: dict[str, Any]) -> Any:
        return client.models.generate_content_stream(**request)

    def _plain(self, answer: Any) -> dict[str, Any]:
        return answer.model_dump(mode="json", exclude_none=True, exclude={"sdk_http_response"})

    def _read(self, answer: dict[str, Any], request: dict[str, Any]) -> ChatResult:
        return read_answer(answer)

    def _reader(self, request: dict[str, Any]) -> StreamReader:
        config: Block = request["config"]
        runs_tools = any("function_declarations" not in tool for tool in config.get("tools") or ())
        return PartReader(as_text=not (runs_tools or "response_modalities" in config))

    def _translated(self, error: Exception) -> Exception | None:
        errors = self._sdk("google.genai").errors
        if isinstance(error, errors.APIError):
            known: Any = error
            response = getattr(known, "response", None)
            return failure(
                error,
                provider=self.provider,
                model=self.model,
                status=known.code if isinstance(known.code, int) else None,
                codes=_codes(known),
                message=str(known.message or error),
                headers=getattr(response, "headers", None),
            )
        return of_transport(error, self.provider, self.model)


def _codes(error: Any) -> tuple[Any, ...]:
    """What Google calls the error; a wrong key is a bad request to it, told apart by its reason."""
    key = "API_KEY_INVALID" in str(getattr(error, "details", ""))
    return ("invalid_api_key", error.status) if key else (error.status,)


def _is_googles(tool: Any) -> bool:
    """Whether a tool is one in Google's own form, run by Google or declaring functions."""
    if not isinstance(tool, Mapping):
        return type(tool).__module__.startswith("google.genai")
    described_keys = ("name", "title", "function", "parameters", "input_schema", "properties")
    return is_builtin(tool) or not any(key in tool for key in described_keys)


def declaration(tool: Any) -> Block:
    """Any kind of tool as a function declaration."""
    function = described(tool)
    made: Block = {"name": function["name"], "description": function.get("description") or ""}
    if function.get("parameters", {}).get("properties"):
        made["parameters_json_schema"] = function["parameters"]
    return made


def choice(wanted: Any, names: Sequence[str]) -> Block | None:
    """A tool choice in Google's form.

    Raises:
        ValueError: No such tool.

    >>> choice("any", ["f"])
    {'function_calling_config': {'mode': 'ANY'}}
    """
    if wanted in (None, False):
        return None
    if isinstance(wanted, Mapping):
        given = dict(cast("Block", wanted))
        wanted = part_of(given, "function").get("name")
        if wanted is None:
            return given
    if wanted is True or wanted in ("any", "required"):
        config: Block = {"mode": "ANY"}
    elif wanted in ("auto", "none"):
        config = {"mode": wanted.upper()}
    elif wanted in names:
        config = {"mode": "ANY", "allowed_function_names": [wanted]}
    else:
        raise ValueError(f"Tool choice {wanted!r} is no tool that was given. Given: {list(names)}.")
    return {"function_calling_config": config}


__all__ = ["ChatGoogle"]
