from typing import Literal

from pydantic import BaseModel, Field

from plait.documents import Document
from plait.embeddings import Embeddings
from plait.graph import END, START, MessagesState, StateGraph
from plait.messages import AIMessage
from plait.prebuilt import ToolNode, tools_condition
from plait.testing import ScriptedChatModel
from plait.tools import create_retriever_tool
from plait.vectorstores import InMemoryVectorStore


class Fake(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(t) for t in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(len(text)), 1.0]


vectorstore = InMemoryVectorStore.from_documents(
    documents=[Document(page_content="a"), Document(page_content="bb", metadata={"s": 1})],
    embedding=Fake(),
)
retriever = vectorstore.as_retriever()
retriever_tool = create_retriever_tool(
    retriever, "retrieve_blog_posts", "Search and return information."
)
response_model = ScriptedChatModel(
    [
        AIMessage(
            "", tool_calls=[{"name": "retrieve_blog_posts", "args": {"query": "a"}, "id": "1"}]
        ),
        "ok",
    ]
)


def generate_query_or_respond(state: MessagesState):
    response = response_model.bind_tools([retriever_tool]).invoke(state["messages"])
    return {"messages": [response]}


class GradeDocuments(BaseModel):
    """Grade."""

    binary_score: str = Field(description="'yes' or 'no'")


def grade_documents(state: MessagesState) -> Literal["generate_answer", "rewrite_question"]:
    context = state["messages"][-1].content
    return "generate_answer" if context else "rewrite_question"


def rewrite_question(state: MessagesState):
    return {"messages": [{"role": "user", "content": "again"}]}


def generate_answer(state: MessagesState):
    question = state["messages"][0].content
    context = state["messages"][-1].content
    prompt = f"{question} {context}"
    response = response_model.invoke([{"role": "user", "content": prompt}])
    return {"messages": [response]}


workflow = StateGraph(MessagesState)
workflow.add_node(generate_query_or_respond)
workflow.add_node("retrieve", ToolNode([retriever_tool]))
workflow.add_node(rewrite_question)
workflow.add_node(generate_answer)
workflow.add_edge(START, "generate_query_or_respond")
workflow.add_conditional_edges(
    "generate_query_or_respond", tools_condition, {"tools": "retrieve", END: END}
)
workflow.add_conditional_edges("retrieve", grade_documents)
workflow.add_edge("generate_answer", END)
workflow.add_edge("rewrite_question", "generate_query_or_respond")
graph = workflow.compile()
for chunk in graph.stream({"messages": [{"role": "user", "content": "q"}]}):
    for node, update in chunk.items():
        print("Update from node", node)
        update["messages"][-1].pretty_print()
