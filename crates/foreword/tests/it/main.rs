//! Integration tests of the program: the real binary, on workspaces in temporary directories.

// `cfg(test)` on the modules permits `unwrap` in functions that are not tests.

#[cfg(test)]
mod agent_rules;
#[cfg(test)]
mod agents;
#[cfg(test)]
mod bad_files;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod cache;
#[cfg(test)]
mod chat;
#[cfg(test)]
mod chat_failures;
#[cfg(test)]
mod chat_providers;
#[cfg(test)]
mod chat_terminal;
#[cfg(test)]
mod check_rules;
#[cfg(test)]
mod command_line;
#[cfg(test)]
mod conversation_settings;
#[cfg(test)]
mod conversations;
#[cfg(test)]
mod cost;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod documented_sessions;
#[cfg(test)]
mod explain_and_diff;
#[cfg(test)]
mod fail_closed;
#[cfg(test)]
mod gateway_rules;
#[cfg(test)]
mod init_rules;
#[cfg(test)]
mod logging;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod mcp_stdio;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod model_facts;
#[cfg(test)]
mod priced_workspace;
#[cfg(test)]
mod program;
#[cfg(test)]
mod provider_formats;
#[cfg(test)]
mod recorded_session;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod screen;
#[cfg(test)]
mod self_diagnosis;
#[cfg(test)]
mod sent_bytes;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod serve_nodes;
#[cfg(test)]
mod server_process;
#[cfg(test)]
mod simulate;
#[cfg(test)]
mod skills;
#[cfg(test)]
mod sovereign_life;
#[cfg(test)]
mod status;
#[cfg(test)]
mod store_failures;
#[cfg(test)]
mod stored_data;
#[cfg(test)]
mod stored_layers;
#[cfg(test)]
mod stored_template;
#[cfg(test)]
mod telemetry;
#[cfg(test)]
mod template_rules;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod token;
#[cfg(test)]
mod trace;
#[cfg(test)]
mod trust_attacks;
#[cfg(test)]
mod trust_visibility;
#[cfg(test)]
mod upgrade;
#[cfg(test)]
mod vm_rules;
#[cfg(test)]
mod workflows;
