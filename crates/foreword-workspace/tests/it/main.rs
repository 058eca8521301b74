//! Tests of the guarded files of a workspace, with real directories.

// `cfg(test)` on the modules lets helper functions unwrap like tests.

#[cfg(test)]
mod agents;
#[cfg(test)]
mod allowed_paths;
#[cfg(test)]
mod compaction_configuration;
#[cfg(test)]
mod configuration;
#[cfg(test)]
mod export_configuration;
#[cfg(test)]
mod file_cache;
#[cfg(test)]
mod git_variables;
#[cfg(test)]
mod guarded_roots;
#[cfg(test)]
mod guarded_writes;
#[cfg(test)]
mod hostile_files;
#[cfg(test)]
mod manual;
#[cfg(test)]
mod mcp_configuration;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod prompt_files;
#[cfg(test)]
mod server_configuration;
#[cfg(test)]
mod skill_files;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod stored_texts;
#[cfg(test)]
mod trust_gate;
#[cfg(test)]
mod turn_configuration;
#[cfg(test)]
mod workflow_files;
#[cfg(test)]
mod workspace_folder;
