"""Methods that are seldom called: they give what their better known relatives give."""

from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.example_selectors import (
    MaxMarginalRelevanceExampleSelector,
    SemanticSimilarityExampleSelector,
)
from langchain_core.indexing import InMemoryRecordManager
from langchain_core.indexing.in_memory import InMemoryDocumentIndex
from langchain_core.output_parsers import CommaSeparatedListOutputParser
from langchain_core.prompt_values import StringPromptValue
from langchain_core.prompts import HumanMessagePromptTemplate, SystemMessagePromptTemplate
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import maybe_add_typed_methods
from langgraph.types import Interrupt

DOCS = [Document("a", id="1"), Document("b", id="2"), Document("c", id="3")]


class Upper(BaseDocumentTransformer):
    def transform_documents(self, documents, **kwargs):
        return [Document(each.page_content.upper(), **kwargs) for each in documents]


class First(BaseDocumentCompressor):
    def compress_documents(self, documents, query, callbacks=None):
        return [each for each in documents if query in each.page_content][:1]


async def case_documents_are_rewritten(env):
    return (
        [each.page_content for each in await Upper().atransform_documents(DOCS)],
        [each.page_content for each in await First().acompress_documents(DOCS, "b")],
    )


async def case_records_of_what_was_indexed(env):
    records = InMemoryRecordManager("docs")
    await records.acreate_schema()
    await records.aupdate(["a", "b", "c"], group_ids=["1", "1", "2"])
    now = await records.aget_time()
    await records.adelete_keys(["b", "x"])
    return (
        await records.aexists(["a", "b"]),
        sorted(await records.alist_keys()),
        await records.alist_keys(group_ids=["2"]),
        await records.alist_keys(after=now + 60),
    )


async def case_an_index_of_documents(env):
    index = InMemoryDocumentIndex()
    put = await index.aupsert(DOCS)
    deleted = await index.adelete(["2", "x"])
    kept = await index.aget(["1", "2", "3"])
    return put, deleted, [each.page_content for each in kept], await index.ainvoke("c")


async def case_examples_that_are_kept(env):
    examples = [{"word": word} for word in ("good", "bad", "ugly")]
    given = (examples, DeterministicFakeEmbedding(size=8), InMemoryVectorStore)
    alike = await SemanticSimilarityExampleSelector.afrom_examples(*given, k=1)
    varied = await MaxMarginalRelevanceExampleSelector.afrom_examples(*given, k=2)
    return (
        alike.select_examples({"word": "bad"}),
        await alike.aselect_examples({"word": "ugly"}),
        varied.select_examples({"word": "good"}),
    )


def case_templates_in_files(env):
    path = env.tmp_path / "template.txt"
    path.write_text("Say {what}.")
    told = []
    for kind in (SystemMessagePromptTemplate, HumanMessagePromptTemplate):
        template = kind.from_template_file(path, input_variables=["what"])
        told.append((template.input_variables, template.format(what="hi")))
    return told


def case_an_answer_is_parsed_beside_its_prompt(env):
    parser = CommaSeparatedListOutputParser()
    return parser.parse_with_prompt("a, b", StringPromptValue(text="List."))


def case_questions_of_a_namespace(env):
    asked = Interrupt.from_ns("ok?", "node:1")
    return asked, Interrupt.from_ns("other", "node:1").id == asked.id


class Plain:
    """A serializer of before there were tags."""

    def dumps(self, obj):
        return repr(obj).encode()

    def loads(self, data):
        return data.decode()


def case_serializers_without_tags(env):
    typed = maybe_add_typed_methods(Plain())
    saver = InMemorySaver()
    return (
        typed.dumps_typed(5),
        typed.loads_typed(("int", b"5")),
        maybe_add_typed_methods(typed) is typed,
        type(saver.with_allowlist([])) is type(saver),
    )
