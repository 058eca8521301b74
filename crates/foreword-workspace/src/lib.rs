//! Guarded access to the files of a workspace. All of Foreword's file reads happen here, through directory handles, and
//! give immutable values. Knows nothing about HTTP, providers or SQL, and never reads the environment.

pub mod agent_file_name;
pub mod build;
pub mod check;
pub mod config;
mod config_file;
pub mod document;
pub mod error;
pub mod front_matter;
pub mod loaded;
mod memory_card;
pub mod memory_files;
pub mod memory_index;
mod one_line;
pub mod path_trust;
pub mod prompt_store;
pub mod prompts_root;
pub mod request;
pub mod roots;
pub mod situation_input;
pub mod skill_view;
pub mod skills;
pub mod snapshot;
pub mod speaker;
pub mod template_problems;
pub mod text_pool;
pub mod variables;
pub mod watcher;
pub mod workflows;
pub mod working_directory;
pub mod workspace;
