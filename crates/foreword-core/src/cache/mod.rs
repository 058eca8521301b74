//! Diagnosis of prompt cache misses. A request is reduced to a [`RequestShape`] without text; [`compare()`] finds the
//! first difference of two shapes; [`diagnose()`] combines it with times, usage and known changes into a cause and a
//! cost.
//!
//! This module does no IO: shapes, times, usage and prices are passed in as values.
//!
//! ```
//! use foreword_core::cache::*;
//! use foreword_core::message::Usage;
//! use foreword_core::models::ModelCatalog;
//! use foreword_core::price::CacheTtl;
//!
//! let key = ShapeKey::from_bytes([0; 32]);
//! let prompt = |time: &str| format!("{} The time is {time}. {}", "Be kind. ".repeat(90), "Be brief. ".repeat(9_000));
//! let shape = |prompt: &str| {
//!     RequestShape::builder(&key, "anthropic/claude-sonnet-5")
//!         .system_block(prompt, &[("runtime", 0..prompt.len())], Some(CacheTtl::FiveMinutes))
//!         .message("user", "hello", None)
//!         .build()
//! };
//! let now = prompt("2026-06-05T10:02:00Z");
//! let (previous, current) = (shape(&prompt("2026-06-05T10:00:00Z")), shape(&now));
//! let catalog = ModelCatalog::builtin();
//! let facts = catalog.find("anthropic/claude-sonnet-5").unwrap();
//! let at = |time: &str| time.parse().unwrap();
//! let diagnosis = diagnose(&Evidence {
//!     previous: Previous::Seen(PreviousRequest { shape: &previous, at: at("2026-06-05T10:00:01Z"), reported: None }),
//!     current: &current,
//!     at: at("2026-06-05T10:02:01Z"),
//!     last_touch: None,
//!     facts: Some(facts),
//!     rules: CacheRules::of(&facts.id, Some(facts)),
//!     reported: Reported::WithCache(Usage { input: 10, cache_write: 31_200, ..Usage::default() }),
//!     provider_reason: None,
//!     known: &KnownChanges::default(),
//!     peek: Some(&|_, range| now.as_bytes().get(range).map(<[u8]>::to_vec)),
//! });
//! assert_eq!(
//!     diagnosis.to_string(),
//!     "31,200 tokens written again, 0 read; the prefix diverged at byte 823 of layer `runtime`: a clock; \
//!      $0.0780 instead of $0.0062; move it to the turn context"
//! );
//! ```

mod attribute;
mod builder;
mod cause;
mod chain;
mod chunk_hashes;
mod compare;
mod diagnose;
mod diagnosis;
mod evidence;
mod hit_rate;
mod key;
mod model_request;
mod pieces;
mod readable;
mod rules;
mod shape;
mod stored;
#[cfg(test)]
mod tests;
mod volatile;

pub use builder::ShapeBuilder;
pub use cause::Cause;
pub use chain::{ChainKey, HashedText, Link};
pub use compare::{Difference, Divergence, SectionChange, ToolChanges, compare};
pub use diagnose::diagnose;
pub use diagnosis::{CacheVerdict, Diagnosis, DivergencePoint};
pub use evidence::{EditedLayer, Evidence, KnownChanges, Peek, Previous, PreviousRequest, Reported};
pub use hit_rate::HitRate;
pub use key::ShapeKey;
pub use model_request::{RequestPlaces, peek_into_request, shape_of_request};
pub use pieces::Pieces;
pub use rules::{AssumedRules, CacheRules, RetentionRule};
pub use shape::{Invalidates, RequestShape, Section, SectionName};
pub use volatile::IdForm;
