"""SIGKILL before and after every storage request of a workflow; then new processes finish it.

A failing trial prints the command that replays it; the replay reads `PLAIT_KILL`.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from plait.checkpoint.sqlite import SqliteSaver
from plait.testing import FaultySaver, fork

from .workflow import (
    CALLS,
    CONFIG,
    EXPECTED,
    HANDLED,
    NESTED,
    Journal,
    afinish,
    build,
    build_calls,
    build_handled,
    build_nested,
    build_steps,
    finish,
)

HERE = "tests/durability/test_kill.py"
BUILDS = {"fan": build, "nested": build_nested, "calls": build_calls, "steps": build_steps,
          "handled": build_handled}  # fmt: skip
OUTCOMES = {
    "fan": (EXPECTED, 8),
    "nested": (NESTED, 4),
    "calls": (CALLS, 1),
    "steps": ({**CALLS, "sizes": []}, 2),
    "handled": ({**HANDLED, "sizes": []}, 4),
}
"""The final state, and the number after the last super-step's."""
MOST_POINTS = 400
"""More storage requests than the workflow makes: an enumeration that gets here runs away."""
REPLAYS = pytest.mark.skipif(
    "PLAIT_KILL" not in os.environ, reason="plays the trial that PLAIT_KILL names"
)


@dataclass(frozen=True)
class Trial:
    """One schedule: which storage request of each worker in turn kills it, and when."""

    flow: str
    api: str
    durability: str
    when: str
    points: tuple[int, ...]

    def __str__(self) -> str:
        points = ",".join(map(str, self.points))
        return f"{self.flow} {self.api} {self.durability} {self.when} {points}"

    @staticmethod
    def parse(text: str) -> Trial:
        flow, api, durability, when, points = text.split()
        return Trial(flow, api, durability, when, tuple(int(point) for point in points.split(",")))

    def replay(self, home: str) -> str:
        """The command that plays this trial alone, by the `test_replay` of a file."""
        return f'PLAIT_KILL="{self}" .venv/bin/python -m pytest {home} -k replay'


@dataclass
class Result:
    """What a trial left behind."""

    journal: list[list[str]]
    state: Any
    history: list[Any]
    deaths: int


Open = Callable[..., Any]
"""Opens the saver of a trial: (place, journal, point, when)."""


def crashing(saver: Any, journal: Journal, point: int = 0, when: str = "") -> FaultySaver:
    """Kills its process at the nth storage request; what was stored of tasks it tells the journal,
    after the storage has confirmed it."""
    fault = "kill" if when == "before" else "commit then kill"
    return FaultySaver(saver, at=point, fault=fault, stored=lambda id: journal.add("stored", id))


def in_a_file(place: Path, *options: Any) -> FaultySaver:
    """A saver whose threads are in a SQLite file."""
    return crashing(SqliteSaver(place / "log.db"), *options)


def work(trial: Trial, place: Path, point: int, opened: Open) -> None:
    """A worker process: bring the thread to its end, or die on the way."""
    journal = Journal(place / "journal")
    saver = opened(place, journal, point, trial.when)
    graph = BUILDS[trial.flow](saver, journal, trial.api)
    if trial.api == "async":
        asyncio.run(afinish(graph, trial.durability))
    else:
        finish(graph, trial.durability)


def play(trial: Trial, place: Path, opened: Open = in_a_file) -> Result:
    """Workers that die at their points, then one that lives, then a look at what is stored."""
    place.mkdir()
    journal = Journal(place / "journal")
    deaths = 0
    for point in (*trial.points, 0):
        status = fork(lambda _, point=point: work(trial, place, point, opened)).wait()
        journal.add("end", str(status))
        deaths += status == -signal.SIGKILL
        if status == 0:
            break
    with opened(place, Journal(place / "reading")) as saver:
        graph = BUILDS[trial.flow](saver, journal, trial.api)
        history = [*graph.get_state_history(CONFIG)]
        return Result(journal.lines(), graph.get_state(CONFIG), history, deaths)


def check(trial: Trial, result: Result, home: str = HERE) -> None:
    """`check_outcome`, and a failure says how to play the trial alone."""
    try:
        check_outcome(trial, result)
    except AssertionError as error:
        raise AssertionError(f"{error}\n\nreplay: {trial.replay(home)}") from error


def check_outcome(trial: Trial, result: Result) -> None:
    """The promises, held against what the trial left behind."""
    check_state(result, *OUTCOMES[trial.flow])
    check_effects(result.journal, strict=trial.durability == "sync")


