"""How executors were called before `invoke`: as functions, and by `run`, which gives one value."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from plait.chat_models.results import RunInfo
from plait.errors import InvalidValueError
from plait.runnables.config import RunnableConfig, ensure_config

RUN_KEY = "__run"
"""Under which an output says which run gave it."""


def new_run(**config: Any) -> RunnableConfig:
    """The config of a new run, which has its id. None is nothing."""
    given: Any = {key: value for key, value in config.items() if value is not None}
    return {**given, "run_id": uuid4()}


def told_run(
    config: RunnableConfig | None, include_run_info: bool
) -> tuple[RunnableConfig | None, dict[str, Any]]:
    """The config of a run, which has its id where the output is to say it; and what that says.

    Args:
        config: The config of the call.
        include_run_info: The output says which run gave it.
    """
    if not include_run_info:
        return config, {}
    given = ensure_config(config)
    run_id = given.get("run_id") or uuid4()
    return {**given, "run_id": run_id}, {RUN_KEY: RunInfo(run_id=run_id)}


class OlderCalls:
    """The older spellings of `invoke` and `ainvoke`."""

    if TYPE_CHECKING:
        output_keys: Any
        invoke: Any
        ainvoke: Any

    def __call__(
        self,
        inputs: Any,
        return_only_outputs: bool = False,
        callbacks: Any = None,
        *,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        run_name: str | None = None,
        include_run_info: bool = False,
    ) -> dict[str, Any]:
        """As `invoke`, with the entries of the config as arguments.

        Args:
            inputs: The agent's inputs; a text if it has one.
            return_only_outputs: Leave the inputs out of the output.
            callbacks: Handlers of the run.
            tags: Labels of the run.
            metadata: Facts about the run.
            run_name: What the run is called.
            include_run_info: The output has `__run` too, with the id of the run.
        """
        config = new_run(callbacks=callbacks, tags=tags, metadata=metadata, run_name=run_name)
        return self.invoke(
            inputs,
            config,
            return_only_outputs=return_only_outputs,
            include_run_info=include_run_info,
        )

    async def acall(
        self,
        inputs: Any,
        return_only_outputs: bool = False,
        callbacks: Any = None,
        *,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        run_name: str | None = None,
        include_run_info: bool = False,
    ) -> dict[str, Any]:
        """The async twin of a call."""
        config = new_run(callbacks=callbacks, tags=tags, metadata=metadata, run_name=run_name)
        return await self.ainvoke(
            inputs,
            config,
            return_only_outputs=return_only_outputs,
            include_run_info=include_run_info,
        )

    def apply(
        self, input_list: Sequence[Mapping[str, Any]], callbacks: Any = None
    ) -> list[dict[str, Any]]:
        """Call it with each of several inputs, one after the other."""
        return [self(inputs, callbacks=callbacks) for inputs in input_list]

    def run(
        self,
        *args: Any,
        callbacks: Any = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call it, and give the one value that it returns.

        Args:
            args: The agent's inputs: a text if it has one, or a dict.
            callbacks: Handlers of the run.
            tags: Labels of the run.
            metadata: Facts about the run.
            kwargs: The inputs by name, instead of `args`.

        Raises:
            InvalidValueError: It got no inputs or both kinds, one is missing, or it returns more
                than one value.
        """
        key, inputs = self._one_key(), _inputs_of(args, kwargs)
        return _value(key, self(inputs, True, callbacks, tags=tags, metadata=metadata))

    async def arun(
        self,
        *args: Any,
        callbacks: Any = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """The async twin of `run`."""
        key, inputs = self._one_key(), _inputs_of(args, kwargs)
        return _value(key, await self.acall(inputs, True, callbacks, tags=tags, metadata=metadata))

    def _one_key(self) -> str:
        keys: list[str] = self.output_keys
        if len(keys) != 1:
            raise InvalidValueError(
                f"run() gives one value, and this executor returns {keys}. Use invoke(), which "
                "gives all of them by their names."
            )
        return keys[0]


def _inputs_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) + bool(kwargs) != 1:
        raise InvalidValueError(
            "run() takes the inputs as one argument, or by their names: run('text'), "
            f"run({{'input': 'text'}}) or run(input='text'). It got {args} and {kwargs}."
        )
    return args[0] if args else kwargs


def _value(key: str, output: Mapping[str, Any]) -> Any:
    if key not in output:
        raise InvalidValueError(
            f"The run gave no {key!r}, but {list(output)}. Use invoke(), which gives all of it: a "
            "run that waits for a person has its questions there."
        )
    return output[key]


__all__ = ["RUN_KEY", "OlderCalls", "new_run", "told_run"]
