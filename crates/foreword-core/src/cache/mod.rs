//! Why a prompt cache was missed. A request is reduced to a [`RequestShape`], which holds no text; [`compare`] finds
//! where two of them part; [`diagnose`] weighs that with times, usage and what is known, names the cause and the cost.
//!
//! Nothing here stores, sends or counts anything: shapes, times, usage and prices come in as values.
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
//!     previous: Previous::Seen(Seen { shape: &previous, at: at("2026-06-05T10:00:01Z"), reported: None }),
//!     current: &current,
//!     at: at("2026-06-05T10:02:01Z"),
//!     last_touch: None,
//!     facts: Some(facts),
//!     rules: CacheRules::of(&facts.id, Some(facts)),
//!     reported: Reported::WithCache(Usage { input: 10, cache_write: 31_200, ..Usage::default() }),
//!     provider_reason: None,
//!     known: &Known::default(),
//!     peek: Some(&|_, range| now.as_bytes().get(range).map(<[u8]>::to_vec)),
//! });
//! assert_eq!(
//!     diagnosis.to_string(),
//!     "31,200 tokens written again, 0 read; the prefix diverged at byte 823 of layer `runtime`: a clock; \
//!      $0.0780 instead of $0.0062; move it to the turn context"
//! );
//! ```

mod attribute;
mod base64;
mod builder;
mod cause;
mod chain;
mod compare;
mod diagnose;
mod diagnosis;
mod evidence;
mod hit_rate;
mod key;
mod marks;
mod of_request;
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
pub use compare::{Change, Difference, Divergence, ToolChanges, compare};
pub use diagnose::diagnose;
pub use diagnosis::{Diagnosis, Place, Verdict};
pub use evidence::{EditedLayer, Evidence, Known, Peek, Previous, Reported, Seen};
pub use hit_rate::HitRate;
pub use key::ShapeKey;
pub use of_request::{RequestPlaces, peek_into_request, shape_of_request};
pub use pieces::Pieces;
pub use rules::{AssumedRules, CacheRules, Kept};
pub use shape::{RequestShape, Section, SectionName, Voids};
pub use volatile::IdForm;
