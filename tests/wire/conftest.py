"""A provider on loopback for each test."""

import pytest

from .server import Wire


@pytest.fixture
def wire():
    server = Wire()
    yield server
    server.close()
