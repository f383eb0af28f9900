"""Prompts: templates whose variables are filled in, as text or as messages for a model.

>>> from plait.prompts import ChatPromptTemplate
>>> prompt = ChatPromptTemplate([("system", "Answer in {language}."), ("human", "{question}")])
>>> prompt.invoke({"language": "Welsh", "question": "Hello?"}).to_string()
'System: Answer in Welsh.\\nHuman: Hello?'

Templates are data: they replace plain names and run nothing. Names load on first use.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.prompts.base import BasePromptTemplate, aformat_document, format_document
    from plait.prompts.chat import BaseChatPromptTemplate, ChatPromptTemplate
    from plait.prompts.dict import DictPromptTemplate
    from plait.prompts.few_shot import (
        FewShotChatMessagePromptTemplate,
        FewShotPromptTemplate,
        FewShotPromptWithTemplates,
    )
    from plait.prompts.image import ImagePromptTemplate
    from plait.prompts.message import BaseMessagePromptTemplate
    from plait.prompts.placeholder import MessagesPlaceholder
    from plait.prompts.prompt import PromptTemplate
    from plait.prompts.roles import (
        AIMessagePromptTemplate,
        BaseStringMessagePromptTemplate,
        ChatMessagePromptTemplate,
        HumanMessagePromptTemplate,
        SystemMessagePromptTemplate,
    )
    from plait.prompts.string import StringPromptTemplate
    from plait.prompts.structured import StructuredPrompt
    from plait.prompts.template_formats import check_valid_template, get_template_variables

_HOMES = {
    "AIMessagePromptTemplate": "roles",
    "BaseChatPromptTemplate": "chat",
    "BaseMessagePromptTemplate": "message",
    "BasePromptTemplate": "base",
    "BaseStringMessagePromptTemplate": "roles",
    "ChatMessagePromptTemplate": "roles",
    "ChatPromptTemplate": "chat",
    "DictPromptTemplate": "dict",
    "FewShotChatMessagePromptTemplate": "few_shot",
    "FewShotPromptTemplate": "few_shot",
    "FewShotPromptWithTemplates": "few_shot",
    "HumanMessagePromptTemplate": "roles",
    "ImagePromptTemplate": "image",
    "MessagesPlaceholder": "placeholder",
    "PromptTemplate": "prompt",
    "StringPromptTemplate": "string",
    "StructuredPrompt": "structured",
    "SystemMessagePromptTemplate": "roles",
    "aformat_document": "base",
    "check_valid_template": "template_formats",
    "format_document": "base",
    "get_template_variables": "template_formats",
}

__getattr__ = lazily(__name__, _HOMES)

__all__ = [
    "AIMessagePromptTemplate",
    "BaseChatPromptTemplate",
    "BaseMessagePromptTemplate",
    "BasePromptTemplate",
    "BaseStringMessagePromptTemplate",
    "ChatMessagePromptTemplate",
    "ChatPromptTemplate",
    "DictPromptTemplate",
    "FewShotChatMessagePromptTemplate",
    "FewShotPromptTemplate",
    "FewShotPromptWithTemplates",
    "HumanMessagePromptTemplate",
    "ImagePromptTemplate",
    "MessagesPlaceholder",
    "PromptTemplate",
    "StringPromptTemplate",
    "StructuredPrompt",
    "SystemMessagePromptTemplate",
    "aformat_document",
    "check_valid_template",
    "format_document",
    "get_template_variables",
]
