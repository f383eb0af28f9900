"""What went wrong in a hook of ormsgpack, which drops any error that is raised there."""

from collections.abc import Callable
from threading import local
from typing import Any

_BY_HOOK = ("Type is not msgpack serializable", "ext_hook failed")
"""What ormsgpack says where a hook raised something."""


class HookErrors(local):
    """The error that a hook noted in this thread before it raised it."""

    noted: BaseException | None = None

    def taken(self, error: Exception, again: Callable[[], Any]) -> BaseException:
        """What made a call of ormsgpack fail.

        Python calls the handlers of signals as it enters a function, before the function can catch
        what they raise. So a hook that a Ctrl-C meets there notes nothing, and goes on if it is
        called again. One that lacks room on the stack fails there too, but each time.

        Args:
            error: What the call raised.
            again: The same call once more.
        """
        cause, self.noted = self.noted, None
        if cause is not None:
            return cause
        if not str(error).startswith(_BY_HOOK):
            return error
        try:
            again()
        except (TypeError, ValueError, RecursionError) as other:
            cause, self.noted = self.noted, None
            if cause is None and str(other).startswith(_BY_HOOK):
                return RecursionError()
        return KeyboardInterrupt("what the handler of a signal raised was lost in ormsgpack")
