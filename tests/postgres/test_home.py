"""A thread that waits for the event loop of connections that were given hears when that ends."""

from __future__ import annotations

import asyncio
from threading import Thread

import pytest

from plait.errors import StorageUnavailableError
from plait.postgres.home import wait_at


async def never() -> None:
    await asyncio.get_running_loop().create_future()


def test_a_loop_that_was_closed_takes_no_work() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    with pytest.raises(StorageUnavailableError, match="the event loop"):
        wait_at(loop, never(), "There")


def test_a_loop_that_is_closed_amid_the_work_is_not_waited_for() -> None:
    loop = asyncio.new_event_loop()
    begun = asyncio.Event()
    errors: list[Exception] = []
    work = never()

    async def begin() -> None:
        begun.set()
        await work

    def wait() -> None:
        try:
            wait_at(loop, begin(), "There")
        except StorageUnavailableError as error:
            errors.append(error)

    thread = Thread(target=wait, daemon=True)
    thread.start()
    loop.run_until_complete(begun.wait())
    loop.close()
    thread.join(60)
    work.close()
    [error] = errors
    assert "the event loop" in str(error)


def test_a_time_limit_of_the_work_itself_is_its_own_error() -> None:
    loop = asyncio.new_event_loop()

    async def late() -> None:
        raise TimeoutError("late")

    async def wait() -> None:
        with pytest.raises(TimeoutError, match="late"):
            await asyncio.to_thread(wait_at, loop, late(), "There")

    loop.run_until_complete(wait())
    loop.close()
