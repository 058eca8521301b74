//! The owner's report of a prompt: layers, including withheld ones, cache breakpoints and price.

use foreword_core::price::{CacheBreakpoint, CacheTtl, PromptSize, TurnPrice};
use foreword_prompt::cache_plan::{Breakpoint, breakpoints};
use foreword_prompt::report::{Report, View};
use foreword_workspace::build::Built;
use serde::Serialize;

/// The owner's report of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explained {
    /// The report, with withheld layers.
    #[serde(flatten)]
    pub report: Report,
    /// The occasion it was built for.
    pub occasion: ExplainedOccasion,
    pub blueprint: String,
    /// Cache breakpoints.
    pub breakpoints: Vec<Breakpoint>,
    /// The price of sending it.
    pub price: TurnPrice,
}

/// The occasion of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedOccasion {
    pub agent: String,
    pub channel: Option<String>,
    pub model: String,
    pub situation: String,
    /// The user, if known.
    pub user: Option<String>,
}

impl Explained {
    /// The owner's view of `built`.
    #[must_use]
    pub fn of(built: &Built) -> Self {
        let (occasion, points) = (&built.occasion, cache_points(built));
        Self {
            report: Report::of(&built.prompt, View::Owner),
            occasion: ExplainedOccasion {
                agent: occasion.agent.to_string(),
                channel: occasion.channel.as_ref().map(|channel| channel.as_str().to_owned()),
                model: occasion.model.to_string(),
                situation: occasion.situation.to_string(),
                user: occasion.user.as_deref().map(str::to_owned),
            },
            blueprint: built.prompt.facts.blueprint.to_string(),
            price: turn_price(built, &points),
            breakpoints: points,
        }
    }
}

/// The cache breakpoints of a prompt.
#[must_use]
pub fn cache_points(built: &Built) -> Vec<Breakpoint> {
    let min = built.model.as_ref().and_then(|model| model.min_cacheable).unwrap_or(0);
    breakpoints(&built.prompt.frozen, min)
}

/// The price of sending a prompt with cache breakpoints at `points`.
#[must_use]
pub fn turn_price(built: &Built, points: &[Breakpoint]) -> TurnPrice {
    let cached: Vec<CacheBreakpoint> = points
        .iter()
        .map(|point| CacheBreakpoint { tokens: point.tokens, ttl: CacheTtl::FiveMinutes })
        .collect();
    let before = cached.last().map_or(0, |point| point.tokens);
    TurnPrice::of(
        built.model.as_ref(),
        PromptSize { breakpoints: &cached, tail: built.prompt.tokens() - before },
    )
}
