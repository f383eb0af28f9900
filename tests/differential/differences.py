"""Where plait differs on purpose: which case shows which row of docs/compatibility.md.

In the order of the programs' names; whoever adds a case puts it beside those of its program.
"""

from pathlib import Path

COMPATIBILITY = Path(__file__).parents[2] / "docs" / "compatibility.md"

KNOWN_DIFFERENCES: dict[str, str] = {
    "a_build::node_named_interrupt": "Reserved node names",
    "a_command::bad_command_updates": "Updates of a Command that are no update",
    "a_command::command_as_first_input_with_a_reducer": "A Command as the first input",
    "a_command::command_input_with_goto_to_unknown_node": "Routes to nodes that do not exist",
    "a_command::command_to_a_named_graph": "Command(graph=...) with the name of a graph",
    "a_command::goto_unknown_node": "Routes to nodes that do not exist",
    "a_command::parent_command_to_unknown_node": "Routes to nodes that do not exist",
    "a_edges::order_of_keys_for_a_path_function": "Keys that a path function sees",
    "a_overwrite::overwrite_without_reducer": "Overwrite of a key without a reducer",
    "a_runs::unknown_keyword_of_a_call": "Unknown keywords of a call",
    "a_retry::retry_on_what_is_no_error": "Retries on what is no error",
    "a_runs::tuple_of_stream_modes": "Tuples of stream modes",
    "a_runs::unknown_stream_mode": "Unknown stream modes",
    "a_schemas::conflicting_reducers": "Two different lambdas as reducers of one key",
    "a_schemas::pydantic_input_schema_is_not_enforced": "A pydantic input schema is enforced",
    "a_schemas::reducer_known_by_another_schema": "Reducers that one schema declares",
    "a_send::send_to_unknown_node": "Routes to nodes that do not exist",
    "b_breakpoints::a_text_is_part_of_another_name": "Texts as breakpoints",
    "b_breakpoints::b06_goto_runs_with_the_pending_node": (
        "What a Command as input routes to is next"
    ),
    "b_errors::error_in_a_path_function": "An error in a path function",
    "b_errors::saver_of_a_third_party": "Forks on a saver that counts versions",
    "b_handlers::b36_timeout_of_a_sync_node": "Timeouts of sync code",
    "b_handlers::b36_timeout_of_a_sync_task": "Timeouts of sync code",
    "b_interrupts::exception_after_the_answer": "Answered questions of a failed task",
    "b_interrupts::resume_of_a_finished_thread": "Answers that no question waits for",
    "b_interrupts::resume_of_an_empty_thread": "Answers that no question waits for",
    "b_interrupts::resume_of_an_unknown_id": "Answers that no question waits for",
    "b_interrupts::resume_with_goto": "What a Command as input routes to is next",
    "b_savers::port_filters_of_another_type": "Filters of metadata",
    "b_savers::values_in_a_saver_of_a_third_party": "Savers of third parties",
    "b_savers::tuples_in_a_state": "Tuples in a stored state",
    "b_subgraphs::b28_new_input_at_an_old_checkpoint_of_the_parent": (
        "Memory of a subgraph after a fork"
    ),
    "c_cache::answers_are_not_cached": "Cached results and answers",
    "c_cache::clear_cache_of_an_unknown_node": "clear_cache of unknown nodes",
    "c_callbacks::metadata_for_tracers": "Metadata for LangSmith",
    "c_callbacks::sequence_as_a_node": "A sequence as a node",
    "c_checkpoints_streamed::parents_after_an_answer_where_the_end_alone_is_stored": (
        "Parents in streams with `exit`"
    ),
    "c_checkpoints_streamed::parents_of_a_second_run_where_the_end_alone_is_stored": (
        "Parents in streams with `exit`"
    ),
    "c_deprecated::unknown_keywords_of_constructors": "Unknown keywords of a constructor",
    "c_drain::a_subgraph_with_exit_durability": "Graphs inside that are drained with `exit`",
    "c_drawing::ascii_of_a_node_that_leads_to_itself": "ASCII pictures of loops",
    "c_drawing::boxes_that_hold_one_box": "Nested boxes in Mermaid text",
    "c_drawing::classes_of_nodes_in_json": "Classes in a graph's JSON",
    "c_drawing::graphs_of_one_name_in_two_boxes": "Nested boxes in Mermaid text",
    "c_drawing::long_graphs": "Pictures of long graphs",
    "c_drawing::names_that_are_syntax_or_markup": "Names in Mermaid text",
    "c_drawing::nodes_of_one_name_in_two_boxes": "Nested boxes in Mermaid text",
    "c_error_handlers::a_handler_leads_out_of_its_graph": (
        "Error handlers that lead out of a graph"
    ),
    "c_error_handlers::state_of_what_was_handled_beside_a_question": (
        "Handled errors beside a question"
    ),
    "c_error_handlers::get_state_shows_the_question_of_a_handler": (
        "The question of an error handler"
    ),
    "c_error_handlers::resumed_handler_is_told_the_error": (
        "The error that a resumed handler is told"
    ),
    "c_events::input_of_the_first_event_of_a_filter": "The input of a filtered event",
    "c_events::retries_that_are_watched": "Retries that are watched",
    "c_functional_runs::calls_of_a_retried_caller": "Calls of a retried caller",
    "c_functional_runs::error_that_nobody_asks_for": "Errors that nobody asks for",
    "c_functional_runs::namespaces_of_what_tasks_stream": "Namespaces of what tasks stream",
    "c_functional_runs::other_arguments_on_replay": "Other arguments on replay",
    "c_functional_runs::question_that_nobody_waits_for": "Questions that nobody waits for",
    "c_lifecycle::a_question_on_no_thread": "Checkpoint ids of runs that are not stored",
    "c_lifecycle::a_trace_policy_that_is_none": "Trace policies that are none",
    "c_odd_graphs::memory_of_a_turn_that_was_given_up": "Memory of a subgraph after a fork",
    "c_odd_questions::a_graph_that_asks_is_replaced_by_a_function_that_asks": (
        "Answers to code that is gone"
    ),
    "c_odd_questions::a_path_function_of_the_start_that_asks": "Questions of path functions",
    "c_odd_questions::a_path_function_that_asks": "Questions of path functions",
    "c_odd_questions::dicts_as_answers": "Dicts as answers",
    "c_odd_questions::parallel_steps_that_ask": "Questions of parallel steps",
    "c_odd_reference::a_key_that_newer_code_does_not_know": "Keys that newer code leaves out",
    "c_odd_reference::names_of_runnables_in_a_sequence": "Names of runnables in a sequence",
    "c_odd_runs::a_cancelled_run_whose_thread_still_works": "Threads of a run that was stopped",
    "c_odd_runs::a_state_that_does_not_fit_is_shown_and_mended": "States that do not fit",
    "c_odd_runs::a_text_as_tags": "Text as tags",
    "c_odd_runs::an_empty_context": "An empty context",
    "c_odd_runs::limits_that_are_none": "Limits that are none",
    "c_odd_runs::none_as_the_id_of_a_thread": "None as a thread id",
    "c_odd_runs::parameters_known_by_their_annotation": "Parameters of nodes",
    "c_odd_runs::what_is_next_after_a_step_that_could_not_end": "Steps that could not end",
    "c_odd_states::builtin_functions_as_reducers": "Builtin functions as reducers",
    "c_pregel::reading_beside_a_single_channel": "Errors of a node builder",
    "c_pregel::unknown_channel_is_written": "Writes to channels that do not exist",
    "c_remote::inside_of_a_node": "Pictures of remote graphs as nodes",
    "c_remote::projections_of_a_run_with_a_context": "Streams of version 3 of a remote graph",
    "c_remote::questions_of_a_node": "Questions of a remote graph",
    "c_remote::questions_that_come_with_no_state": "Questions that a server tells by themselves",
    "c_remote::run_from_a_checkpoint": "Runs of a remote graph from a checkpoint",
    "c_retries::subgraph_of_a_stored_thread_is_retried": "Retries of a graph inside",
    "c_retries::invalid_retry_on": "Retries on what is no error",
    "c_stores_different::a_namespace_that_is_text": "Text as a namespace, None as a key",
    "c_stores_different::a_subgraph_with_a_store_in_a_graph_without": "The store of a subgraph",
    "c_stores_different::any_object_with_the_two_methods_embeds": "Objects that embed",
    "c_stores_different::comparisons_of_text_and_mixtures": "Comparisons in filters of stores",
    "c_stores_different::created_at_of_an_item_put_again": "created_at of items put again",
    "c_stores_different::dotted_keys_of_filters": "Filters mean the same in every store",
    "c_stores_different::expired_items_are_omitted": "omit_expired",
    "c_stores_different::filters_of_sqlite": "Filters mean the same in every store",
    "c_stores_different::keys_that_are_none": "Text as a namespace, None as a key",
    "c_stores_different::namespaces_of_deleted_items": "Namespaces of deleted items",
    "c_stores_different::negative_limits_and_offsets": "Negative limits and offsets in stores",
    "c_stores_different::order_of_namespaces_in_sqlite": "Namespaces in the SQLite store",
    "c_stores_different::pages_beyond_what_is_ranked": "Pages of a search by similarity",
    "c_stores_different::similarity_to_nothing": "Similarity to nothing",
    "c_stores_different::sqlite_store_in_async_programs": "Sync and async in the SQLite store",
    "c_stores_different::sync_calls_of_the_async_store": "Sync and async in the SQLite store",
    "c_stores_different::ttl_of_a_store_without": "A ttl in a store without",
    "c_stores_different::values_in_sqlite": "Values in the SQLite store",
    "c_stores_different::values_of_an_item_are_its_own": "Items of the memory store are copies",
    "c_stores_different::vectors_of_an_item_put_again": "Vectors of items put again",
    "c_stores_different::vectors_of_another_length": "Vectors of another length",
    "c_stores_different::vectors_of_fields_that_a_new_value_lacks": "Vectors of items put again",
    "c_stream_v3::models_that_are_streamed_in_a_node": "Messages in streams of version 3",
    "c_stream_v3::scheduled_work_that_fails_early": "Errors of scheduled work",
    "c_stream_v3::state_of_a_streamed_model": "Messages in streams of version 3",
    "c_stream_v3::transformers_of_version_2": "Transformers without version 3",
    "c_stream_v3::two_runs_inside_a_node": "Streams of version 3 inside a node",
    "c_subgraphs::addresses_in_the_config_of_a_node": "Addresses in the config of a node",
    "c_subgraphs::memory_of_a_fan_out_that_asks": "Memory of tasks beside each other",
    "c_subgraphs::state_of_an_unknown_namespace": "Namespaces that name no subgraph",
    "c_timetravel::fork_of_a_checkpoint_inside_a_subgraph": "Replays and forks inside a subgraph",
    "c_timetravel::fork_of_an_early_checkpoint_inside_a_subgraph": (
        "Replays and forks inside a subgraph"
    ),
    "c_timetravel::fork_then_turn_with_memory": "Memory of a subgraph after a fork",
    "c_timetravel::replay_of_a_checkpoint_inside_a_subgraph": "Replays and forks inside a subgraph",
    "c_timetravel::replay_of_a_finished_subgraphs_checkpoints": (
        "Replays and forks inside a subgraph"
    ),
    "c_timetravel::resume_at_an_old_checkpoint": "Another answer at an old checkpoint",
    "c_ui::key_that_the_state_lacks": "Writes to channels that do not exist",
    "d_callbacks_groups::handlers_that_are_given": "Handlers of chain groups",
    "d_indexing::the_default_hash": "The hash of indexed documents",
    "d_messages_more::calls_without_an_id": "Calls without an id",
    "d_messages_more::files_by_their_id": "Blocks for OpenAI",
    "d_messages_more::formats_after_a_removal": "Formats after a removal",
    "d_messages_more::text_added_to_no_blocks": "Text added to no blocks",
    "d_messages_more::text_as_messages": "Text as messages",
    "d_messages_more::text_without_a_type": "Blocks for OpenAI",
    "d_model_face::calls_of_generations": "What is inside of what is dumped",
    "d_model_face::examples_of_prompts": "What is inside of what is dumped",
    "d_model_face::prompts_inside_of_messages": "What is inside of what is dumped",
    "d_model_face::what_was_given": "Fields that were given",
    "d_models::structured_output_of_a_model_that_does_not_stream": "Streams of structured output",
    "d_models_by_name::names_in_capitals": "Names of models",
    "d_own_classes::ids_of_calls": "Ids of calls in tools that are classes",
    "d_parsers::patch_of_a_changed_number": "JSON patches of streams",
    "d_parsers::quoted_items_streamed": "Quoted items in a stream",
    "d_parsers::xml_with_a_document_type": "XML with a document type",
    "d_parsers_more::arguments_that_are_no_object": "Arguments that are no object",
    "d_parsers_more::items_on_lines_streamed": "Quoted items in a stream",
    "d_parsers_more::names_of_tools_in_pieces": "Names of tools in pieces",
    "d_prompts::appended": "Chat prompts keep up with their changes",
    "d_prompts::braces_in_examples": "Examples of few-shot prompts are values",
    "d_prompts::mustache_that_runs_code": "Templates are data",
    "d_prompts::saved_to_a_file": "Prompts in files",
    "d_prompts::unknown_argument": "Fields of prompts and parsers",
    "d_prompts_more::falsy_items_of_mustache_sections": "Templates are data",
    "d_prompts_more::names_inside_of_false": "Templates are data",
    "d_prompts_more::partials_of_few_shot_prompts": "Partials of few-shot prompts",
    "d_runnables_bound::errors_of_a_batch_with_fallbacks": "Errors of a batch with fallbacks",
    "d_runnables_bound::sessions_of_models_of_text": "Sessions of models of text",
    "d_runnables_bound::tags_of_a_listener_inside_a_chain": "Listeners inside a chain",
    "d_runnables_events::an_early_end_of_a_stream": "Chains that are left early",
    "d_runnables_events::fallbacks_under_a_run_name": "Names of the runs of fallbacks",
    "d_runnables_log::names_with_slashes": "Names in `astream_log`",
    "d_runnables_more::a_function_after_a_stream_without_a_chunk": "Streams without a chunk",
    "d_runnables_more::default_limit_of_a_graph_in_a_function": "Limits that nobody named",
    "d_runnables_more::empty_inputs_in_events": "Empty inputs in events",
    "d_runnables_more::events_of_a_branch_in_a_chain": "Events of branches and fallbacks",
    "d_runnables_more::events_of_a_graph_in_a_chain": "Events of branches and fallbacks",
    "d_runnables_more::events_of_a_graph_that_a_function_invokes": (
        "Events of branches and fallbacks"
    ),
    "d_runnables_more::events_of_map": "Events of map",
    "d_runnables_more::events_of_version_1": "Events of version 1",
    "d_runnables_more::fallbacks_without_a_chunk": "Streams without a chunk",
    "d_runnables_more::parents_of_the_runs_of_fallbacks": "Names of the runs of fallbacks",
    "d_runnables_more::runs_of_bound_branches_in_a_sequence": "Runs of bound branches",
    "d_runnables_more::runs_of_bound_steps_in_a_map": "Runs of steps inside a map",
    "d_runnables_more::schemas_of_chains_that_begin_by_picking": "Schemas of chains",
    "d_runnables_more::schemas_of_parallel_steps_of_anything": "Schemas of chains",
    "d_runnables_pieces::prompts_inside_a_sequence_in_a_function": "Runnables inside a function",
    "d_runnables_pieces::tools_of_keys_that_may_be_left_out": "Runnables as tools",
    "d_runnables_pieces::tools_of_unknown_arguments": "Runnables as tools",
    "d_runnables_schemas::keys_that_a_sequence_adds_or_picks": "Schemas of chains",
    "d_runnables_schemas::lambdas_on_one_line": "Schemas of chains",
    "d_tools::a_function_with_an_argument_named_config": "Arguments of tools that are named config",
    "d_tools::configs_of_tool_classes": "Arguments of tools that are named config",
    "d_tools::star_arguments": "Tools with starred arguments",
    "d_tools::text_is_checked": "Text as the input of a tool",
    "d_tools::unknown_fields": "Unknown fields of a tool",
    "d_tools::validation_errors_told_to_the_model": "Validation errors told to the model",
    "d_tools_more::docstrings_of_no_arguments": "Docstrings that are parsed",
    "d_tools_more::docstrings_that_begin_with_arguments": "Docstrings that are parsed",
    "d_tools_more::text_for_an_injected_id": "Text for an injected id",
    "d_tools_more::wrong_arguments_of_an_async_tool_in_a_sync_call": "Sync calls of async tools",
    "d_tools_runs::name_of_a_run_in_the_config_of_a_tool": "Names of runs inside a tool",
    "d_tracing::blocks_inside_blocks": "Collected runs",
    "d_tracing::graphs": "Collected runs",
    "d_tracing::what_debugging_prints": "What set_debug prints",
    "d_vectorstores::negative_numbers_of_documents": "Negative limits and offsets in stores",
    "d_vectorstores::options_of_retrievers": "Options of retrievers",
    "d_vectorstores::similarity_to_nothing": "Similarity to nothing",
    "d_vectorstores::texts_of_an_iterator": "Texts of an iterator",
    "d_vectorstores::thresholds_in_memory": "Thresholds of the memory vector store",
    "d_vectorstores::unknown_keywords": "Unknown keywords of the memory vector store",
    "d_vectorstores::vectors_that_are_fake": "Vectors that are fake",
    "f_react::open_calls": "Tool calls without an answer",
    "f_react::runs_inside_the_model_node": "Runs inside an agent",
    "f_toolnode::async_interceptor_in_a_sync_call": "Async interceptors in sync calls",
    "f_toolnode::handlers_that_are_refused_when_the_node_is_made": (
        "Handlers of tool errors that are none"
    ),
    "f_toolnode::without_a_runtime": "A ToolNode outside of a graph",
    "g_agent_middleware::jumps_to_the_end_from_after_agent": "Jumps of hooks",
    "g_agent_middleware::undeclared_jumps": "Jumps of hooks",
    "g_agent_middleware_state::a_reducer_before_a_mark": "Reducers before a mark",
    "g_agent_people::a_call_that_a_hook_makes": "Approvals are bound to their calls",
    "g_agent_people::calls_that_changed_since": "Approvals are bound to their calls",
    "g_agent_people::calls_with_one_id": "Approvals are bound to their calls",
    "g_agent_people::schemas_of_arguments": "Schemas of arguments in questions",
    "g_agent_structured::an_answer_that_does_not_fit_beside_a_tool": "Answers in no form",
    "g_agent_structured::text_where_no_tool_is": "Answers in no form",
    "g_agent_wrappers::a_text_from_a_tool_wrapper": "Answers of wrap_tool_call that are none",
    "g_agents_found::a_choice_of_tools_beside_a_form_of_the_provider": "Forms of the provider",
    "g_agents_found::a_form_of_the_provider_without_tools": "Forms of the provider",
    "g_agents_found::an_answer_in_the_last_step": "Answers in the last step",
    "g_agents_found::handlers_behind_interceptors": "Handlers behind interceptors",
    "g_agents_found::hooks_after_the_model_in_version_1": "Hooks of version 1",
    "g_agents_found::hooks_before_the_model_with_a_pydantic_state": "Hooks with a pydantic state",
    "g_agents_found::runs_before_a_hook": "Runs inside an agent",
    "g_agents_found::wrong_decisions": "Wrong answers of people",
    "g_agents_found_more::a_graph_inside_that_is_watched": "Graphs inside that are watched",
    "g_agents_found_more::a_negative_number_of_tools": "Options of middleware",
    "g_agents_found_more::a_tag_that_is_given_twice": "Tags given twice",
    "g_agents_found_more::a_tool_picked_that_is_shown_anyway": "Tools picked that are shown anyway",
    "g_agents_found_more::options_that_are_none": "Options of middleware",
    "g_agents_found_more::results_of_tools_that_are_no_values": (
        "Results of tools that are no values"
    ),
    "g_agents_found_more::several_that_lead_out_of_a_graph": "Several that lead out of a graph",
    "g_agents_found_more::states_of_agents_that_are_none": "States of agents that are none",
    "g_agents_found_more::tool_calls_that_are_set_to_none": "Tool calls that are None",
    "g_agents_found_more::tools_of_a_generator": "Tools of a generator",
    "g_agents_found_more::tools_selected_without_a_message_of_the_user": (
        "Tools selected for nobody"
    ),
    "g_agents_found_more::values_of_a_state_without_keys": "States without keys",
    "g_agents_meet::a_text_as_the_system_message": "System messages of text",
    "g_agents_used::tools_that_send_their_parent_on": "Updates of tools that send their parent on",
    "g_desks_in_place::tools_of_a_request": "Tools of a request",
    "g_desks_in_place::what_no_write_names": "What changes in place and is not written",
    "g_haystack_agent::exit_by_a_tool_among_others": "Tools that end a Haystack-style agent",
    "g_haystack_agent::tools_of_one_run_without_others": "Tools of one run of an agent",
    "g_haystack_agent::value_that_the_state_lacks": "Values that an agent's state lacks",
    "g_haystack_async::async_callback_of_a_sync_generator": "Async where Haystack is sync",
    "g_haystack_async::async_tool": "Async where Haystack is sync",
    "g_haystack_breakpoints::error_of_an_agent_with_lambdas": "Snapshots of agents",
    "g_haystack_breakpoints::points_at_tools_of_one_run": "Breakpoints at tools of one run",
    "g_haystack_breakpoints::resumed_twice": "Snapshots of agents",
    "g_haystack_breakpoints::resumed_with_the_callback_of_the_stopped_run": "Snapshots of agents",
    "g_haystack_breakpoints::resumed_with_tools_of_several_classes": "Snapshots of agents",
    "g_haystack_components::what_a_model_may_give_an_agent": "Agents as tools",
    "g_haystack_messages::lists_of_parts_in_openai_format": "Lists of parts in OpenAI's form",
    "g_haystack_state::classes_that_nothing_names": "Names in serialized components",
    "g_haystack_tools::a_source_that_is_written_and_read": "Serialized sources of texts",
    "g_mw_context::an_emulator_without_a_model": "Options of middleware",
    "g_mw_context::an_unknown_method_of_counting": "Options of middleware",
    "g_mw_files::what_ripgrep_leaves_out": "Searches by ripgrep",
    "g_mw_pii::data_of_other_forms": "Personal data of other forms",
    "g_mw_pii::two_messages_of_the_user": "Every message of the user is checked",
    "g_mw_shell::a_shell_that_ends": "Commands of a shell",
    "g_mw_shell::containers_of_commands_that_take_too_long": "Containers of a shell",
    "g_mw_shell::output_without_an_end_of_line": "Commands of a shell",
    "g_mw_shell::places_of_hidden_output": "Hidden output of a shell",
    "g_mw_shell::tables_in_overrides": "Tables in Codex's configuration",
    "g_mw_pii::an_own_pattern_that_is_compiled": "Compiled patterns as detectors",
    "g_mw_summarization::nothing_of_the_history_fits": "Summaries of long messages",
    "g_mw_summarization::unknown_options": "Options of middleware",
    "g_mw_tracing::one_that_is_none": "Trace policies that are none",
    "g_people_meet::a_refusal_that_a_hook_takes_back": "Approvals are bound to their calls",
    "g_people_meet::an_edit_as_the_call_starts_of_what_was_edited_before": (
        "Approvals are bound to their calls"
    ),
    "g_people_meet::an_edit_of_the_first_that_was_asked": "Approvals are bound to their calls",
    "g_react::a_call_that_waited": "Stored tool calls",
    "g_tool_calling::a_tool_class_keeps_its_schema": "What a reviewed tool keeps",
    "g_tool_calling::a_tool_keeps_what_it_declares": "What a reviewed tool keeps",
    "g_tool_calling::a_tool_of_one_argument": "What a reviewed tool keeps",
    "g_tool_calling::a_wrong_answer_where_errors_are_told": "Wrong answers of people",
    "g_tool_calling::arguments_changed_before_the_answer": "An approval holds for one call",
    "g_tool_calling::async_handler_of_a_sync_tool": "Async handlers of sync tools",
    "g_tool_calling::injected_arguments_are_not_shown": "What a reviewed tool shows",
    "g_tool_calling::models_are_shown_as_data": "What a reviewed tool shows",
    "g_tool_calling::parallel_questions_of_one_node": "Questions of parallel tools",
    "g_tool_calling::runs_of_a_reviewed_tool": "Runs of a reviewed tool",
    "g_toolnode::events_of_a_tool_that_gives_a_list": "Lists in events of tools",
    "h_forked::the_config_in_a_worker_process_of_a_node": "Processes forked by a node",
    "h_generated::a_bare_answer_is_for_one_question": "Answers after an answer",
    "h_generated::a_deferred_node_beside_a_send": "Deferred nodes beside a Send",
    "h_generated::an_update_after_sends": "Updates after Sends",
    "h_generated::answers_by_id_after_a_bare_answer": "Answers after an answer",
    "h_generated::questions_beside_a_task_that_goes_on": "When questions are told",
    "h_generated::states_of_subgraphs_in_version_2": "States of subgraphs in streams of version 2",
    "h_generated::updates_in_the_name_of_a_deferred_node": "Updates for a deferred node",
    "h_generated_functional::a_question_of_a_task_in_an_entrypoint_inside": (
        "Questions of tasks in graphs inside"
    ),
    "h_generated_more::a_graph_inside_one_without_checkpoints": (
        "Graphs inside one without checkpoints"
    ),
    "h_generated_more::a_question_of_a_graph_without_checkpoints_is_asked_again": (
        "Questions of graphs without checkpoints"
    ),
    "h_generated_more::a_run_with_the_run_id_of_the_last": "Runs with the run id of the last",
    "h_generated_more::an_error_of_before_a_breakpoint_inside": "Errors of before",
    "h_generated_more::an_update_after_a_node_with_an_edge_and_a_join": "Updates after a join",
    "h_generated_more::an_update_at_the_input_of_a_later_turn": "Updates at an input",
    "h_generated_more::answered_questions_of_a_task_at_a_breakpoint": (
        "Answered questions of a failed task"
    ),
    "h_generated_more::graphs_without_checkpoints_that_are_to_store_at_once": (
        "Graphs without checkpoints that are to store at once"
    ),
    "h_generated_more::memory_after_a_replay_of_a_finished_turn": (
        "Memory of a subgraph after a fork"
    ),
    "h_generated_more::memory_after_an_update_of_a_turn_that_failed": (
        "Memory of a subgraph after a fork"
    ),
    "h_generated_more::path_functions_after_writes_that_leave_a_topic_empty": (
        "Topics that are written nothing"
    ),
    "h_generated_more::results_of_tasks_that_had_finished": "Results of tasks that were updated",
    "h_generated_more::results_of_tasks_that_were_updated_twice": (
        "Results of tasks that were updated"
    ),
    "h_generated_more::values_of_one_super_step_beside_a_question": "Values of one super-step",
    "h_generated_travels::a_question_of_a_graph_that_was_left": (
        "Questions of a graph that was left"
    ),
    "h_generated_travels::an_update_that_fails": "Updates that fail",
    "h_generated_travels::cached_results_of_tasks_alike": "Cached results of tasks alike",
    "h_generated_travels::two_writes_beside_a_question_of_a_graph_inside": (
        "Writes beside a question"
    ),
    "h_generated_travels::what_had_finished_at_a_fork_that_is_named": (
        "What had finished at a named checkpoint"
    ),
    "h_generated_travels::what_had_finished_at_an_old_checkpoint": (
        "What had finished at a named checkpoint"
    ),
    "h_generated_wider::a_graph_that_ended_in_an_exit_run": "Graphs that ended in an `exit` run",
    "h_guides_different::a_list_of_sends": "A list of Sends from a node",
    "h_guides_different::a_misspelled_key_of_the_config": "Misspelled keys of a config",
    "h_guides_different::a_path_that_returns_a_runnable": "Path functions that return a runnable",
    "h_guides_different::a_question_that_is_caught": "Questions that are caught",
    "h_guides_different::an_answer_by_the_id_of_before_an_update": "Answers by an older id",
    "h_guides_different::an_answer_to_another_question_of_a_subgraph_after_an_update": (
        "Answers into a subgraph"
    ),
    "h_guides_different::blocks_of_providers": "Blocks of providers",
    "h_guides_different::classes_that_no_schema_names": "Classes that no schema names",
    "h_guides_different::enums_in_a_typed_dict": "Enums in a TypedDict tool",
    "h_guides_different::generators_as_nodes": "Generators as nodes",
    "h_guides_different::messages_that_are_none": "Fields of messages",
    "h_guides_different::metadata_of_a_thread": "Metadata of threads",
    "h_guides_different::metadata_that_cannot_be_stored": "Metadata of threads",
    "h_guides_different::middleware_of_a_function_with_other_parameters": (
        "Parameters of middleware functions"
    ),
    "h_guides_different::names_of_agents_in_events": "Names of agents in events",
    "h_guides_different::objects_as_json": "Objects as JSON",
    "h_guides_different::path_functions_without_a_name": "Names of path functions that have none",
    "h_guides_different::runs_of_a_chain_with_a_history": "Runs of a chain with a history",
    "h_guides_different::updates_after_an_update_in_the_name_of_a_node": "Updates after updates",
    "h_guides_different::what_a_waiting_workflow_returns": "What a waiting workflow returns",
    "h_guides_different::where_a_path_of_a_class_leads": "Path functions that are objects",
    "h_moved_today::arguments_with_an_alias": "Aliases of arguments",
}
"""Case id without saver (`a_graph::fan_out`) -> title of its row in docs/compatibility.md.

These cases must differ: a row that has become stale is an error.
"""

NOT_YET: dict[str, int] = {}
"""Case id without saver -> the issue that builds what it needs.

These cases must fail: the issue deletes them from here.
"""
