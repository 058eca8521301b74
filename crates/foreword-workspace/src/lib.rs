//! Guarded files of a workspace: everything Foreword reads from disk is read here, through directory handles, and
//! handed on as immutable values. Knows nothing of HTTP, providers or SQL, and never reads the environment.

pub mod agent_file_name;
pub mod build;
pub mod config;
pub mod document;
pub mod error;
pub mod front_matter;
pub mod inspect;
pub mod loaded;
pub mod memory_files;
pub mod memory_index;
mod one_line;
pub mod ordered_value;
pub mod prompt_store;
pub mod prompts_root;
pub mod request;
pub mod roots;
pub mod situation_input;
pub mod skills;
pub mod skills_seen;
pub mod snapshot;
pub mod template_problems;
pub mod text_pool;
pub mod variables;
pub mod workflows;
pub mod workspace;
