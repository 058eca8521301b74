//! One turn: prepare its prompt, call the model, run tools, record each step, and resume after a crash.

pub(crate) mod await_tool_servers;
pub(crate) mod cache_diagnosis_worker;
pub mod cache_miss_event;
pub(crate) mod drafts;
pub(crate) mod driver;
pub(crate) mod journal;
pub(crate) mod model_call;
pub(crate) mod output_limit;
pub(crate) mod payload_log;
pub(crate) mod prefetch;
pub(crate) mod prepare;
pub(crate) mod read_ahead;
pub(crate) mod recovery;
pub(crate) mod running_turns;
pub(crate) mod saved_state;
pub(crate) mod scope;
pub(crate) mod tool_run;
pub(crate) mod turn_log;
