"""Tools that ask a person first, where langchain_dev_utils has them."""

from plait.tool_calling import human_in_the_loop, human_in_the_loop_async

__all__ = ["human_in_the_loop", "human_in_the_loop_async"]
