"""What programs of newcomers share: a model that says a script, and what it said, in short."""

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage


class Scripted(GenericFakeChatModel):
    """A model that says what it is told to, whatever tools it is given."""

    def bind_tools(self, tools, **kwargs):
        return self


def says(*messages):
    given = [AIMessage(each) if isinstance(each, str) else each for each in messages]
    return Scripted(messages=iter(given))


def calls(name, args, id="c1", content=""):
    return AIMessage(content, tool_calls=[{"name": name, "args": args, "id": id}])


def shown(messages):
    return [(each.type, each.content, getattr(each, "name", None)) for each in messages]
