"""Names under the modules where LangChain's reference has them, and what they do."""

import importlib
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.embeddings.embeddings import Embeddings
from langchain_core.example_selectors import (
    MaxMarginalRelevanceExampleSelector,
    SemanticSimilarityExampleSelector,
)
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.load.dump import dumpd, dumps
from langchain_core.load.load import load, loads
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages import content as blocks
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.structured_query import (
    Comparator,
    Comparison,
    Operation,
    Operator,
    StructuredQuery,
    Visitor,
)
from langchain_core.tools import tool
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.context import collect_runs
from langchain_core.vectorstores import InMemoryVectorStore

PATHS = {
    "langchain_core.callbacks.base": "BaseCallbackHandler BaseCallbackManager Callbacks",
    "langchain_core.callbacks.manager": "CallbackManager trace_as_chain_group RunManager",
    "langchain_core.chat_loaders": "BaseChatLoader",
    "langchain_core.chat_sessions": "ChatSession",
    "langchain_core.cross_encoders": "BaseCrossEncoder",
    "langchain_core.document_loaders.base": "BaseBlobParser BaseLoader",
    "langchain_core.document_loaders.blob_loaders": "Blob BlobLoader",
    "langchain_core.documents.base": "Document",
    "langchain_core.documents.compressor": "BaseDocumentCompressor",
    "langchain_core.documents.transformers": "BaseDocumentTransformer",
    "langchain_core.embeddings.embeddings": "Embeddings",
    "langchain_core.example_selectors.base": "BaseExampleSelector",
    "langchain_core.example_selectors.length_based": "LengthBasedExampleSelector",
    "langchain_core.example_selectors.semantic_similarity": "SemanticSimilarityExampleSelector",
    "langchain_core.indexing.api": "aindex index",
    "langchain_core.indexing.base": "InMemoryRecordManager RecordManager",
    "langchain_core.load.dump": "dumpd dumps",
    "langchain_core.load.load": "load loads",
    "langchain_core.messages.base": "BaseMessage message_to_dict messages_to_dict",
    "langchain_core.outputs.chat_generation": "ChatGeneration ChatGenerationChunk",
    "langchain_core.outputs.chat_result": "ChatResult",
    "langchain_core.outputs.generation": "Generation GenerationChunk",
    "langchain_core.outputs.llm_result": "LLMResult",
    "langchain_core.runnables.schema": "EventData StandardStreamEvent StreamEvent",
    "langchain_core.tracers": "BaseTracer ConsoleCallbackHandler Run RunLog RunLogPatch",
    "langchain_core.tracers.log_stream": "RunLog RunLogPatch",
    "langchain_core.tracers.run_collector": "RunCollectorCallbackHandler",
    "langchain_core.tracers.schemas": "Run",
    "langchain_core.tracers.stdout": "ConsoleCallbackHandler",
    "langchain_core.vectorstores.base": "VectorStore VectorStoreRetriever",
}
"""Modules of the peer to what programs import from them."""

EXAMPLES = [{"in": word, "out": word.upper()} for word in ("hot", "cold", "big", "small")]


def case_names_under_their_paths(env):
    # The path of this side's own modules: that of a name which stands in both.
    root = RunnableLambda.__module__.split(".")[0]
    missing = []
    for module, names in PATHS.items():
        found = importlib.import_module(module.replace("langchain_core", root))
        missing += [(module, name) for name in names.split() if not hasattr(found, name)]
    return missing


def case_the_function_load_beside_its_module(env):
    package = importlib.import_module(Embeddings.__module__.split(".")[0] + ".load")
    message = HumanMessage("hi", id="1")
    return (
        callable(package.load),
        load(dumpd(message), allowed_objects="core"),
        loads(dumps(message), allowed_objects="core"),
    )


def case_blocks(env):
    made = [
        blocks.create_text_block("a", id="i", annotations=[], index=0, tone="warm", none=None),
        blocks.create_image_block(url="u"),
        blocks.create_image_block(base64="x", url="u", mime_type="image/png", index=1, more=2),
        blocks.create_video_block(file_id="f"),
        blocks.create_audio_block(base64="x", mime_type="audio/wav"),
        blocks.create_file_block(url="u", id="i"),
        blocks.create_plaintext_block(),
        blocks.create_plaintext_block("t", title="x", context="c"),
        blocks.create_tool_call("n", {"a": 1}),
        blocks.create_tool_call("n", {"a": 1}, id="q", index=0, more=1),
        blocks.create_reasoning_block(),
        blocks.create_reasoning_block("r", id="i"),
        blocks.create_citation(url="u", start_index=0, more=1),
        blocks.create_non_standard_block({"a": 1}, id="i", index=2),
    ]
    ids = [str(each.pop("id", "")).startswith("lc_") for each in made if "id" in each]
    return made, ids, [blocks.is_data_content_block(each) for each in made]


def case_blocks_that_say_too_little(env):
    return [
        env.error(blocks.create_image_block),
        env.error(blocks.create_file_block),
        env.error(lambda: blocks.create_video_block(base64="x")),
        env.error(lambda: blocks.create_audio_block(base64="x")),
        env.error(lambda: blocks.create_file_block(base64="x")),
    ]


