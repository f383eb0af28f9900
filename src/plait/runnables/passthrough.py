"""Runnables that give their input on: whole, with more keys, or only some keys of it."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from plait.callbacks.context import has_listeners
from plait.common.closing import aclose
from plait.errors import InvalidValueError
from plait.objects.model_face import ComparedFields
from plait.runnables.addable import AddableDict, add_chunks
from plait.runnables.base import Other
from plait.runnables.calling import acall_function, call_function, is_async
from plait.runnables.config import RunnableConfig, ensure_config
from plait.runnables.parallel import RunnableParallel
from plait.runnables.runs import acall_as_run, acall_child, call_as_run, call_child, child_config
from plait.runnables.stream_runs import atransform_as_run, transform_as_run
from plait.runnables.transforming import Transforming

if TYPE_CHECKING:
    from pydantic import BaseModel

    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
    from plait.drawing import Graph
    from plait.runnables.fields import ConfigurableFieldSpec


class RunnablePassthrough(ComparedFields, Transforming[Other, Other]):
    """Gives its input on unchanged.

    Args:
        func: Called with the input, for its effect.
        afunc: Its async form.
        input_type: What schemas say about the input.
        name: The name that handlers see.

    >>> RunnablePassthrough(print).invoke("hi")
    hi
    'hi'
    """

    __plait_fields__ = ("name", "input_type", "func", "afunc")

    def __init__(
        self,
        func: Callable[..., Any] | None = None,
        afunc: Callable[..., Any] | None = None,
        *,
        input_type: Any = None,
        name: str | None = None,
    ) -> None:
        self.name = name
        for given in (func, afunc):
            if given is not None and not callable(given):
                raise InvalidValueError(
                    f"RunnablePassthrough({given!r:.200}): give a function that is called with "
                    "the input, or nothing."
                )
        if func is not None and is_async(func):
            func, afunc = None, func
        self.func, self.afunc = func, afunc
        self.input_type = input_type

    @classmethod
    def assign(cls, **kwargs: Any) -> "RunnableAssign":  # pyright: ignore[reportIncompatibleMethodOverride]
        """The input (a dict) with more keys, each computed from it.

        >>> RunnablePassthrough.assign(size=lambda d: len(d["text"])).invoke({"text": "hi"})
        {'text': 'hi', 'size': 2}
        """
        return RunnableAssign(RunnableParallel(kwargs))

    @property
    def InputType(self) -> Any:
        """The given one, else anything."""
        return Any if self.input_type is None else self.input_type

    @property
    def OutputType(self) -> Any:
        """The type of the input."""
        return self.InputType

    def invoke(self, input: Other, config: RunnableConfig | None = None, **kwargs: Any) -> Other:
        """The input."""

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> Other:
            if self.func is not None:
                call_function(self.func, input, config, run, kwargs)
            return input

        return call_as_run(work, self.get_name(), input, config)

    async def ainvoke(
        self, input: Other, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Other:
        """The input."""

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> Other:
            if self.func is not None or self.afunc is not None:
                await acall_function(self.func, self.afunc, input, config, run, kwargs)
            return input

        return await acall_as_run(work, self.get_name(), input, config)

    def transform(
        self, input: Iterator[Other], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Other]:
        """The chunks as they come; the function is called with their sum, at the end."""

        def work(
            chunks: Iterator[Any], config: RunnableConfig, run: "CallbackManagerForChainRun | None"
        ) -> Iterator[Any]:
            func = self.func
            if func is None:
                return chunks
            return _tapped(chunks, lambda total: call_function(func, total, config, run, kwargs))

        return transform_as_run(work, self.get_name(), input, config)

    def atransform(
        self, input: AsyncIterator[Other], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Other]:
        """The chunks as they come; the function is called with their sum, at the end."""

        async def work(
            chunks: AsyncIterator[Any],
            config: RunnableConfig,
            run: "AsyncCallbackManagerForChainRun | None",
        ) -> AsyncIterator[Any]:
            total: Any = None
            has_function = self.func is not None or self.afunc is not None
            async for chunk in chunks:
                if has_function:
                    total = add_chunks(total, chunk)
                yield chunk
            if has_function:
                await acall_function(self.func, self.afunc, total, config, run, kwargs)

        return atransform_as_run(work, self.get_name(), input, config)


def _tapped(chunks: Iterator[Any], tell: Callable[[Any], object]) -> Iterator[Any]:
    """The chunks; then their sum is told."""
    total: Any = None
    for chunk in chunks:
        total = add_chunks(total, chunk)
        yield chunk
    tell(total)


class RunnableAssign(ComparedFields, Transforming[dict[str, Any], dict[str, Any]]):
    """Gives a dict on with more keys, computed from it. `RunnablePassthrough.assign` makes it.

    The given keys are streamed as they come, those that the mapper overwrites left out.

    Args:
        mapper: Computes the new keys.
        name: The name that handlers see.

    Raises:
        ValueError: At each call: the input is no dict.
    """

    __plait_fields__ = ("name", "mapper")

    def __init__(self, mapper: RunnableParallel[Any], *, name: str | None = None) -> None:
        self.mapper = mapper
        self.name = name

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Its own name, else one made of the new keys."""
        known = name or self.name or f"RunnableAssign<{','.join(self.mapper.steps__)}>"
        return super().get_name(suffix, name=known)

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """What the mapper takes, if that is a dict of known keys."""
        from plait.runnables.schemas import has_root  # loads pydantic

        its = self.mapper.get_input_schema(config)
        return super().get_input_schema(config) if has_root(its) else its

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """The keys of the input, if they are known, and the new ones."""
        from plait.runnables.schemas import output_of_assign  # loads pydantic

        return output_of_assign(self.mapper, config)

    @property
    def config_specs(self) -> "list[ConfigurableFieldSpec]":
        """What can be configured in the mapper."""
        return self.mapper.config_specs

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """The graph of the mapper, with the input passing by."""
        from plait.runnables.pictures import assigning  # only what is drawn needs it

        return assigning(self.mapper, config)

    def invoke(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """The input with the new keys."""

        def work(
            config: RunnableConfig, run: "CallbackManagerForChainRun | None"
        ) -> dict[str, Any]:
            given = _checked(input)
            return {**given, **call_child(self.mapper, given, config, run, None, kwargs)}

        return call_as_run(work, self.get_name(), input, config)

    async def ainvoke(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """The input with the new keys."""

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> dict[str, Any]:
            given = _checked(input)
            return {**given, **await acall_child(self.mapper, given, config, run, None, kwargs)}

        return await acall_as_run(work, self.get_name(), input, config)

    def transform(
        self, input: Iterator[dict[str, Any]], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[dict[str, Any]]:
        """The chunks as they come, then the mapper's, which works meanwhile."""

        def work(
            chunks: Iterator[Any], config: RunnableConfig, run: "CallbackManagerForChainRun | None"
        ) -> Iterator[dict[str, Any]]:
            from plait.runnables.merging import Merged, tee  # loads threading and asyncio

            passed, mapped = tee(chunks, 2)
            its_config = child_config(config, run, None)
            meanwhile = Merged({"": self.mapper.transform(mapped, its_config, **kwargs)})
            try:
                for chunk in passed:
                    if rest := self._kept(_checked(chunk)):
                        yield rest
                for _, chunk in meanwhile:
                    yield chunk
            finally:
                meanwhile.close()

        return transform_as_run(work, self.get_name(), input, config)

    def atransform(
        self,
        input: AsyncIterator[dict[str, Any]],
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[dict[str, Any]]:
        """The chunks as they come, then the mapper's, which works meanwhile."""

        async def work(
            chunks: AsyncIterator[Any],
            config: RunnableConfig,
            run: "AsyncCallbackManagerForChainRun | None",
        ) -> AsyncIterator[dict[str, Any]]:
            from plait.runnables.merging import AsyncMerged, atee  # loads threading and asyncio

            passed, mapped = atee(chunks, 2)
            its_config = child_config(config, run, None)
            meanwhile = AsyncMerged({"": self.mapper.atransform(mapped, its_config, **kwargs)})
            new = meanwhile.read()
            try:
                async for chunk in passed:
                    if rest := self._kept(_checked(chunk)):
                        yield rest
                async for _, chunk in new:
                    yield chunk
            finally:
                await aclose(new)
                await meanwhile.aclose()

        return atransform_as_run(work, self.get_name(), input, config)

    def _kept(self, chunk: Mapping[str, Any]) -> AddableDict:
        new = self.mapper.steps__
        return AddableDict({key: value for key, value in chunk.items() if key not in new})


def _known_keys(keys: Any) -> str | list[str]:
    """The key or keys to pick, if that is what they are."""
    if isinstance(keys, str):
        return keys
    several = isinstance(keys, Iterable) and not isinstance(keys, Mapping)
    named: list[Any] = [*cast("Iterable[Any]", keys)] if several else [keys]
    if not several or not all(isinstance(key, str) for key in named):
        raise InvalidValueError(f"pick({keys!r:.200}): give a key (a str), or a list of keys.")
    return named


class RunnablePick(ComparedFields, Transforming[dict[str, Any], Any]):
    """Of a dict, the value of one key; or the dict of several keys.

    Args:
        keys: A key, or a list of them. Keys that are not there are left out.
        name: The name that handlers see.

    >>> given = {"a": 1, "b": 2, "c": 3}
    >>> RunnablePick("a").invoke(given), RunnablePick(["a", "b"]).invoke(given)
    (1, {'a': 1, 'b': 2})
    """

    __plait_fields__ = ("name", "keys")

    def __init__(self, keys: str | list[str], *, name: str | None = None) -> None:
        self.keys = _known_keys(keys)
        self.name = name

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Its own name, else one made of the keys."""
        keys = [self.keys] if isinstance(self.keys, str) else self.keys
        known = name or self.name or f"RunnablePick<{','.join(keys)}>"
        return super().get_name(suffix, name=known)

    @property
    def OutputType(self) -> Any:
        """Anything."""
        return Any

    def _picked(self, given: dict[str, Any]) -> Any:
        known = _checked(given)
        if isinstance(self.keys, str):
            return known.get(self.keys)
        return AddableDict({key: known[key] for key in self.keys if key in known}) or None

    def invoke(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        """The picked value or values; None if nothing is there."""
        if not has_listeners(config := ensure_config(config)):
            return self._picked(input)
        return call_as_run(lambda config, run: self._picked(input), self.get_name(), input, config)

    async def ainvoke(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        """The picked value or values; None if nothing is there."""

        async def work(config: RunnableConfig, run: Any) -> Any:
            return self._picked(input)

        return await acall_as_run(work, self.get_name(), input, config)

    def transform(
        self, input: Iterator[dict[str, Any]], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """What each chunk has of the picked keys."""

        def work(chunks: Iterator[Any], config: RunnableConfig, run: Any) -> Iterator[Any]:
            for chunk in chunks:
                if (picked := self._picked(chunk)) is not None:
                    yield picked

        return transform_as_run(work, self.get_name(), input, config)

    def atransform(
        self,
        input: AsyncIterator[dict[str, Any]],
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """What each chunk has of the picked keys."""

        async def work(
            chunks: AsyncIterator[Any], config: RunnableConfig, run: Any
        ) -> AsyncIterator[Any]:
            async for chunk in chunks:
                if (picked := self._picked(chunk)) is not None:
                    yield picked

        return atransform_as_run(work, self.get_name(), input, config)


def _checked(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(
            f"The input must be a dict, so that keys can be added or picked; got "
            f"{type(given).__name__}. Put a step before it that makes a dict."
        )
    return cast("dict[str, Any]", given)


__all__ = ["RunnableAssign", "RunnablePassthrough", "RunnablePick"]
