"""Output parsers: from what a model says to what the program needs, also while it streams.

>>> from plait.output_parsers import JsonOutputParser
>>> JsonOutputParser().invoke('Sure! ```json\\n{"city": "Paris"}\\n```')
{'city': 'Paris'}

Names load on first use.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.output_parsers.base import (
        BaseGenerationOutputParser,
        BaseLLMOutputParser,
        BaseOutputParser,
    )
    from plait.output_parsers.json import JsonOutputParser, SimpleJsonOutputParser
    from plait.output_parsers.list import (
        CommaSeparatedListOutputParser,
        ListOutputParser,
        MarkdownListOutputParser,
        NumberedListOutputParser,
    )
    from plait.output_parsers.openai_tools import (
        JsonOutputKeyToolsParser,
        JsonOutputToolsParser,
        PydanticToolsParser,
    )
    from plait.output_parsers.pydantic import PydanticOutputParser
    from plait.output_parsers.repair import RepairingOutputParser
    from plait.output_parsers.string import StrOutputParser
    from plait.output_parsers.transform import (
        BaseCumulativeTransformOutputParser,
        BaseTransformOutputParser,
    )
    from plait.output_parsers.xml import XMLOutputParser

_HOMES = {
    "BaseCumulativeTransformOutputParser": "transform",
    "BaseGenerationOutputParser": "base",
    "BaseLLMOutputParser": "base",
    "BaseOutputParser": "base",
    "BaseTransformOutputParser": "transform",
    "CommaSeparatedListOutputParser": "list",
    "JsonOutputKeyToolsParser": "openai_tools",
    "JsonOutputParser": "json",
    "JsonOutputToolsParser": "openai_tools",
    "ListOutputParser": "list",
    "MarkdownListOutputParser": "list",
    "NumberedListOutputParser": "list",
    "PydanticOutputParser": "pydantic",
    "PydanticToolsParser": "openai_tools",
    "RepairingOutputParser": "repair",
    "SimpleJsonOutputParser": "json",
    "StrOutputParser": "string",
    "XMLOutputParser": "xml",
}

__getattr__ = lazily(__name__, _HOMES)

__all__ = [
    "BaseCumulativeTransformOutputParser",
    "BaseGenerationOutputParser",
    "BaseLLMOutputParser",
    "BaseOutputParser",
    "BaseTransformOutputParser",
    "CommaSeparatedListOutputParser",
    "JsonOutputKeyToolsParser",
    "JsonOutputParser",
    "JsonOutputToolsParser",
    "ListOutputParser",
    "MarkdownListOutputParser",
    "NumberedListOutputParser",
    "PydanticOutputParser",
    "PydanticToolsParser",
    "RepairingOutputParser",
    "SimpleJsonOutputParser",
    "StrOutputParser",
    "XMLOutputParser",
]
