//! The owner's view of a prompt, the JSON of `foreword explain`.

use foreword_agent::reports::prompt_report::{Explained, ExplainedOccasion};
use foreword_core::money::Price;
use foreword_prompt::cache_plan::Breakpoint;
use foreword_prompt::prompt::CacheClass;
use serde::Serialize;
use utoipa::ToSchema;

use super::report::BuiltPrompt;

/// The owner's view of a prompt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExplainedPrompt {
    /// The prompt, with withheld layers.
    #[serde(flatten)]
    prompt: BuiltPrompt,
    /// Its occasion.
    occasion: BuiltFor,
    /// The blueprint.
    blueprint: String,
    /// The cache breakpoints.
    breakpoints: Vec<BreakpointBody>,
    /// The price of sending it, in US dollars.
    price: PromptPrice,
}

/// The occasion of a prompt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BuiltFor {
    /// The agent.
    agent: String,
    /// The channel.
    channel: Option<String>,
    /// The model.
    model: String,
    /// The situation.
    situation: String,
    /// The user, if known.
    user: Option<String>,
}

/// A cache breakpoint: the provider caches everything before it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Breakpoint)]
pub(crate) struct BreakpointBody {
    /// The block before it.
    block: usize,
    /// How long the text before it stays the same: `static`, `agent` or `conversation`.
    #[schema(value_type = String, example = "agent")]
    class: CacheClass,
    /// Number of tokens before it.
    tokens: usize,
    /// Its byte offset in the frozen text.
    at: usize,
}

/// The price of sending a prompt, in US dollars.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PromptPrice {
    /// With an empty provider cache.
    #[schema(value_type = Option<f64>)]
    cold: Price,
    /// With a warm provider cache.
    #[schema(value_type = Option<f64>)]
    warm: Price,
}

impl From<Explained> for ExplainedPrompt {
    fn from(explained: Explained) -> Self {
        let ExplainedOccasion { agent, channel, model, situation, user } = explained.occasion;
        let point = |Breakpoint { block, class, tokens, at }| BreakpointBody { block, class, tokens, at };
        Self {
            prompt: explained.report.into(),
            occasion: BuiltFor { agent, channel, model, situation, user },
            blueprint: explained.blueprint,
            breakpoints: explained.breakpoints.into_iter().map(point).collect(),
            price: PromptPrice { cold: explained.price.cold, warm: explained.price.warm },
        }
    }
}
