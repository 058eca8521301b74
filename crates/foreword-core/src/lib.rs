//! What Foreword knows without touching the world: which models there are and what they cost, the built-in tools
//! as data, and the names and times of what lasts. Values in, values out: no files, clocks, environment, network or async here.
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

pub mod allowance;
pub mod api_token;
pub mod budget;
pub mod cache;
pub mod compaction;
pub mod cost_sum;
pub mod cron;
pub mod event;
pub mod exposure;
pub mod failure;
pub mod hand_over;
pub mod history;
pub mod id;
pub mod lease;
pub mod limits;
pub mod lines;
pub mod memory_store;
pub mod message;
pub mod model;
pub mod models;
pub mod money;
pub mod price;
pub mod provider;
pub mod retry;
pub mod rewriting;
pub mod schedule;
pub mod sender;
pub mod simulate;
pub mod since;
pub mod span_tree;
pub mod store_url;
pub mod taint;
pub mod timestamp;
pub mod tools;
pub mod transcript;
pub mod turn;
pub mod turn_journal;
pub mod word;
pub mod workflow;
pub mod zero_byte;
