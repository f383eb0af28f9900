"""`init_chat_model`: what names mean (no provider's package of the peer is installed)."""

from langchain.chat_models import init_chat_model


def case_names_of_nobody(env):
    def unknown(name):
        return lambda: init_chat_model(name)

    return [env.error(unknown(name)) for name in ("nobody", "nobody:gpt-4o")]


def case_names_in_capitals(env):
    return env.error(lambda: init_chat_model("OpenAI:gpt-4o", api_key="none") is not None)