def check_state(result: Result, values: Any, stop: int) -> None:
    """The final state is right, and its history has every super-step once."""
    assert result.state.next == ()
    assert result.state.values == values
    steps = [snapshot.metadata["step"] for snapshot in reversed(result.history)]
    assert steps == list(range(-1, stop)), f"super-steps {steps}"
    ids = [snapshot.config["configurable"]["checkpoint_id"] for snapshot in result.history]
    parents = [snapshot.parent_config for snapshot in result.history]
    linked = [parent["configurable"]["checkpoint_id"] for parent in parents if parent]
    assert ids[1:] == linked, "the history is one chain"


def check_effects(journal: list[list[str]], *, strict: bool) -> None:
    """No task ran again once its writes were acknowledged; none in flight was forgotten.

    Args:
        strict: tasks of an earlier life have the same ids later (`sync` durability, where a task
            only begins when the checkpoint it stands on is stored).
    """
    finished: set[str] = set()
    acknowledged: set[str] = set()
    begun: dict[str, str] = {}
    for words in journal:
        if words[0] == "begin":
            begun[words[2]] = words[1]
            assert words[2] not in acknowledged, f"{words[1]} {words[2]} ran again"
        elif words[0] == "done":
            finished.add(words[2])
        elif words[0] == "stored" and words[1] in finished:
            acknowledged.add(words[1])
    kept = Counter(begun[task] for task in acknowledged)
    if strict:
        assert set(begun) == acknowledged, "a task that began was not carried to its end"
        assert kept.pop("work", 6) == 6
        assert kept.pop("leaf", 2) == 2
        assert set(kept.values()) == {1}, f"not exactly once: {kept}"


def enumerate_points(
    flow: str, api: str, durability: str, place: Path, stride: int = 1
) -> tuple[int, int]:
    """Kill at every `stride`th storage request, before and after it. Returns (trials, deaths)."""
    trials = deaths = 0
    for when in ("before", "after"):
        for point in count(1, stride):
            assert point < MOST_POINTS
            trial = Trial(flow, api, durability, when, (point,))
            result = play(trial, place / f"{when}-{point}")
            trials += 1
            deaths += result.deaths
            check(trial, result)
            if not result.deaths:
                break
    return trials, deaths


@pytest.mark.parametrize("api", ["sync", "async"])
@pytest.mark.parametrize("flow", list(BUILDS))
def test_killed_at_any_storage_request_nothing_is_lost_or_repeated(
    flow: str, api: str, tmp_path: Path
) -> None:
    trials, deaths = enumerate_points(flow, api, "sync", tmp_path)
    print(f"{trials} trials, {deaths} deaths")
    assert deaths >= 36


@pytest.mark.parametrize("api", ["sync", "async"])
def test_killed_while_writing_behind_what_is_stored_is_a_prefix(api: str, tmp_path: Path) -> None:
    trials, deaths = enumerate_points("fan", api, "async", tmp_path, stride=3)
    print(f"{trials} trials, {deaths} deaths")
    assert deaths > 10


@pytest.mark.parametrize("api", ["sync", "async"])
def test_killed_with_exit_durability_the_run_starts_over_or_is_whole(
    api: str, tmp_path: Path
) -> None:
    for when in ("before", "after"):
        for point in count(1):
            trial = Trial("fan", api, "exit", when, (point,))
            result = play(trial, tmp_path / f"{when}-{point}")
            assert result.state.values == EXPECTED, trial.replay(HERE)
            assert result.state.next == (), trial.replay(HERE)
            if not result.deaths:
                break


@pytest.mark.parametrize("seed", range(8))
def test_worker_after_worker_killed_the_workflow_still_ends_right(
    seed: int, tmp_path: Path
) -> None:
    chance = Random(seed)
    trial = Trial(
        chance.choice(["fan", "nested"]),
        chance.choice(["sync", "async"]),
        "sync",
        chance.choice(["before", "after"]),
        tuple(chance.randint(4, 14) for _ in range(40)),
    )
    check(trial, play(trial, tmp_path / "trial"))


@REPLAYS
def test_replay(tmp_path: Path) -> None:
    trial = Trial.parse(os.environ["PLAIT_KILL"])
    result = play(trial, tmp_path / "trial")
    for words in result.journal:
        print(*words)
    check(trial, result)
