"""`EvaluatorComponent`: grades the answer of a pipeline by any number of metrics."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

from plait.errors import InvalidGraphError, InvalidValueError, ModelError
from plait.pipeline.components import OUTPUT, FnComponent
from plait.pipeline.models import LLMComponent, texts_of

_GRADE = re.compile(
    r"(?P<number>-?\d*[.,]?\d+)"
    r"(?P<scale>\s*(?:%|(?:/|out of|of)\s*(?!1(?:\.0+)?\b)\d+))?"
)
"""The first number of an answer, and whether it is one on another scale ("8/10", "80 %")."""
_KNOWN = ("question", "answer", "contexts", "ground_truth")


def answer_similarity(answer: str, ground_truth: str) -> float:
    """How far the words of an answer are those of the true one (F1, from 0 to 1).

    >>> answer_similarity("a durable runtime", "a runtime")
    0.8
    """
    given, true = Counter(_words(answer)), Counter(_words(ground_truth))
    shared = sum((given & true).values())
    return 2 * shared / (sum(given.values()) + sum(true.values())) if shared else 0.0


def context_recall(contexts: Sequence[str], ground_truth: str) -> float:
    """How many of the true answer's words were retrieved (from 0 to 1).

    >>> context_recall(["plait is a runtime"], "a durable runtime")
    0.6666666666666666
    """
    return _share(ground_truth, contexts)


def groundedness(answer: str, contexts: Sequence[str]) -> float:
    """How many of the answer's words were retrieved (from 0 to 1).

    >>> groundedness("a runtime", ["plait is a runtime"])
    1.0
    """
    return _share(answer, contexts)


METRICS: dict[str, Callable[..., float]] = {
    "answer_similarity": answer_similarity,
    "context_recall": context_recall,
    "groundedness": groundedness,
}
"""What is measured by default; by words alone, without a model."""


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _share(text: str, sources: Sequence[str]) -> float:
    words = _words(text)
    known = {word for source in sources for word in _words(source)}
    return sum(word in known for word in words) / len(words) if words else 0.0


class Judge(LLMComponent):
    """A metric that a model judges.

    Args:
        criterion: what is asked of the answer, in words.
        llm: the model (default: the evaluator's, or the pipeline's).

    >>> judge = Judge(criterion="The answer is polite.", llm=lambda prompt: "0.9")
    >>> judge.run_component(question="Hi?", answer="Good day!")
    {'output': 0.9}
    """

    criterion: str

    @property
    def _input_keys(self) -> Sequence[str]:
        return ("question", "answer")

    @property
    def _optional_input_keys(self) -> Sequence[str]:
        return ("contexts", "ground_truth")

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        return {OUTPUT: self._grade(self.ask(self._prompt(inputs)))}

    async def _arun_component(self, **inputs: Any) -> dict[str, Any]:
        return {OUTPUT: self._grade(await self.aask(self._prompt(inputs)))}

    def _prompt(self, inputs: dict[str, Any]) -> str:
        facts = [f"{name}: {inputs[name]}" for name in _KNOWN if name in inputs]
        return "\n".join(
            [
                *facts,
                "",
                f"Criterion: {self.criterion}",
                "How far is the criterion met? Reply with a number from 0 to 1 alone.",
            ]
        )

    def _grade(self, answer: str) -> float:
        found = _GRADE.search(answer)
        grade = float(found["number"].replace(",", ".")) if found and not found["scale"] else -1.0
        if not 0 <= grade <= 1:
            raise ModelError(
                f"The judge of {self.criterion!r} was to answer with a number from 0 to 1 and "
                f"answered {answer!r:.200}."
            )
        return grade


class EvaluatorComponent(LLMComponent):
    """Grades an answer.

    Inputs `question` and `answer`; `nodes` (what was retrieved) and `ground_truth` as far as they
    are linked. Output `output`: metric to grade; a metric whose inputs are not there is left out.

    Args:
        metrics: name to function of any of question, answer, contexts and ground_truth, or to a
            `Judge` (default: `METRICS`).
        llm: the model of judges that have none.

    Raises:
        InvalidGraphError: a metric asks for something else.

    >>> evaluator = EvaluatorComponent()
    >>> evaluator.run_component(question="What?", answer="a runtime", ground_truth="a runtime")
    {'output': {'answer_similarity': 1.0}}
    """

    metrics: Mapping[str, Any] = METRICS

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.parts = {name: _metric(name, metric) for name, metric in self.metrics.items()}

    @property
    def _input_keys(self) -> Sequence[str]:
        return ("question", "answer")

    @property
    def _optional_input_keys(self) -> Sequence[str]:
        return ("nodes", "ground_truth")

    def using(self, llm: Any) -> Self:
        made = copy(self)
        model = self.llm or llm
        made.parts = {
            name: part.using(model) if isinstance(part, Judge) else part
            for name, part in self.parts.items()
        }
        return made

    @property
    def lacks_model(self) -> bool:
        return any(isinstance(part, Judge) and part.lacks_model for part in self.parts.values())

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        grades: dict[str, Any] = {}
        for name, given in self._wanted(inputs).items():
            with _named(name):
                grades[name] = self.parts[name].run_component(**given)[OUTPUT]
        return {OUTPUT: grades}

    async def _arun_component(self, **inputs: Any) -> dict[str, Any]:
        grades: dict[str, Any] = {}
        for name, given in self._wanted(inputs).items():
            with _named(name):
                grades[name] = (await self.parts[name].arun_component(**given))[OUTPUT]
        return {OUTPUT: grades}

    def _wanted(self, inputs: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """The inputs of each metric whose inputs are there.

        Raises:
            InvalidValueError: there is none.
        """
        facts = {name: value for name, value in inputs.items() if name != "nodes"}
        if "nodes" in inputs:
            facts["contexts"] = texts_of(inputs["nodes"])
        wanted = {
            name: {key: facts[key] for key in facts if key in part.input_keys}
            for name, part in self.parts.items()
            if all(key in facts for key in part.input_keys.required)
        }
        if not wanted:
            raise InvalidValueError(
                f"None of the metrics {list(self.parts)} can be taken from {list(inputs)}. Link "
                "`nodes` or `ground_truth` to the evaluator."
            )
        return wanted


@contextmanager
def _named(metric: str) -> Generator[None]:
    """What a metric raises says which one it was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"In the metric {metric!r}")
        raise


def _metric(name: str, metric: Any) -> FnComponent | Judge:
    part = metric if isinstance(metric, Judge) else FnComponent(metric)
    for key in part.input_keys.required:
        if key not in _KNOWN:
            raise InvalidGraphError(
                f"Metric {name!r} takes {key!r}; a metric takes any of {', '.join(_KNOWN)}."
            )
    return part


__all__ = [
    "METRICS",
    "EvaluatorComponent",
    "Judge",
    "answer_similarity",
    "context_recall",
    "groundedness",
]
