//! The agent, tested on real files, real processes and a real database.

// `cfg(test)` on the modules permits `unwrap` in helper functions.

#[cfg(test)]
mod autonomous_turns;
#[cfg(test)]
mod bash_confined;
#[cfg(test)]
mod bash_limits;
#[cfg(test)]
mod cache_misses;
#[cfg(test)]
mod cancellation;
#[cfg(test)]
mod compaction;
#[cfg(test)]
mod compaction_automatic;
#[cfg(test)]
mod compaction_crashes;
#[cfg(test)]
mod compaction_prefix;
#[cfg(test)]
mod compaction_rules;
#[cfg(test)]
mod config_reload;
#[cfg(test)]
mod confirmation;
#[cfg(test)]
mod conversation_settings;
#[cfg(test)]
mod crashes;
#[cfg(test)]
mod damaged_store;
#[cfg(test)]
mod event_traces;
#[cfg(test)]
mod failing_sources;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod file_tools;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod hand_over;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod inbox;
#[cfg(test)]
mod inbox_backoff;
#[cfg(test)]
mod inbox_failures;
#[cfg(test)]
mod inbox_fixture;
#[cfg(test)]
mod inbox_isolation;
#[cfg(test)]
mod inbox_nodes;
#[cfg(test)]
mod inbox_preview;
#[cfg(test)]
mod layer_and_skill_tools;
#[cfg(test)]
mod log_explanation;
#[cfg(test)]
mod log_tools;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod mcp_faults;
#[cfg(test)]
mod mcp_fixture;
#[cfg(test)]
mod mcp_real;
#[cfg(test)]
mod mcp_rules;
#[cfg(test)]
mod message_queue;
#[cfg(test)]
mod node;
#[cfg(test)]
mod prefix_extension;
#[cfg(test)]
mod revoked_tools;
#[cfg(test)]
mod scenarios_13;
#[cfg(test)]
mod scenarios_14;
#[cfg(test)]
mod scenarios_15;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod skills;
#[cfg(test)]
mod snapshot_text;
#[cfg(test)]
mod tool_fixture;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod well_formed;
#[cfg(test)]
mod workflows;
#[cfg(test)]
mod workflows_crashes;
#[cfg(test)]
mod workflows_resume;
#[cfg(test)]
mod workflows_trust;