class AsText(Visitor):
    allowed_comparators = (Comparator.EQ, Comparator.GT)
    allowed_operators = (Operator.AND,)

    def visit_operation(self, operation: Operation) -> Any:
        self._validate_func(operation.operator)
        parts = [each.accept(self) for each in operation.arguments]
        return f" {operation.operator.value} ".join(parts)

    def visit_comparison(self, comparison: Comparison) -> Any:
        self._validate_func(comparison.comparator)
        return f"{comparison.attribute} {comparison.comparator.value} {comparison.value!r}"

    def visit_structured_query(self, structured_query: StructuredQuery) -> Any:
        found = structured_query.filter
        return structured_query.query, found and found.accept(self), structured_query.limit


def case_structured_queries(env):
    year = Comparison(comparator=Comparator.GT, attribute="year", value=2020)
    both = Operation(operator=Operator.AND, arguments=[year, year])
    other = Comparison(comparator="lt", attribute="year", value=1)
    return [
        StructuredQuery(query="tea", filter=both, limit=3).accept(AsText()),
        StructuredQuery(query="tea", filter=None).accept(AsText()),
        env.error(lambda: other.accept(AsText())),
        env.error(lambda: Operation(operator=Operator.OR, arguments=[year]).accept(AsText())),
        year == Comparison(comparator=Comparator.GT, attribute="year", value=2020),
        (repr(year), other.comparator is Comparator.LT, Operator("not").name),
    ]


class Notes(BaseTracer):
    def __init__(self):
        super().__init__()
        self.told = []

    def _note(self, what, run):
        inside = [each.name for each in run.child_runs]
        self.told.append(
            (what, run.name, run.run_type, dict(run.inputs), dict(run.outputs or {}), inside)
        )

    def _persist_run(self, run):
        self._note("persist", run)

    def _on_run_create(self, run):
        self._note("create", run)

    def _on_run_update(self, run):
        self._note("update", run)

    def _on_chain_start(self, run):
        self._note("chain start", run)

    def _on_chain_end(self, run):
        self._note("chain end", run)

    def _on_chain_error(self, run):
        self.told.append(("chain error", run.name, run.error.split("(")[0]))

    def _on_tool_end(self, run):
        self._note("tool end", run)

    def _on_retriever_start(self, run):
        self._note("retriever start", run)

    def _on_llm_start(self, run):
        self.told.append(("llm start", run.name, run.run_type, run.inputs))

    def _on_llm_end(self, run):
        self.told.append(("llm end", run.name, sorted(run.outputs)))

    def _on_llm_new_token(self, run, token, chunk):
        self.told.append(("token", run.name, token))


@tool
def add(a: int) -> int:
    """Adds one."""
    return a + 1


class Echo(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(page_content=query)]


def case_a_tracer_of_ones_own(env):
    notes = Notes()
    config = {"callbacks": [notes]}
    twice = RunnableLambda(lambda x: x * 2, name="twice")
    chain = twice | RunnableLambda(lambda x: x + 1, name="more")
    chain.with_config(run_name="both").invoke(1, config)
    add.invoke({"a": 1}, config)
    Echo().invoke("q", config)
    env.error(lambda: RunnableLambda(lambda x: 1 // 0, name="bad").invoke(1, config))
    return [each for each in notes.told if "bad" not in each[1] or each[0] == "chain error"]


def case_a_tracer_of_models(env):
    notes = Notes()
    model = GenericFakeChatModel(messages=iter([AIMessage("a b")]))
    list(model.stream("hi", {"callbacks": [notes]}))
    return [each for each in notes.told if each[0] in ("llm start", "llm end", "token")]


def case_collected_runs(env):
    with collect_runs() as collected:
        add.invoke({"a": 1})
    return [(run.name, run.outputs) for run in collected.traced_runs]


class Letters(Embeddings):
    """The letters of a text, counted."""

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        return [float(text.count(letter)) + 0.01 for letter in "abcdefghijklmnopqrstuvwxyz"]


def case_examples_in_a_vector_store(env):
    texts = [" ".join((each["in"], each["out"])) for each in EXAMPLES]
    store = InMemoryVectorStore.from_texts(texts, Letters(), metadatas=EXAMPLES)
    near = SemanticSimilarityExampleSelector(vectorstore=store, k=2, example_keys=["in"])
    far = MaxMarginalRelevanceExampleSelector(vectorstore=store, k=2, fetch_k=3)
    asked = {"in": "scold"}
    told = [near.select_examples(asked), far.select_examples(asked)]
    near.add_example({"in": "scolds", "out": "SCOLDS"})
    return [*told, near.select_examples(asked)]


async def case_examples_made_into_stores(env):
    asked = {"in": "bigger"}
    near = SemanticSimilarityExampleSelector.from_examples(
        EXAMPLES, Letters(), InMemoryVectorStore, k=1, input_keys=["in"]
    )
    far = MaxMarginalRelevanceExampleSelector.from_examples(
        EXAMPLES, Letters(), InMemoryVectorStore, k=2, input_keys=["in"], fetch_k=2
    )
    await near.aadd_example({"in": "bigger", "out": "B"})
    return [
        near.select_examples(asked),
        far.select_examples(asked),
        await near.aselect_examples(asked),
        await far.aselect_examples(asked),
        isinstance(near.vectorstore, InMemoryVectorStore),
        isinstance(DeterministicFakeEmbedding(size=2), Embeddings),
    ]
