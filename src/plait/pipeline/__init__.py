"""Declared pipelines: modules and the links between them. Names load on first use."""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.pipeline.components import (
        ArgPackComponent,
        CustomQueryComponent,
        FnComponent,
        FunctionComponent,
        InputComponent,
        InputKeys,
        OutputKeys,
        QueryComponent,
    )
    from plait.pipeline.evaluate import EvaluatorComponent, Judge
    from plait.pipeline.graphs import (
        create_parallel_graph,
        create_parallel_pipeline,
        create_sequential_graph,
        create_sequential_pipeline,
    )
    from plait.pipeline.loops import LoopComponent
    from plait.pipeline.models import LLMComponent, Settings
    from plait.pipeline.modules import RunnableComponent
    from plait.pipeline.query import ComponentIntermediates, QueryPipeline
    from plait.pipeline.router import RouterComponent, RouterQueryEngine
    from plait.pipeline.selectors import (
        EmbeddingSingleSelector,
        LLMMultiSelector,
        LLMSingleSelector,
    )
    from plait.pipeline.summarize import SimpleSummarize, TreeSummarize
    from plait.pipeline.wiring import Link

__getattr__ = lazily(
    __name__,
    {
        "ArgPackComponent": "components",
        "ComponentIntermediates": "query",
        "CustomQueryComponent": "components",
        "EmbeddingSingleSelector": "selectors",
        "EvaluatorComponent": "evaluate",
        "FnComponent": "components",
        "FunctionComponent": "components",
        "InputComponent": "components",
        "InputKeys": "components",
        "Judge": "evaluate",
        "LLMComponent": "models",
        "LLMMultiSelector": "selectors",
        "LLMSingleSelector": "selectors",
        "Link": "wiring",
        "LoopComponent": "loops",
        "OutputKeys": "components",
        "QueryComponent": "components",
        "QueryPipeline": "query",
        "RouterComponent": "router",
        "RouterQueryEngine": "router",
        "RunnableComponent": "modules",
        "Settings": "models",
        "SimpleSummarize": "summarize",
        "TreeSummarize": "summarize",
        "create_parallel_graph": "graphs",
        "create_parallel_pipeline": "graphs",
        "create_sequential_graph": "graphs",
        "create_sequential_pipeline": "graphs",
    },
)

__all__ = [
    "ArgPackComponent",
    "ComponentIntermediates",
    "CustomQueryComponent",
    "EmbeddingSingleSelector",
    "EvaluatorComponent",
    "FnComponent",
    "FunctionComponent",
    "InputComponent",
    "InputKeys",
    "Judge",
    "LLMComponent",
    "LLMMultiSelector",
    "LLMSingleSelector",
    "Link",
    "LoopComponent",
    "OutputKeys",
    "QueryComponent",
    "QueryPipeline",
    "RouterComponent",
    "RouterQueryEngine",
    "RunnableComponent",
    "Settings",
    "SimpleSummarize",
    "TreeSummarize",
    "create_parallel_graph",
    "create_parallel_pipeline",
    "create_sequential_graph",
    "create_sequential_pipeline",
]
