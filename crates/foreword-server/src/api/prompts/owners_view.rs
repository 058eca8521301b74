//! The owner's view of a prompt as it is told: the JSON of `foreword explain`.

use foreword_agent::explained::{Explained, ExplainedOccasion};
use foreword_core::money::Price;
use foreword_prompt::cache_plan::Breakpoint;
use foreword_prompt::prompt::CacheClass;
use serde::Serialize;
use utoipa::ToSchema;

use super::report::BuiltPrompt;

/// The owner's view of a prompt.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ExplainedPrompt {
    /// The prompt, with what was withheld.
    #[serde(flatten)]
    prompt: BuiltPrompt,
    /// What it was built for.
    occasion: BuiltFor,
    /// The blueprint it was built by.
    blueprint: String,
    /// Where it can be cached.
    breakpoints: Vec<BreakpointBody>,
    /// What sending it costs, in US dollars.
    price: PromptPrice,
}

/// What a prompt was built for.
#[derive(Debug, Serialize, ToSchema)]
struct BuiltFor {
    /// The agent.
    agent: String,
    /// Where.
    channel: Option<String>,
    /// The model.
    model: String,
    /// The situation.
    situation: String,
    /// For whom, if it is somebody known.
    user: Option<String>,
}

/// A place behind which the provider is asked to cache everything up to there.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Breakpoint)]
struct BreakpointBody {
    /// The block it stands behind.
    block: usize,
    /// How long what is before it stays the same: `static`, `agent` or `conversation`.
    #[schema(value_type = String, example = "agent")]
    class: CacheClass,
    /// All tokens before it.
    tokens: usize,
    /// Its place in the frozen text, in bytes.
    at: usize,
}

/// What sending a prompt costs, in US dollars.
#[derive(Debug, Serialize, ToSchema)]
struct PromptPrice {
    /// When nothing of it is in the provider's cache.
    #[schema(value_type = Option<f64>)]
    cold: Price,
    /// When all of it that can be is.
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
