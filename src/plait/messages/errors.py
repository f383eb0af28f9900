"""The two errors of messages: one cannot be built, or something cannot become one."""


class InvalidMessageError(ValueError):
    """A message was given a field value that it cannot take, or lacks a required one."""


class MessageCoercionError(ValueError, NotImplementedError):
    """Something given where a message is expected cannot become one.

    It is a `NotImplementedError` too, because LangChain raises that for unsupported types.
    """
