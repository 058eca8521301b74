//! Estimates the cost of a conversation with a provider's cache. Requests are lists of ids and sizes, without text; the
//! cache follows the rules that providers document ([`CacheModel`], each figure with its source). Reads no clock: the
//! pauses are part of the scenario.

mod breakpoint_placement;
mod cache;
mod chain;
mod conversation;
mod conversation_cost;
mod layout;
mod request;
mod request_charge;
mod rules;
mod scenario;

pub use breakpoint_placement::BreakpointPlacement;
pub use cache::Cache;
pub use chain::{Chain, ChainSegment, Identity, Prefix};
pub use conversation::{Simulated, SimulatedProvider, simulate};
pub use conversation_cost::{ConversationCost, CostParts};
pub use layout::{ChangeTrigger, Layout, MeasuredPrompt, SendStrategy, SizedLayer, WholeFile};
pub use request::{BadRequest, CacheMarker, SimulatedRequest};
pub use request_charge::RequestCharge;
pub use rules::{CacheLookup, CacheModel};
pub use scenario::{
    BadPause, BadScenario, MAX_ROUNDS, MAX_TOKENS, MAX_TURNS, NIGHT_SECONDS, Pauses, Scenario, seconds,
};
