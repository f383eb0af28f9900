"""What the tests of times share."""

from typing import Any

import pytest

from plait.drivers.env import run_env
from plait.drivers.sim import SimEnv


@pytest.fixture
def env() -> Any:
    """A clock that stands still until the test moves it."""
    clock = SimEnv()
    token = run_env.set(clock)
    yield clock
    run_env.reset(token)
