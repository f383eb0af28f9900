"""`format_log_to_str`: steps as one text."""

from plait.agents.format_scratchpad.steps import Steps


def format_log_to_str(
    intermediate_steps: Steps,
    observation_prefix: str = "Observation: ",
    llm_prefix: str = "Thought: ",
) -> str:
    """The steps as one text that ends where the model is to go on thinking.

    >>> from plait.agents.actions import AgentAction
    >>> format_log_to_str([(AgentAction("search", "cats", "Action: search"), "meow")])
    'Action: search\\nObservation: meow\\nThought: '
    """
    return "".join(
        f"{action.log}\n{observation_prefix}{observation}\n{llm_prefix}"
        for action, observation in intermediate_steps
    )


__all__ = ["format_log_to_str"]
