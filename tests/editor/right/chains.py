from operator import itemgetter

from pydantic import BaseModel

from plait.output_parsers import StrOutputParser
from plait.prompts import ChatPromptTemplate, PromptTemplate
from plait.runnables import (
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    chain,
)
from plait.testing import ScriptedChatModel


class Joke(BaseModel):
    setup: str


model = ScriptedChatModel(["a", "b", "c", "d", "e", "f"])
prompt = ChatPromptTemplate.from_template("tell me a joke about {topic}")
c1 = prompt | model | StrOutputParser()
c2 = (
    {"joke": c1}
    | ChatPromptTemplate.from_template("is this funny? {joke}")
    | model
    | StrOutputParser()
)
print(c2.invoke({"topic": "bears"}))
p = RunnableParallel(a=c1, b=RunnablePassthrough())
print(p.invoke({"topic": "x"})["a"])
add = RunnableLambda(lambda x: x + 1) | RunnableLambda(lambda x: x * 2)
print(add.invoke(1), add.batch([1, 2, 3], {"max_concurrency": 2}))
ass = RunnablePassthrough.assign(n=lambda d: len(d["topic"]))
print(ass.invoke({"topic": "x"}))
branch = RunnableBranch((lambda x: x > 1, lambda x: "big"), lambda x: "small")
print(branch.invoke(3))


@chain
def custom(text: str) -> str:
    return c1.invoke({"topic": text})


print(custom.invoke("x"))
for piece in c1.stream({"topic": "z"}):
    print(piece, end="|")
m = (
    model.with_retry(stop_after_attempt=2)
    .with_fallbacks([model])
    .with_config({"tags": ["x"], "run_name": "y"})
)
print(m.invoke("hi").content)
retr = {
    "context": itemgetter("q") | RunnableLambda(str.upper),
    "q": itemgetter("q"),
} | PromptTemplate.from_template("{context} {q}")
print(retr.invoke({"q": "w"}).to_string())
