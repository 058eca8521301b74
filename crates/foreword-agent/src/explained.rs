//! The owner's view of a prompt: its report with everything that was left out, where it can be cached, and what sending it
//! costs.

use foreword_core::price::{CacheBreakpoint, CacheTtl, PromptSize, TurnPrice};
use foreword_prompt::cache_plan::{Breakpoint, breakpoints};
use foreword_prompt::report::{Report, View};
use foreword_workspace::build::Built;
use serde::Serialize;

/// The report of a prompt, and what only the owner asks for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explained {
    /// The report, with what was withheld.
    #[serde(flatten)]
    pub report: Report,
    /// What it was built for.
    pub occasion: ExplainedOccasion,
    /// The blueprint it was built by.
    pub blueprint: String,
    /// Where it can be cached.
    pub breakpoints: Vec<Breakpoint>,
    /// What sending it costs.
    pub price: TurnPrice,
}

/// What a prompt was built for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedOccasion {
    /// The agent.
    pub agent: String,
    /// Where.
    pub channel: Option<String>,
    /// The model.
    pub model: String,
    /// The situation.
    pub situation: String,
    /// For whom, if it is somebody known.
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

/// Where a prompt can be cached.
#[must_use]
pub fn cache_points(built: &Built) -> Vec<Breakpoint> {
    let min = built.model.as_ref().and_then(|model| model.min_cacheable).unwrap_or(0);
    breakpoints(&built.prompt.frozen, min)
}

/// What sending a prompt costs that can be cached at `points`.
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
