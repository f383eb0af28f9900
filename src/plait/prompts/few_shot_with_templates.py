"""`FewShotPromptWithTemplates`, where LangChain has it."""

from plait.prompts.few_shot import FewShotPromptWithTemplates

__all__ = ["FewShotPromptWithTemplates"]
