//! What a conversation costs under a provider's cache, before anybody has it. A request is a list of names and sizes, so that
//! no text is needed; the cache follows the rules the providers document ([`CacheRules`], each figure with its source). Counts
//! nothing itself, and knows no clock: the pauses are part of the scenario.

mod bill;
mod cache;
mod chain;
mod charged;
mod conversation;
mod layout;
mod marking;
mod request;
mod rules;
mod scenario;

pub use bill::{Bill, Parts};
pub use cache::Cache;
pub use chain::{Chain, Identity, Prefix, Segment};
pub use charged::Charged;
pub use conversation::{Provider, Simulated, simulate};
pub use layout::{Changes, Layout, Measured, SizedLayer, Way, WholeFile};
pub use marking::Marking;
pub use request::{BadRequest, Mark, Request};
pub use rules::{CacheRules, Finding};
pub use scenario::{
    BadPause, BadScenario, MOST_ROUNDS, MOST_TOKENS, MOST_TURNS, NIGHT, Pauses, Scenario, seconds,
};
