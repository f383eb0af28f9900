"""The names of span attributes, in one table.

The GenAI semantic conventions of OpenTelemetry are still changing: a new version of them is a
change of this file. Names of plait's own begin with `plait.`.
"""

# --- GenAI semantic conventions -------------------------------------------------------------------

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
CONVERSATION = "gen_ai.conversation.id"
AGENT_NAME = "gen_ai.agent.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_TEMPERATURE = "gen_ai.request.temperature"
REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
REQUEST_STOP = "gen_ai.request.stop_sequences"
RESPONSE_MODEL = "gen_ai.response.model"
RESPONSE_ID = "gen_ai.response.id"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
DATA_SOURCE = "gen_ai.data_source.id"
ERROR_TYPE = "error.type"

# --- plait's own ----------------------------------------------------------------------------------

KIND = "plait.kind"
THREAD = "plait.thread.id"
NODE = "plait.node.name"
STEP = "plait.step"
CHECKPOINT_ID = "plait.checkpoint.id"
CHECKPOINT_NS = "plait.checkpoint.namespace"
INTERRUPTED = "plait.interrupted"
TAGS = "plait.tags"
INPUT = "plait.input"
OUTPUT = "plait.output"
FIRST_TOKEN = "plait.first_token"

FROM_METADATA = {
    "thread_id": (THREAD, CONVERSATION),
    "langgraph_node": (NODE,),
    "langgraph_step": (STEP,),
    "langgraph_checkpoint_ns": (CHECKPOINT_NS,),
    "checkpoint_id": (CHECKPOINT_ID,),
    "ls_provider": (PROVIDER,),
    "ls_model_name": (REQUEST_MODEL,),
    "ls_temperature": (REQUEST_TEMPERATURE,),
    "ls_max_tokens": (REQUEST_MAX_TOKENS,),
    "ls_stop": (REQUEST_STOP,),
}
"""What a run's metadata says, and the attributes that say it."""

OPERATIONS = {
    "chat_model": "chat",
    "llm": "text_completion",
    "tool": "execute_tool",
    "retriever": "retrieval",
    "agent": "invoke_agent",
}
"""Kinds of runs that the conventions know, and the names of their operations."""
