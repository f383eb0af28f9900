"""What programs share whose tasks wait for what others have done."""

import time


def until(condition):
    """The first true answer of a condition, which another task brings about."""
    deadline = time.monotonic() + 20
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come")
        time.sleep(0.005)
    return answer
