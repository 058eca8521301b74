//! Foreword's pure core: the model table and its prices, the built-in tools as data, the turn state machine, the ids
//! and times of stored records. No files, clocks, environment, network or async.
//!
//! ```
//! use foreword_core::models::ModelCatalog;
//! use foreword_core::price::{CacheBreakpoint, CacheTtl, PromptSize, TurnPrice};
//!
//! let catalog = ModelCatalog::builtin();
//! let frozen = [CacheBreakpoint { tokens: 20_000, ttl: CacheTtl::FiveMinutes }];
//! let size = PromptSize { breakpoints: &frozen, tail: 500 };
//! let price = TurnPrice::of(catalog.find("anthropic/claude-haiku-4-5"), size);
//! assert_eq!(price.cold.to_string(), "$0.0255");
//! assert_eq!(price.warm.to_string(), "$0.0025");
//! ```

pub mod api_token;
pub mod backoff;
pub mod budget;
pub mod budget_rule;
pub mod cache;
pub mod cache_rewrite_cost;
pub mod compaction;
pub mod conversation_matcher;
pub mod cost_sum;
pub mod cron;
pub mod event;
pub mod failure;
pub mod hand_over;
pub mod history;
pub mod history_visibility;
pub mod id;
pub mod lease;
pub mod limits;

pub mod memory_store;
pub mod message;
pub mod model;
pub mod models;
pub mod money;
pub mod ordered_value;
pub mod price;
pub mod provider;
pub mod retry;

pub mod schedule;
pub mod sender;
mod serde_text;
pub mod simulate;
pub mod since;
pub mod span_tree;
pub mod store_url;
pub mod string_enum;
pub mod taint;
pub mod template_context;
pub mod timestamp;
pub mod tools;
pub mod transcript;
pub mod turn;
pub mod turn_journal;
pub mod workflow;
pub mod zero_byte;
